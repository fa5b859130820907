// SPDX-License-Identifier: Apache-2.0
// Broadcast down the two trees of comm::packed_trees, half of the vector each.
#include <algorithm>
#include <array>
#include <stdexcept>

#include "sw/collectives/base/blocks.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/trees/packed_trees.hpp"

namespace diecast::sw {
namespace {

/// The trees that the kernels named packed_trees go down and up. Throws user_error (ccl.root_rank) when the
/// group has no such rank.
const comm::packed_trees& packed_trees_of(const argument_context& c, comm::packed_trees::flow to) {
  return c.memo.get<comm::packed_trees>([&c, to] { return comm::packed_trees(pattern_context_of(c), to); },
                                        static_cast<std::uint32_t>(to));
}

}  // namespace

namespace broadcast_packed_kernel {

constexpr std::uint32_t trees = comm::packed_trees::trees;

/// A rank's place in a tree: its children, whether the first of them is in another SIP, and whether the
/// parent is.
struct place {
  std::uint32_t children{}, feeds{}, enters{};
};
struct parameters {
  std::uint32_t is_root{};
  /// Queue pairs of an edge within a SIP and of one between two.
  std::uint32_t width_within{}, width_crossing{};
  std::array<place, trees> places{};

  [[nodiscard]] std::uint32_t& width(bool crosses) { return crosses ? width_crossing : width_within; }
};

/// A range in the pieces in which it is sent down a tree: slots, if these alternate between queue pairs, else
/// one range of them. The last slot is sent in halves: after it has left the root only its latency down the
/// tree is left, and a member forwards a message when it has all of it.
std::vector<tcm_range> pieces_of(const tcm_range& range, std::uint64_t slot, std::uint64_t element,
                                 bool take_turns) {
  const std::uint64_t whole_slots = range.bytes == 0 ? 0 : (range.bytes - 1) / slot * slot;
  const std::uint64_t piece = take_turns ? slot : whole_slots;
  const std::uint64_t half = std::max(element, slot / 2 / element * element);
  std::vector<tcm_range> pieces;
  for (std::uint64_t at = 0; at < whole_slots; at += piece) pieces.push_back({range.at + at, piece});
  for (std::uint64_t at = whole_slots; at < range.bytes; at += half)
    pieces.push_back({range.at + at, std::min(half, range.bytes - at)});
  return pieces;
}

/// An edge: its first direction, its queue pairs, how many of these are used.
struct tree_edge {
  comm::direction first{};
  std::uint32_t width{1}, used{1};
};

/// The root has all pieces from the start: it sends pieces of both trees alternately, as its children expect.
std::vector<pe_context::pipeline> in_turn(const std::vector<pe_context::pipeline>& first,
                                          const std::vector<pe_context::pipeline>& second) {
  std::vector<pe_context::pipeline> all;
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    if (i < first.size()) all.push_back(first[i]);
    if (i < second.size()) all.push_back(second[i]);
  }
  return all;
}

/// The part of a tree at this rank.
class tree_part {
 public:
  /// Directions of its children begin with number `child`.
  tree_part(pe_context& pe, std::uint32_t tree, std::uint32_t child, const tcm_range& half) : tree_(tree) {
    auto own = pe.args().own.get<parameters>();
    const place here = own.places[tree];
    root_ = own.is_root != 0;
    for (std::uint32_t i = 0; i < here.children; ++i) {
      const std::uint32_t wide = own.width(i == 0 && here.feeds != 0);
      children_.push_back({comm::packed_child(child + directions_), wide, 1});
      directions_ += wide;
    }
    if (root_ && children_.empty()) return;  // no other member in it
    parent_width_ = root_ ? 1 : own.width(here.enters != 0);
    const comm::direction any = root_ ? children_.front().first : comm::packed_parent(tree);
    const std::uint64_t element = numeric::size_of(pe.args().type);
    const std::uint64_t slot = pe.message_elements(any) * element;
    // An edge alternates between its queue pairs, when there are enough slots to fill them all.
    const std::uint64_t rings = (half.bytes + slot - 1) / slot / pe.n_slots(any);
    const auto used_of = [rings](std::uint32_t wide) {
      return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(rings, 1, wide));
    };
    for (tree_edge& e : children_) e.used = used_of(e.width);
    parent_width_ = used_of(parent_width_);
    const bool take_turns =
        parent_width_ > 1 || std::ranges::any_of(children_, [](const tree_edge& e) { return e.used > 1; });
    pieces_ = pieces_of(half, slot, element, take_turns);
  }

