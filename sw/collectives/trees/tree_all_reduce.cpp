// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/trees/tree_all_reduce.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <numeric>
#include <utility>

#include "models/comm/patterns.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/base/member_levels.hpp"
#include "sw/collectives/partners/partner_steps.hpp"
#include "sw/collectives/trees/nested_trees.hpp"
#include "sw/collectives/trees/trees.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {
namespace {

std::uint32_t index(std::uint64_t chunk) { return static_cast<std::uint32_t>(chunk); }

/// Marks a step "reduce from rank 12, round 2" of binomial trees; other trees' steps are chunks.
void name_step(pe_context& pe, const tree_place& tree, const char* what, comm::direction edge) {
  if (!tree.binomial_rank) return;
  const auto round = static_cast<std::uint32_t>(edge - comm::partner(0));
  pe.step(fmt::format("{} rank {}, round", what, *tree.binomial_rank ^ 1U << round), round);
}

void reduce_up(pe_context& pe, const tree_place& tree, const tcm_range& e) {
  for (const auto& group : tree.children)
    pe.reduce_all(group, e, [&](comm::direction from) { name_step(pe, tree, "reduce from", from); });
  if (tree.parent) {
    name_step(pe, tree, "reduce to", *tree.parent);
    pe.send_all(*tree.parent, e);
  } else if (tree.divides) {
    pe.finish_average(e);
  }
}

void broadcast_down(pe_context& pe, const tree_place& tree, const tcm_range& e) {
  if (tree.parent) {
    name_step(pe, tree, "broadcast from", *tree.parent);
    pe.recv_all(*tree.parent, e, pe_context::arrival::copy);
  }
  std::vector<comm::direction> all;
  // The result is sent first to the children whose contribution arrived last: they have the deepest subtrees.
  for (auto group = tree.children.rbegin(); group != tree.children.rend(); ++group)
    all.insert(all.end(), group->begin(), group->end());
  pe.send_all(all, e, [&](comm::direction to) { name_step(pe, tree, "broadcast to", to); });
}

}  // namespace

std::function<void()> tree_up(pe_context& pe, const tree_place& tree, const tcm_range& range,
                              std::uint64_t chunks, std::uint64_t& summed) {
  return [&pe, tree, range, chunks, &summed] {
    for (std::uint64_t c = 0; c < chunks; ++c) {
      pe.step("reduce", index(c));
      reduce_up(pe, tree, part(pe, range, c, chunks));
      ++summed;
    }
  };
}

std::function<void()> tree_down(pe_context& pe, const tree_place& tree, const tcm_range& range,
                                std::uint64_t chunks, std::function<bool(std::uint64_t)> ready) {
  return [&pe, tree, range, chunks, ready = std::move(ready)] {
    for (std::uint64_t c = 0; c < chunks; ++c) {
      pe.wait_until([&ready, c] { return ready(c); });
      pe.step("broadcast", index(c));
      broadcast_down(pe, tree, part(pe, range, c, chunks));
    }
  };
}

std::vector<std::function<void()>> tree_tasks(pe_context& pe, const tree_place& tree, const tcm_range& range,
                                              std::uint64_t chunks, std::uint64_t& summed) {
  return {tree_up(pe, tree, range, chunks, summed),
          tree_down(pe, tree, range, chunks, [&summed](std::uint64_t c) { return summed > c; })};
}

void tree_all_reduce(pe_context& pe, const tree_place& tree, const tcm_range& range, std::uint64_t chunks) {
  if (chunks > 1) {
    std::uint64_t summed = 0;
    pe.run_tasks(tree_tasks(pe, tree, range, chunks, summed));
    return;
  }
  pe.step("reduce");
  reduce_up(pe, tree, range);
  pe.step("broadcast");
  broadcast_down(pe, tree, range);
}

std::uint64_t chunks_for(const argument_context& c, std::uint64_t bytes, std::uint32_t depth) {
  return comm::chunks_on_pipeline(c.config, c.members, bytes, bytes / numeric::size_of(c.type), depth);
}

// All-reduce on trees of ranks: sums flow up to rank 0, the result flows down.
//
//   tree_binary         parent (r-1)/2, children 2r+1 and 2r+2
//   double_binary_tree  two trees, half of the vector each; no rank is an inner node of both, so every
//                       PE sends and receives about as much as any other
//   p2p_tree            binomial: neighbors add first, then pairs of pairs. The order of every sum depends
//                       on the ranks alone, so the bits are the same on any topology and timing

