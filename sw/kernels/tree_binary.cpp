// SPDX-License-Identifier: Apache-2.0
// All-reduce on trees of ranks: sums flow up to rank 0, the result flows down.
//
//   tree_binary         parent (r-1)/2, children 2r+1 and 2r+2
//   double_binary_tree  two trees, half of the vector each; no rank is an inner node of both, so every
//                       PE sends and receives about as much as any other
//   p2p_tree            binomial: neighbors add first, then pairs of pairs. The order of every sum depends
//                       on the ranks alone, so the bits are the same on any topology and timing
#include <utility>

#include "models/comm/trees.hpp"
#include "sw/kernels/builtin.hpp"
#include "sw/kernels/deterministic.hpp"
#include "sw/kernels/tree_all_reduce.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {
namespace tree_binary_kernel {

/// The words of kernel_arguments::extra. Places of a tree are bits: 1 has a parent, 2 and 4 has the first
/// and the second child.
enum extra : std::size_t { chunks, first_place, second_place };
enum binomial_extra : std::size_t { binomial_chunks, children, parent_edge };
constexpr std::int64_t no_edge = -1;

std::uint64_t word(pe_context& pe, std::size_t w) { return static_cast<std::uint64_t>(pe.args().extra[w]); }

std::int64_t place_bits(const comm::tree_node& n) {
  return (n.parent ? 1 : 0) | (!n.children.empty() ? 2 : 0) | (n.children.size() > 1 ? 4 : 0);
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
  start_in_output(pe);
  tree_all_reduce(pe, place_of(word(pe, first_place), comm::parent), whole(pe), word(pe, chunks));
}

void run_double_binary_tree(pe_context& pe) {
  start_in_output(pe);
  std::uint64_t done_first = 0;
  std::uint64_t done_second = 0;
  const std::uint64_t n = word(pe, chunks);
  auto tasks =
      tree_tasks(pe, place_of(word(pe, first_place), comm::parent), part(whole(pe), 1, 2), n, done_first);
  for (auto& task : tree_tasks(pe, place_of(word(pe, second_place), comm::second_tree), part(whole(pe), 0, 2),
                               n, done_second)) {
    tasks.push_back(std::move(task));
  }
  pe.run_tasks(tasks);
}

void run_p2p_tree(pe_context& pe) {
  tree_place t;
  t.binomial_rank = pe.args().rank;
  for (std::uint64_t k = 0; k < word(pe, children); ++k) {
    if (t.children.empty()) t.children.emplace_back();
    t.children.back().push_back(comm::partner(static_cast<std::uint32_t>(k)));
  }
  if (pe.args().extra[parent_edge] != no_edge)
    t.parent = comm::partner(static_cast<std::uint32_t>(pe.args().extra[parent_edge]));
  start_in_output(pe);
  tree_all_reduce(pe, t, whole(pe), word(pe, binomial_chunks));
}

std::uint32_t ranks_of(const argument_context& c) {
  return static_cast<std::uint32_t>(c.members.members.size());
}

std::int64_t chunk_word(const argument_context& c, std::uint64_t bytes, std::uint32_t depth) {
  return static_cast<std::int64_t>(chunks_for(c, bytes, depth));
}

void fill_tree_binary(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const std::uint32_t n = ranks_of(c);
  a.extra[chunks] = chunk_word(c, vector_bytes(c), comm::depth_of_binary(n));
  a.extra[first_place] = place_bits(comm::binary_tree(rank, n));
}

void fill_double_binary_tree(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const std::uint32_t n = ranks_of(c);
  a.extra[chunks] = chunk_word(c, vector_bytes(c) / 2, comm::depth_of_binary(n) + 1);
  a.extra[first_place] = place_bits(comm::in_order_tree(rank, n));
  a.extra[second_place] = place_bits(comm::complementary_tree(rank, n));
}

void fill_p2p_tree(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const std::uint32_t n = ranks_of(c);
  const comm::tree_node node = comm::binomial_tree(rank, n);
  a.extra[binomial_chunks] = chunk_word(c, vector_bytes(c), comm::depth_of_binomial(n));
  a.extra[children] = static_cast<std::int64_t>(node.children.size());
  a.extra[parent_edge] = node.parent ? std::int64_t{comm::binomial_edge(rank, *node.parent)} : no_edge;
}

}  // namespace tree_binary_kernel

kernel_entry tree_binary_entry() {
  using namespace tree_binary_kernel;
  return {"tree_binary",   "all_reduce",    "binary tree: sums up to rank 0, the result down",
          "tree_binary",   any_ranks,       run_tree_binary,
          without_scratch, fill_tree_binary};
}

kernel_entry double_binary_tree_entry() {
  using namespace tree_binary_kernel;
  return {"double_binary_tree",
          "all_reduce",
          "two complementary binary trees, half of the vector each",
          "double_binary_tree",
          any_ranks,
          run_double_binary_tree,
          without_scratch,
          fill_double_binary_tree};
}

kernel_entry p2p_tree_entry() {
  using namespace tree_binary_kernel;
  kernel_entry e{
      deterministic_all_reduce, "all_reduce", "pairwise tree in the order of ranks: the same bits always",
      "binomial_tree",          any_ranks,    run_p2p_tree,
      without_scratch,          fill_p2p_tree};
  e.sums = numeric::summation::pairwise;
  return e;
}

}  // namespace diecast::sw