  [[nodiscard]] std::uint32_t directions() const { return directions_; }

  /// Adds pipelines that receive the pieces, then those that forward them.
  void add_to(std::vector<pe_context::pipeline>& pipelines) const {
    const auto base = static_cast<std::int32_t>(pipelines.size());
    for (std::uint32_t i = 0; !root_ && i < parent_width_; ++i) pipelines.push_back(incoming(i));
    for (const tree_edge& e : children_)
      for (std::uint32_t i = 0; i < e.used; ++i) pipelines.push_back(outgoing(base, e, i));
  }

 private:
  [[nodiscard]] pe_context::pipeline incoming(std::uint32_t index) const {
    pe_context::pipeline pipeline;
    pipeline.overlaps = true;
    pipeline.recv = {comm::packed_parent(tree_, index)};
    for (std::size_t i = index; i < pieces_.size(); i += parent_width_)
      pipeline.received.push_back({pieces_[i].at, pieces_[i].bytes, pe_context::arrival::copy});
    return pipeline;
  }
  /// Every piece whose number is `index` modulo the edge's width, received by one of the pipelines from
  /// `base` on.
  [[nodiscard]] pe_context::pipeline outgoing(std::int32_t base, const tree_edge& e,
                                              std::uint32_t index) const {
    pe_context::pipeline pipeline;
    pipeline.send = {static_cast<comm::direction>(e.first + index)};
    for (std::size_t i = index; i < pieces_.size(); i += e.used) {
      pe_context::outgoing piece{pieces_[i].at, pieces_[i].bytes, {}};
      if (!root_) {
        piece.after[0] = {static_cast<std::int32_t>(i / parent_width_),
                          base + static_cast<std::int32_t>(i % parent_width_)};
      }
      pipeline.sent.push_back(piece);
    }
    return pipeline;
  }

  std::uint32_t tree_;
  bool root_{};
  std::vector<tree_edge> children_;
  std::uint32_t directions_{};     ///< queue pairs of children
  std::uint32_t parent_width_{1};  ///< queue pairs from the parent that are used
  std::vector<tcm_range> pieces_;
};

void run(pe_context& pe) {
  const bool is_root = pe.args().own.get<parameters>().is_root != 0;
  const block_vector v = is_root ? reduced_in_output(pe) : block_vector(pe, pe.args().output);
  const tree_part first(pe, 0, 0, v.part_of_whole(1, 2));
  const tree_part second(pe, 1, first.directions(), v.part_of_whole(0, 2));
  std::vector<pe_context::pipeline> pipelines;
  first.add_to(pipelines);
  if (is_root) {
    std::vector<pe_context::pipeline> others;
    second.add_to(others);
    pipelines = in_turn(pipelines, others);
  } else {
    second.add_to(pipelines);
  }
  pe.last_stream(pipelines, "broadcast");
}

void fill(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const comm::packed_trees& plan = packed_trees_of(c, comm::packed_trees::flow::down);
  parameters own;
  own.is_root = rank == c.root ? 1 : 0;
  for (std::uint32_t tree = 0; tree < trees; ++tree) {
    const comm::tree_node& node = plan.node(tree, rank);
    place& here = own.places[tree];
    here.children = static_cast<std::uint32_t>(node.children.size());
    for (const std::uint32_t child : node.children) {
      const bool crosses = plan.crosses(rank, child);
      own.width(crosses) = plan.width(rank, child);
      if (!crosses) continue;
      if (child != node.children.front()) throw std::logic_error("a tree leaves a SIP by a later child");
      here.feeds = 1;
    }
    if (!node.parent) continue;
    const bool crosses = plan.crosses(*node.parent, rank);
    own.width(crosses) = plan.width(*node.parent, rank);
    here.enters = crosses ? 1 : 0;
  }
  a.own.set(own);
}

}  // namespace broadcast_packed_kernel

// Reduce and all-reduce on packed trees, an equal share of the vector on each:
//
//   for every tree:  add the children's sums, in their order, and send the sum to the parent;
//                    all_reduce: forward the parent's result to the children
//
// reduce goes up the two trees of comm::packed_trees, all_reduce up and down comm::spanning_trees.