namespace tree_binary_kernel {

/// Places in trees are bits: 1 has a parent, 2 and 4 has the first and the second child.
struct parameters {
  std::uint64_t chunks{}, first_place{}, second_place{};
};
struct binomial_parameters {
  std::uint64_t chunks{}, children{}, parent_edge{no_edge};
  static constexpr std::uint64_t no_edge = ~std::uint64_t{};
};

std::uint64_t place_bits(const comm::tree_node& n) {
  return (n.parent ? 1U : 0U) | (!n.children.empty() ? 2U : 0U) | (n.children.size() > 1 ? 4U : 0U);
}

/// `up` is the direction of the parent; the children follow.
tree_place place_of(std::uint64_t bits, comm::direction up) {
  tree_place t;
  if ((bits & 1) != 0) t.parent = up;
  std::vector<comm::direction> below;
  if ((bits & 2) != 0) below.push_back(static_cast<comm::direction>(up + 1));
  if ((bits & 4) != 0) below.push_back(static_cast<comm::direction>(up + 2));
  t.children.push_back(below);
  return t;
}

void run_tree_binary(pe_context& pe) {
  const auto own = pe.args().own.get<parameters>();
  start_in_output(pe);
  tree_all_reduce(pe, place_of(own.first_place, comm::parent), whole(pe), own.chunks);
}

void run_double_binary_tree(pe_context& pe) {
  const auto own = pe.args().own.get<parameters>();
  start_in_output(pe);
  std::uint64_t done_first = 0;
  std::uint64_t done_second = 0;
  auto tasks = tree_tasks(pe, place_of(own.first_place, comm::parent), part(pe, whole(pe), 1, 2), own.chunks,
                          done_first);
  for (auto& task : tree_tasks(pe, place_of(own.second_place, comm::second_tree), part(pe, whole(pe), 0, 2),
                               own.chunks, done_second)) {
    tasks.push_back(std::move(task));
  }
  pe.run_tasks(tasks);
}

void run_p2p_tree(pe_context& pe) {
  const auto own = pe.args().own.get<binomial_parameters>();
  tree_place t;
  t.binomial_rank = pe.args().rank;
  for (std::uint32_t k = 0; k < own.children; ++k) {
    if (t.children.empty()) t.children.emplace_back();
    t.children.back().push_back(comm::partner(k));
  }
  if (own.parent_edge != own.no_edge) t.parent = comm::partner(static_cast<std::uint32_t>(own.parent_edge));
  start_in_output(pe);
  tree_all_reduce(pe, t, whole(pe), own.chunks);
}

void fill_tree_binary(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const std::uint32_t n = ranks_of(c);
  a.own.set(parameters{chunks_for(c, vector_bytes(c), comm::depth_of_binary(n)),
                       place_bits(comm::binary_tree(rank, n)), 0});
}

void fill_double_binary_tree(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const std::uint32_t n = ranks_of(c);
  a.own.set(parameters{chunks_for(c, vector_bytes(c) / 2, comm::depth_of_binary(n) + 1),
                       place_bits(comm::in_order_tree(rank, n)),
                       place_bits(comm::complementary_tree(rank, n))});
}

void fill_p2p_tree(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const comm::tree_node node = comm::binomial_tree(rank, ranks_of(c));
  binomial_parameters own{chunks_for(c, vector_bytes(c), comm::depth_of_binomial(ranks_of(c))),
                          node.children.size()};
  if (node.parent) own.parent_edge = comm::binomial_edge(rank, *node.parent);
  a.own.set(own);
}

}  // namespace tree_binary_kernel

// All-reduce over all PEs, level by level: the PEs of a cube sum to its first, those of a SIP's cubes to its
// first cube, those of the SIPs to the first; then the result is sent back on the same edges. Each level is a
// ring with two chains to the leader, one from each side, of ceil((N-1)/2) hops. A level of one is skipped.
//
// hierarchical_pipelined is the same in chunks, so that the levels, and the passes up and down, overlap.

