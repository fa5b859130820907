// SPDX-License-Identifier: Apache-2.0
// Reduce and all-reduce on trees that are packed into the machine, an equal share of the vector on each:
//
//   for every tree:  add what comes from the children, in their order, and send the sum to the parent;
//                    all_reduce: pass on to the children what comes from the parent
//
// reduce goes up the two trees of comm::packed_trees, all_reduce up and down comm::spanning_trees.

#include "models/comm/spanning_trees.hpp"
#include "sw/kernels/blocks.hpp"
#include "sw/kernels/builtin.hpp"
#include "sw/kernels/packed_plan.hpp"

namespace diecast::sw {
namespace packed_sums_kernel {

using directions = std::vector<comm::direction>;

/// Words of kernel_arguments::extra: trees, and this rank's place in each: twice its children, and 1 more
/// where it has a parent.
enum extra : std::size_t { extra_trees, first_place };

/// This rank's share of a tree; directions are numbered as comm::tree_directions says.
struct tree_share {
  directions parent, children;
  tcm_range range;
};

std::vector<tree_share> shares(const abi::kernel_arguments& a, const block_vector& v) {
  std::vector<tree_share> all;
  const auto trees = static_cast<std::uint64_t>(a.extra[extra_trees]);
  comm::direction next = 0;
  for (std::uint64_t t = 0; t < trees; ++t) {
    const std::int64_t place = a.extra[first_place + t];
    tree_share& s = all.emplace_back();
    if (place % 2 != 0) s.parent = {next++};
    for (std::int64_t i = 0; i < place / 2; ++i) s.children.push_back(next++);
    s.range = v.part_of_whole(t, trees);
  }
  return all;
}

pe_context::lane up(const tree_share& s) { return up_lane(s.range, s.children, s.parent); }

/// `sums`: number of the lane that brings the sum to the root; -1: it is there.
pe_context::lane down(const tree_share& s, std::int32_t sums) {
  pe_context::lane lane = down_lane(s.range, s.parent, s.children);
  if (s.parent.empty() && sums >= 0) lane.sent.front().after = {{{0, sums}}};
  return lane;
}

void average_at_roots(pe_context& pe, const std::vector<tree_share>& all) {
  for (const tree_share& s : all) {
    if (s.parent.empty()) pe.finish_average(s.range.at, s.range.bytes);
  }
}

void run_reduce(pe_context& pe) {
  const block_vector v = reduced_in_output(pe);
  const std::vector<tree_share> all = shares(pe.args(), v);
  std::vector<pe_context::lane> lanes;
  lanes.reserve(all.size());
  for (const tree_share& s : all) lanes.push_back(up(s));
  pe.last_stream(lanes, "reduce");
  average_at_roots(pe, all);
}

void run_all_reduce(pe_context& pe) {
  const block_vector v = reduced_in_output(pe);
  const std::vector<tree_share> all = shares(pe.args(), v);
  // An average is divided where the sum is complete, and then goes down: the two ways do not overlap.
  const bool divides = pe.args().op == numeric::reduction::avg;
  std::vector<pe_context::lane> lanes;
  lanes.reserve(2 * all.size());
  for (const tree_share& s : all) lanes.push_back(up(s));
  if (divides) {
    pe.stream(lanes, "reduce");
    average_at_roots(pe, all);
    lanes.clear();
  }
  for (std::int32_t t = 0; t < std::ssize(all); ++t) {
    lanes.push_back(down(all[static_cast<std::size_t>(t)], divides ? -1 : t));
  }
  pe.last_stream(lanes, divides ? "broadcast" : "all_reduce");
}

std::int64_t place_word(const comm::tree_node& n) { return 2 * std::ssize(n.children) + (n.parent ? 1 : 0); }

void fill_reduce(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const comm::packed_trees& up = packed_trees_of(c, comm::packed_trees::flow::up);
  a.extra[extra_trees] = comm::packed_trees::trees;
  for (std::uint32_t t = 0; t < comm::packed_trees::trees; ++t) {
    a.extra[first_place + t] = place_word(up.node(t, rank));
  }
}

void fill_all_reduce(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const auto& spanning =
      c.memo.get<comm::spanning_trees>([&c] { return comm::spanning_trees(pattern_context_of(c)); });
  a.extra[extra_trees] = spanning.trees();
  for (std::uint32_t t = 0; t < spanning.trees(); ++t) {
    a.extra[first_place + t] = place_word(spanning.tree(t)[rank]);
  }
}

}  // namespace packed_sums_kernel

kernel_entry reduce_packed_entry() {
  using namespace packed_sums_kernel;
  return {"packed_trees",    "reduce",   "up two shallow trees fitted to the links, half of the vector each",
          "packed_trees_up", any_ranks,  run_reduce,
          without_scratch,   fill_reduce};
}

kernel_entry all_reduce_packed_entry() {
  using namespace packed_sums_kernel;
  return {"packed_trees",
          "all_reduce",
          "up and down trees of neighbors that use all links alike, a share of the vector each",
          "spanning_trees",
          {comm::rank_set::cube, comm::rank_set::sip},
          run_all_reduce,
          without_scratch,
          fill_all_reduce};
}

}  // namespace diecast::sw
