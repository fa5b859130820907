// SPDX-License-Identifier: Apache-2.0
#include "sw/kernels/kernel_table.hpp"

#include "sw/kernels/builtin.hpp"
#include "sw/runtime/pe_context.hpp"
#include "sw/runtime/pe_runtime.hpp"

namespace diecast::sw {

kernel_table builtin_kernels() {
  return {ring_1d_entry(), ring_1d_unidir_entry(), ring_full_tile_entry(), intercube_entry()};
}

void run_kernel(const kernel_entry& kernel, abi::hal& hal, const abi::kernel_arguments& arguments,
                const runtime_options& options) {
  pe_runtime runtime{hal, options};
  runtime.begin();
  pe_context pe{runtime, arguments, {}};
  kernel.run(pe);
  pe.finish();
}

std::uint64_t vector_bytes(const argument_context& c) { return c.count * numeric::size_of(c.type); }

std::uint32_t ring_position(const argument_context& c, std::uint32_t rank) {
  if (c.ring_positions.size() != c.members.members.size()) {
    const std::vector<std::uint32_t> order = comm::ring_order(c.shape, c.members);
    c.ring_positions.resize(order.size());
    for (std::uint32_t position = 0; position < order.size(); ++position) {
      c.ring_positions[order[position]] = position;
    }
  }
  return c.ring_positions.at(rank);
}

}  // namespace diecast::sw
