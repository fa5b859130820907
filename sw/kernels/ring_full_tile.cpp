// SPDX-License-Identifier: Apache-2.0
// All-reduce by passing whole tiles round a ring: in each of N-1 rounds a PE forwards the tile it
// received in the round before and adds it to its own result. What is forwarded is the received
// tile, never the accumulator: that would count contributions twice from N = 4 on. Each rank adds
// in another order, so rounded sums may differ between ranks.
#include <array>

#include "models/abi/alignment.hpp"
#include "sw/kernels/builtin.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {
namespace ring_full_tile_kernel {

void run_ring_full_tile(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  const std::uint64_t bytes = a.count * numeric::size_of(a.type);
  const std::array<std::uint64_t, 2> tile{a.scratch, a.scratch + abi::aligned(bytes)};

  pe.copy(tile[0], a.input, bytes);
  if (a.output != a.input) pe.copy(a.output, a.input, bytes);
  for (std::uint32_t round = 0; round + 1 < a.ranks; ++round) {
    pe.step("round", round);
    const std::uint64_t forwarded = tile[round % 2];
    const std::uint64_t received = tile[(round + 1) % 2];
    pe.exchange(comm::east, forwarded, bytes, comm::west, received, bytes, pe_context::arrival::copy);
    pe.reduce(a.output, received, bytes);
  }
  pe.finish_average(a.output, bytes);
}

}  // namespace ring_full_tile_kernel

kernel_entry ring_full_tile_entry() {
  using namespace ring_full_tile_kernel;
  return {"ring_full_tile", "all_reduce", "N-1 rounds, each forwarding the whole received tile",
          "ring_1d",        any_ranks,    run_ring_full_tile,
          two_tiles,        nullptr};
}

}  // namespace diecast::sw