namespace hierarchical_kernel {

/// Place and size per level.
struct parameters {
  std::uint32_t pe{}, pes{}, cube{}, cubes{}, sip{}, sips{};
  std::uint64_t chunks{1};
};

/// A PE on the ring of one level; its leader is at 0.
struct level_place {
  std::uint32_t at{}, size{1};
  comm::direction forth{}, back{};  ///< directions to the next place and to the previous one

  [[nodiscard]] bool is_leader() const { return at == 0; }
  /// The last place that sends to the leader by `back`; the others send by `forth`, over the ring's end.
  [[nodiscard]] std::uint32_t turn() const { return size / 2; }
  [[nodiscard]] comm::direction inner() const { return at <= turn() ? back : forth; }
  /// Queue pairs from which sums arrive.
  [[nodiscard]] std::vector<comm::direction> outer() const {
    std::vector<comm::direction> d;
    if (at < turn()) d.push_back(forth);
    if (at == 0 ? size > 2 : at > turn() + 1) d.push_back(back);
    return d;
  }
};

/// The levels of this PE, innermost first: it is the leader of all but perhaps the last.
std::vector<level_place> own_levels(const parameters& p) {
  const std::array all{level_place{p.pe, p.pes, comm::east, comm::west},
                       level_place{p.cube, p.cubes, comm::north, comm::south},
                       level_place{p.sip, p.sips, comm::global_east, comm::global_west}};
  std::vector<level_place> mine;
  for (const level_place& level : all) {
    mine.push_back(level);
    if (!level.is_leader()) break;
  }
  return mine;
}

tree_place place(const parameters& own) {
  tree_place tree;
  for (const level_place& level : own_levels(own)) {
    tree.children.push_back(level.outer());
    if (!level.is_leader()) tree.parent = level.inner();
  }
  return tree;
}

void run_hierarchical(pe_context& pe) {
  const auto own = pe.args().own.get<parameters>();
  start_in_output(pe);
  tree_all_reduce(pe, place(own), whole(pe), own.chunks);
}

parameters parameters_of(const argument_context& c, std::uint32_t rank, std::uint64_t chunks) {
  const comm::member_levels::place& p = levels_of(c).places.at(rank);
  return {p.pe, p.pes, p.cube, p.cubes, p.sip, p.sips, chunks};
}

void fill_places(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  a.own.set(parameters_of(c, rank, 1));
}

/// The number of chunks is equal at all PEs, although cubes may have different numbers of PEs.
void fill_pipelined(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  a.own.set(parameters_of(c, rank, chunks_for(c, vector_bytes(c), levels_of(c).hops())));
}

}  // namespace hierarchical_kernel

// All-reduce on trees within trees (ccl.levels), every level in chunks of its own: a PE adds up the
// contributions of its children of one level while it forwards sums of the levels below.

