// SPDX-License-Identifier: Apache-2.0
// Broadcast down two binary trees, half of the vector each: an inner node of one tree sends what it gets
// twice and is a leaf of the other, so every rank sends about as much as it receives, and no rank is farther
// from the root than the depth of a tree.
#include "models/comm/root_trees.hpp"
#include "models/comm/trees.hpp"
#include "sw/kernels/blocks.hpp"
#include "sw/kernels/builtin.hpp"

namespace diecast::sw {
namespace broadcast_trees_kernel {

using directions = std::vector<comm::direction>;

/// Words of kernel_arguments::extra: is this the root; per tree, its number of children here.
enum extra : std::size_t { is_root, first_children, second_children };

void down(pe_context& pe, std::uint32_t which, const tcm_range& half) {
  const abi::kernel_arguments& a = pe.args();
  const comm::direction parent = comm::root_tree_parent(which);
  directions children;
  for (std::int64_t i = 0; i < a.extra[first_children + which]; ++i)
    children.push_back(static_cast<comm::direction>(parent + 1 + i));
  pe.relay(a.extra[is_root] != 0 ? directions{} : directions{parent}, children, half,
           pe_context::arrival::copy);
}

void run(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  const block_vector v = a.extra[is_root] != 0 ? reduced_in_output(pe) : block_vector(pe, a.output);
  pe.step("broadcast");
  pe.run_tasks({[&] { down(pe, 0, v.part_of_whole(1, 2)); }, [&] { down(pe, 1, v.part_of_whole(0, 2)); }});
}

void fill(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const auto n = static_cast<std::uint32_t>(c.members.members.size());
  a.extra[is_root] = rank == c.root ? 1 : 0;
  for (std::uint32_t which = 0; which < 2; ++which) {
    a.extra[first_children + which] = std::ssize(comm::root_tree(rank, n, c.root, which).children);
  }
}

}  // namespace broadcast_trees_kernel

kernel_entry broadcast_trees_entry() {
  using namespace broadcast_trees_kernel;
  return {"double_binary_tree", "broadcast", "down two binary trees, half of the vector each",
          "root_trees",         any_ranks,   run,
          without_scratch,      fill};
}

}  // namespace diecast::sw