namespace packed_sums_kernel {

using directions = std::vector<comm::direction>;

/// Trees, and this rank's place in each: twice its children, and 1 more where it has a parent.
struct parameters {
  std::uint32_t trees{};
  std::array<std::uint32_t, comm::spanning_trees::most_trees> place{};
};

/// This rank's share of a tree; queue pairs are those of comm::tree_directions.
struct tree_share {
  directions parent, children;
  tcm_range range;
};

std::vector<tree_share> shares(const abi::kernel_arguments& a, const block_vector& v) {
  std::vector<tree_share> all;
  const auto own = a.own.get<parameters>();
  comm::direction next = 0;
  for (std::uint32_t t = 0; t < own.trees; ++t) {
    const std::uint32_t place = own.place[t];
    tree_share& s = all.emplace_back();
    if (place % 2 != 0) s.parent = {next++};
    for (std::uint32_t i = 0; i < place / 2; ++i) s.children.push_back(next++);
    s.range = v.part_of_whole(t, own.trees);
  }
  return all;
}

pe_context::pipeline up(const tree_share& s) { return up_pipeline(s.range, s.children, s.parent); }

/// `sums`: number of the pipeline that receives the sum at the root; -1: the root has the sum already.
pe_context::pipeline down(const tree_share& s, std::int32_t sums) {
  pe_context::pipeline pipeline = down_pipeline(s.range, s.parent, s.children);
  if (s.parent.empty() && sums >= 0) pipeline.sent.front().after = {{{0, sums}}};
  return pipeline;
}

void average_at_roots(pe_context& pe, const std::vector<tree_share>& all) {
  for (const tree_share& s : all)
    if (s.parent.empty()) pe.finish_average(s.range);
}

void run_reduce(pe_context& pe) {
  const block_vector v = reduced_in_output(pe);
  const std::vector<tree_share> all = shares(pe.args(), v);
  std::vector<pe_context::pipeline> pipelines;
  pipelines.reserve(all.size());
  for (const tree_share& s : all) pipelines.push_back(up(s));
  pe.last_stream(pipelines, "reduce");
  average_at_roots(pe, all);
}

void run_all_reduce(pe_context& pe) {
  const block_vector v = reduced_in_output(pe);
  const std::vector<tree_share> all = shares(pe.args(), v);
  // An average is divided where the sum is complete, and then sent down: the two directions do not overlap.
  const bool divides = pe.args().op == numeric::reduction::avg;
  std::vector<pe_context::pipeline> pipelines;
  pipelines.reserve(2 * all.size());
  for (const tree_share& s : all) pipelines.push_back(up(s));
  if (divides) {
    pe.stream(pipelines, "reduce");
    average_at_roots(pe, all);
    pipelines.clear();
  }
  for (std::int32_t t = 0; t < std::ssize(all); ++t)
    pipelines.push_back(down(all[static_cast<std::size_t>(t)], divides ? -1 : t));
  pe.last_stream(pipelines, divides ? "broadcast" : "all_reduce");
}

template <class NodeOf>
parameters parameters_of(std::uint32_t trees, const NodeOf& node_of) {
  parameters own{trees, {}};
  for (std::uint32_t t = 0; t < trees; ++t) {
    const comm::tree_node& n = node_of(t);
    own.place[t] = static_cast<std::uint32_t>(2 * n.children.size()) + (n.parent ? 1 : 0);
  }
  return own;
}

void fill_reduce(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const comm::packed_trees& up = packed_trees_of(c, comm::packed_trees::flow::up);
  a.own.set(parameters_of(comm::packed_trees::trees,
                          [&](std::uint32_t t) -> const comm::tree_node& { return up.node(t, rank); }));
}

void fill_all_reduce(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const auto& spanning =
      c.memo.get<comm::spanning_trees>([&c] { return comm::spanning_trees(pattern_context_of(c)); });
  a.own.set(parameters_of(spanning.trees(),
                          [&](std::uint32_t t) -> const comm::tree_node& { return spanning.tree(t)[rank]; }));
}

}  // namespace packed_sums_kernel

kernel_table packed_tree_kernels() {
  const std::vector<comm::rank_set> leaders{comm::rank_set::cube, comm::rank_set::sip};
  return {{"packed_trees", "broadcast", "down two shallow trees fitted to the links, half of the vector each",
           "packed_trees", any_ranks, broadcast_packed_kernel::run, without_scratch,
           broadcast_packed_kernel::fill},
          {"packed_trees", "reduce", "up two shallow trees fitted to the links, half of the vector each",
           "packed_trees_up", any_ranks, packed_sums_kernel::run_reduce, without_scratch,
           packed_sums_kernel::fill_reduce},
          {"packed_trees", "all_reduce",
           "up and down trees of neighbors that use all links alike, a share of the vector each",
           "spanning_trees", leaders, packed_sums_kernel::run_all_reduce, without_scratch,
           packed_sums_kernel::fill_all_reduce}};
}

}  // namespace diecast::sw