namespace nested_kernel {

/// A level at which this PE has children.
struct stage {
  std::uint32_t children{}, chunks{};
};
struct parameters {
  std::uint32_t has_parent{}, chunks{};  ///< chunks of the edge to the parent; of the root, of its last stage
  std::array<stage, comm::nested_trees::most_levels> stages{};  ///< innermost first; the last ones are empty
};

using part_action = std::function<void(const tcm_range&)>;

/// A task that processes one part of the vector after the other, as soon as the first `ready` bytes
/// include it; `done` counts the processed elements.
std::function<void()> part_by_part(pe_context& pe, const char* step, std::uint64_t chunks,
                                   const std::uint64_t& ready, std::uint64_t& done, part_action action) {
  return [&pe, step, chunks, &ready, &done, action = std::move(action)] {
    const tcm_range all = whole(pe);
    for (std::uint64_t c = 0; c < chunks; ++c) {
      const tcm_range e = part(pe, all, c, chunks);
      const std::uint64_t end = e.at + e.bytes - all.at;
      pe.wait_until([&ready, end] { return ready >= end; });
      pe.step(step, index(c));
      action(e);
      done = end;
    }
  };
}

void run_nested(pe_context& pe) {
  const auto own = pe.args().own.get<parameters>();
  start_in_output(pe);
  const std::uint64_t all = whole(pe).bytes;
  std::array<std::uint64_t, comm::nested_trees::most_levels + 1> summed{all};
  std::uint64_t sent = 0, result = 0, passed_on = 0;
  std::vector<std::function<void()>> up, down;
  comm::direction next = 1;
  for (const stage& s : own.stages) {
    if (s.children == 0) break;
    std::vector<comm::direction> children(s.children);
    std::iota(children.begin(), children.end(), next);
    next = static_cast<comm::direction>(next + s.children);
    const std::size_t at = up.size();
    up.push_back(part_by_part(pe, "reduce", s.chunks, summed.at(at), summed.at(at + 1),
                              [&pe, children](const tcm_range& e) { pe.reduce_all(children, e); }));
    down.push_back(part_by_part(pe, "broadcast", s.chunks, result, passed_on,
                                [&pe, children](const tcm_range& e) { pe.send_all(children, e); }));
  }
  const std::uint64_t& own_sum = summed.at(up.size());
  if (own.has_parent != 0) {
    up.push_back(part_by_part(pe, "reduce", own.chunks, own_sum, sent,
                              [&pe](const tcm_range& e) { pe.send_all(0, e); }));
    up.push_back(part_by_part(pe, "broadcast", own.chunks, sent, result,
                              [&pe](const tcm_range& e) { pe.recv_all(0, e, pe_context::arrival::copy); }));
  } else {
    up.push_back(part_by_part(pe, "reduce", own.chunks, own_sum, result,
                              [&pe](const tcm_range& e) { pe.finish_average(e); }));
  }
  up.insert(up.end(), down.rbegin(), down.rend());  // the last level first: it has the deepest subtrees
  pe.run_tasks(up);
}

void fill_nested(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const auto& trees =
      c.memo.get<comm::nested_trees>([&c] { return comm::nested_trees(pattern_context_of(c)); });
  const std::uint64_t most = std::max<std::uint64_t>(1, vector_bytes(c) / numeric::size_of(c.type));
  const auto chunks_of = [&](std::uint32_t level) {
    const std::uint64_t given = trees.levels[level].chunks;
    return static_cast<std::uint32_t>(given > 0 ? std::min(given, most)
                                                : chunks_for(c, vector_bytes(c), trees.depth));
  };
  parameters own{trees.nodes[rank].parent ? 1U : 0U, 1};
  std::size_t stages = 0;
  std::uint32_t last = comm::nobody;
  for (const std::uint32_t child : trees.nodes[rank].children) {
    const std::uint32_t level = trees.level_above[child];
    if (level != last) own.stages.at(stages++) = {0, own.chunks = chunks_of(level)};
    ++own.stages.at(stages - 1).children;
    last = level;
  }
  if (trees.nodes[rank].parent) own.chunks = chunks_of(trees.level_above[rank]);
  a.own.set(own);
}

}  // namespace nested_kernel

kernel_table tree_kernels() {
  const std::vector<comm::rank_set> pes_or_sips{comm::rank_set::pe, comm::rank_set::sip};
  using namespace tree_binary_kernel;
  kernel_table all{
      {"tree_binary", "all_reduce", "binary tree: sums up to rank 0, the result down", "tree_binary",
       any_ranks, run_tree_binary, without_scratch, fill_tree_binary},
      {"double_binary_tree", "all_reduce", "two complementary binary trees, half of the vector each",
       "double_binary_tree", any_ranks, run_double_binary_tree, without_scratch, fill_double_binary_tree},
      {deterministic_all_reduce, "all_reduce", "pairwise tree in the order of ranks: the same bits always",
       "binomial_tree", any_ranks, run_p2p_tree, without_scratch, fill_p2p_tree},
      {"hierarchical_3level", "all_reduce", "PEs of a cube, cubes of a SIP, SIPs; and back",
       "hierarchical_3level", pes_or_sips, hierarchical_kernel::run_hierarchical, without_scratch,
       hierarchical_kernel::fill_places},
      {"hierarchical_pipelined", "all_reduce", "hierarchical_3level in chunks, the levels overlapping",
       "hierarchical_3level", pes_or_sips, hierarchical_kernel::run_hierarchical, without_scratch,
       hierarchical_kernel::fill_pipelined},
      {"hierarchical", "all_reduce", "the levels of ccl.levels, each with a tree and chunks of its own",
       comm::nested_trees_name, any_ranks, nested_kernel::run_nested, without_scratch,
       nested_kernel::fill_nested}};
  all[2].sums = numeric::summation::pairwise;
  all[3].every_pe = all[4].every_pe = true;
  all[5].by_config = true;
  return all;
}

}  // namespace diecast::sw
