// SPDX-License-Identifier: Apache-2.0
// Gather and scatter. binomial: subtrees of the binomial tree are consecutive blocks, so every edge
// carries one run of blocks; ceil(log2 n) hops. linear: the root exchanges with every rank directly.
#include "sw/kernels/blocks.hpp"
#include "sw/kernels/builtin.hpp"
#include "sw/kernels/tree.hpp"

namespace diecast::sw {
namespace gather_scatter_kernel {

using arrival = pe_context::arrival;

constexpr std::size_t extra_root = 0;

std::uint32_t root_of(const abi::kernel_arguments& a) {
  return static_cast<std::uint32_t>(a.extra[extra_root]);
}

void receive(pe_context& pe, comm::direction dir, const std::array<tcm_range, 2>& ranges) {
  for (const tcm_range& r : ranges) pe.recv_all(dir, r.at, r.bytes, arrival::copy);
}
void send(pe_context& pe, comm::direction dir, const std::array<tcm_range, 2>& ranges) {
  for (const tcm_range& r : ranges) pe.send_all(dir, r.at, r.bytes);
}

void run_gather_binomial(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  const block_vector v = gathered_in_output(pe);
  const binomial_place place(a.rank, a.ranks, root_of(a));
  for (const std::uint32_t k : place.child_levels()) {
    pe.step("gather", k);
    receive(pe, comm::up(k),
            v.blocks_from(around(a.rank, std::int64_t{1} << k, a.ranks), place.size_of_child(k)));
  }
  if (!place.is_root()) send(pe, place.parent(), v.blocks_from(a.rank, place.size()));
}

void run_scatter_binomial(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  const block_vector v(pe, a.input);
  const binomial_place place(a.rank, a.ranks, root_of(a));
  if (!place.is_root()) receive(pe, place.parent(), v.blocks_from(a.rank, place.size()));
  const std::vector<std::uint32_t> levels = place.child_levels();
  for (auto k = levels.rbegin(); k != levels.rend(); ++k) {  // the largest subtree first
    pe.step("scatter", *k);
    send(pe, comm::up(*k),
         v.blocks_from(around(a.rank, std::int64_t{1} << *k, a.ranks), place.size_of_child(*k)));
  }
  deliver_own_block(pe, v);
}

void run_gather_linear(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  const std::uint32_t root = root_of(a);
  pe.step("gather");
  if (a.rank != root) {
    pe.send_all(comm::star_root, a.input, block_vector(pe, a.output).block(a.rank).bytes);
    return;
  }
  const block_vector v = gathered_in_output(pe);
  for (std::uint32_t d = 1; d < a.ranks; ++d) {
    const tcm_range block = v.block(around(root, d, a.ranks));
    pe.recv_all(comm::star_spoke(d), block.at, block.bytes, arrival::copy);
  }
}

void run_scatter_linear(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  const std::uint32_t root = root_of(a);
  const block_vector v(pe, a.input);
  pe.step("scatter");
  if (a.rank != root) {
    pe.recv_all(comm::star_root, a.output, v.block(a.rank).bytes, arrival::copy);
    return;
  }
  for (std::uint32_t d = 1; d < a.ranks; ++d) {
    const tcm_range block = v.block(around(root, d, a.ranks));
    pe.send_all(comm::star_spoke(d), block.at, block.bytes);
  }
  deliver_own_block(pe, v);
}

void fill(const argument_context& c, std::uint32_t, abi::kernel_arguments& a) {
  a.extra[extra_root] = c.root;
}

kernel_entry entry(const char* name, const char* collective, const char* description, const char* pattern,
                   void (*run)(pe_context&)) {
  return {name, collective, description, pattern, any_ranks, run, without_scratch, fill};
}

}  // namespace gather_scatter_kernel

kernel_entry gather_binomial_entry() {
  using namespace gather_scatter_kernel;
  return entry("binomial", "gather", "up the binomial tree of the root, runs of blocks", "circulant",
               run_gather_binomial);
}
kernel_entry gather_linear_entry() {
  using namespace gather_scatter_kernel;
  return entry("linear", "gather", "every rank directly to the root", "star", run_gather_linear);
}
kernel_entry scatter_binomial_entry() {
  using namespace gather_scatter_kernel;
  return entry("binomial", "scatter", "down the binomial tree of the root, runs of blocks", "circulant",
               run_scatter_binomial);
}
kernel_entry scatter_linear_entry() {
  using namespace gather_scatter_kernel;
  return entry("linear", "scatter", "the root directly to every rank", "star", run_scatter_linear);
}

}  // namespace diecast::sw
