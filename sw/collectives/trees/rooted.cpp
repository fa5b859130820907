// SPDX-License-Identifier: Apache-2.0
// Broadcast and reduce. ring_1d: a chain round the ring from (to) the root, half of the vector in each
// direction, slot by slot, so that all links work at once. binomial: along the binomial tree, slot by slot;
// ceil(log2 n) hops deep.
#include <algorithm>

#include "sw/collectives/base/blocks.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/trees/trees.hpp"

namespace diecast::sw {
namespace rooted_kernel {

using arrival = pe_context::arrival;
using directions = std::vector<comm::direction>;

struct parameters {
  std::uint32_t root{};
  std::uint32_t distance{};  ///< hops from the root along the ring
};

/// A pipeline of the chain round the ring: hop 0 is the first PE, hop n - 1 the last.
pe_context::pipeline chain(pe_context& pe, std::int64_t direction, std::uint32_t hop, const tcm_range& range,
                           arrival how) {
  const pe_context::pipeline ring = ring_pipeline(direction);
  const directions before = hop > 0 ? ring.recv : directions{};
  const directions behind = hop + 1 < pe.args().ranks ? ring.send : directions{};
  return how == arrival::copy ? down_pipeline(range, before, behind) : up_pipeline(range, before, behind);
}

std::uint32_t root_of(const abi::kernel_arguments& a) { return a.own.get<parameters>().root; }

/// A PE in comm::binomial_tree, counted from the root, on the circulant pattern.
struct binomial_place {
  explicit binomial_place(const abi::kernel_arguments& a)
      : root(root_of(a)), ranks(a.ranks), place((a.rank + ranks - root) % ranks) {
    const comm::tree_node node = comm::binomial_tree(place, ranks);
    if (node.parent) parent = {comm::down(comm::binomial_edge(place, *node.parent))};
    for (const std::uint32_t child : node.children) levels.push_back(comm::binomial_edge(place, child));
  }
  [[nodiscard]] bool is_root() const { return place == 0; }
  /// The child with the smallest subtree comes first.
  [[nodiscard]] directions children() const {
    directions all;
    for (const std::uint32_t k : levels) all.push_back(comm::up(k));
    return all;
  }
  /// Blocks of this PE's subtree, and of that of its child of level k: they follow each other.
  [[nodiscard]] std::array<tcm_range, 2> own_blocks(const block_vector& v) const { return blocks(v, place); }
  [[nodiscard]] std::array<tcm_range, 2> child_blocks(const block_vector& v, std::uint32_t k) const {
    return blocks(v, place + (std::uint32_t{1} << k));
  }
  [[nodiscard]] std::array<tcm_range, 2> blocks(const block_vector& v, std::uint32_t top) const {
    return v.blocks_from((root + top) % ranks, top == 0 ? ranks : std::min(top & (~top + 1), ranks - top));
  }

  std::uint32_t root, ranks, place;
  directions parent;                  ///< direction to the parent; none at the root
  std::vector<std::uint32_t> levels;  ///< levels of the children
};

/// The root's contribution is in the output.
block_vector broadcast_vector(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  if (a.rank == root_of(a)) return reduced_in_output(pe);
  return {pe, a.output};
}

void run_broadcast_ring(pe_context& pe) {
  const block_vector v = broadcast_vector(pe);
  const std::uint32_t n = pe.args().ranks;
  const std::uint32_t d = pe.args().own.get<parameters>().distance;
  pe.last_stream({chain(pe, 1, d, v.part_of_whole(1, 2), arrival::copy),
                  chain(pe, -1, (n - d) % n, v.part_of_whole(0, 2), arrival::copy)},
                 "broadcast");
}

/// The chain begins after the root and ends with it.
void run_reduce_ring(pe_context& pe) {
  const block_vector v = reduced_in_output(pe);
  const std::uint32_t n = pe.args().ranks;
  const std::uint32_t d = pe.args().own.get<parameters>().distance;
  pe.last_stream({chain(pe, 1, (d + n - 1) % n, v.part_of_whole(1, 2), arrival::reduce),
                  chain(pe, -1, n - 1 - d, v.part_of_whole(0, 2), arrival::reduce)},
                 "reduce");
  if (d == 0) pe.finish_average(v.whole());
}

void run_broadcast_binomial(pe_context& pe) {
  const block_vector v = broadcast_vector(pe);
  const binomial_place place(pe.args());
  directions children = place.children();
  std::ranges::reverse(children);  // the deepest subtree first
  pe.last_stream({down_pipeline(v.whole(), place.parent, children)}, "broadcast");
}

void run_reduce_binomial(pe_context& pe) {
  const block_vector v = reduced_in_output(pe);
  const binomial_place place(pe.args());
  pe.last_stream({up_pipeline(v.whole(), place.children(), place.parent)}, "reduce");
  if (place.is_root()) pe.finish_average(v.whole());
}

void fill_ring(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const std::vector<std::uint32_t>& position = ring_positions(c);
  const std::uint32_t n = ranks_of(c);
  a.own.set(parameters{c.root, (position.at(rank) + n - position.at(c.root)) % n});
}

void fill_root(const argument_context& c, std::uint32_t, abi::kernel_arguments& a) {
  a.own.set(parameters{c.root, 0});
}

// Gather and scatter. binomial: subtrees of the binomial tree are consecutive blocks, so every edge
// carries one run of blocks; ceil(log2 n) hops. linear: the root exchanges with every rank directly.

void receive(pe_context& pe, comm::direction dir, const std::array<tcm_range, 2>& ranges) {
  for (const tcm_range& r : ranges) pe.recv_all(dir, r, arrival::copy);
}
void send(pe_context& pe, comm::direction dir, const std::array<tcm_range, 2>& ranges) {
  for (const tcm_range& r : ranges) pe.send_all(dir, r);
}

void run_gather_binomial(pe_context& pe) {
  const block_vector v = gathered_in_output(pe);
  const binomial_place place(pe.args());
  for (const std::uint32_t k : place.levels) {
    pe.step("gather", k);
    receive(pe, comm::up(k), place.child_blocks(v, k));
  }
  if (!place.is_root()) send(pe, place.parent[0], place.own_blocks(v));
}

void run_scatter_binomial(pe_context& pe) {
  const block_vector v(pe, pe.args().input);
  const binomial_place place(pe.args());
  if (!place.is_root()) receive(pe, place.parent[0], place.own_blocks(v));
  for (auto k = place.levels.rbegin(); k != place.levels.rend(); ++k) {  // the largest subtree first
    pe.step("scatter", *k);
    send(pe, comm::up(*k), place.child_blocks(v, *k));
  }
  deliver_own_block(pe, v);
}

void run_gather_linear(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  const std::uint32_t root = root_of(a);
  pe.step("gather");
  if (a.rank != root) {
    pe.send_all(comm::star_root, {a.input, block_vector(pe, a.output).block(a.rank).bytes});
    return;
  }
  const block_vector v = gathered_in_output(pe);
  for (std::uint32_t d = 1; d < a.ranks; ++d) {
    pe.recv_all(comm::star_spoke(d), v.block(around(root, d, a.ranks)), arrival::copy);
  }
}

void run_scatter_linear(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  const std::uint32_t root = root_of(a);
  const block_vector v(pe, a.input);
  pe.step("scatter");
  if (a.rank != root) {
    pe.recv_all(comm::star_root, {a.output, v.block(a.rank).bytes}, arrival::copy);
    return;
  }
  for (std::uint32_t d = 1; d < a.ranks; ++d) {
    pe.send_all(comm::star_spoke(d), v.block(around(root, d, a.ranks)));
  }
  deliver_own_block(pe, v);
}

// Broadcast down two binary trees, half of the vector each: an inner node of one tree sends each message
// twice and is a leaf of the other, so every rank sends about as much as it receives, and no rank is farther
// from the root than the depth of a tree.

struct tree_parameters {
  std::uint32_t is_root{};
  std::array<std::uint32_t, 2> children{};  ///< number of children in each tree
};

void down(pe_context& pe, std::uint32_t which, const tcm_range& half) {
  const auto own = pe.args().own.get<tree_parameters>();
  const comm::direction parent = comm::root_tree_parent(which);
  directions children;
  for (std::uint32_t i = 0; i < own.children[which]; ++i)
    children.push_back(static_cast<comm::direction>(parent + 1 + i));
  pe.relay(own.is_root != 0 ? directions{} : directions{parent}, children, half, pe_context::arrival::copy);
}

void run_trees(pe_context& pe) {
  const bool is_root = pe.args().own.get<tree_parameters>().is_root != 0;
  const block_vector v = is_root ? reduced_in_output(pe) : block_vector(pe, pe.args().output);
  pe.step("broadcast");
  pe.run_tasks({[&] { down(pe, 0, v.part_of_whole(1, 2)); }, [&] { down(pe, 1, v.part_of_whole(0, 2)); }});
}

void fill_trees(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  tree_parameters own{rank == c.root ? 1U : 0U, {}};
  for (std::uint32_t which = 0; which < 2; ++which) {
    const comm::tree_node node = comm::root_tree(rank, ranks_of(c), c.root, which);
    own.children[which] = static_cast<std::uint32_t>(node.children.size());
  }
  a.own.set(own);
}

}  // namespace rooted_kernel

kernel_table rooted_kernels() {
  using namespace rooted_kernel;
  return {{"ring_1d", "broadcast", "a pipelined chain round the ring, half of the vector each way", "ring_1d",
           any_ranks, run_broadcast_ring, without_scratch, fill_ring},
          {"binomial", "broadcast", "down the binomial tree of the root", "circulant", any_ranks,
           run_broadcast_binomial, without_scratch, fill_root},
          {"double_binary_tree", "broadcast", "down two binary trees, half of the vector each", "root_trees",
           any_ranks, run_trees, without_scratch, fill_trees},
          {"ring_1d", "reduce", "a pipelined chain round the ring to the root, half of the vector each way",
           "ring_1d", any_ranks, run_reduce_ring, without_scratch, fill_ring},
          {"binomial", "reduce", "up the binomial tree of the root", "circulant", any_ranks,
           run_reduce_binomial, without_scratch, fill_root},
          {"binomial", "gather", "up the binomial tree of the root, runs of blocks", "circulant", any_ranks,
           run_gather_binomial, without_scratch, fill_root},
          {"linear", "gather", "every rank directly to the root", "star", any_ranks, run_gather_linear,
           without_scratch, fill_root},
          {"binomial", "scatter", "down the binomial tree of the root, runs of blocks", "circulant",
           any_ranks, run_scatter_binomial, without_scratch, fill_root},
          {"linear", "scatter", "the root directly to every rank", "star", any_ranks, run_scatter_linear,
           without_scratch, fill_root}};
}

}  // namespace diecast::sw
