// SPDX-License-Identifier: Apache-2.0
// All-gather. ring_1d: every block goes round the ring, half of it each way, n-1 rounds. bruck: in round
// k every rank sends the min(2^k, n - 2^k) blocks it got last to rank + 2^k; ceil(log2 n) rounds for any n
// (J. Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing
// systems", IEEE TPDS 8(11), 1997); blocks are received where they belong, so nothing is rotated.
#include <algorithm>

#include "models/comm/peer_patterns.hpp"
#include "sw/kernels/blocks.hpp"
#include "sw/kernels/builtin.hpp"

namespace diecast::sw {
namespace all_gather_kernel {

using arrival = pe_context::arrival;

/// One way round, of half of every block: `way` is +1 where blocks travel to the next position, -1 to the
/// one before. What arrives is passed on, but for the last block, which has been everywhere.
pe_context::lane gather_lane(pe_context& pe, const block_vector& v, const std::vector<std::uint32_t>& ring,
                             std::int64_t way, std::uint64_t half) {
  std::vector<pe_context::stage> received;
  for (std::uint32_t s = 1; s < v.blocks(); ++s) {
    const tcm_range r = v.part_of_block(ring[around(0, -way * s, v.blocks())], half, 2);
    received.push_back({r.at, r.bytes, arrival::copy});
  }
  const tcm_range own = v.part_of_block(pe.args().rank, half, 2);
  pe_context::lane lane = ring_lane(way);
  add_pass(lane, {own.at, own.bytes}, received);
  return lane;
}

void run_ring(pe_context& pe) {
  const block_vector v = gathered_in_output(pe);
  if (v.blocks() == 1) return;
  const std::vector<std::uint32_t> ring = ring_from_image(pe, v.blocks());
  const auto lane = [&](std::int64_t way) { return gather_lane(pe, v, ring, way, way > 0 ? 1 : 0); };
  pe.last_stream(lanes_both_ways(lane), "all_gather");
}

void run_bruck(pe_context& pe) {
  const block_vector v = gathered_in_output(pe);
  const std::uint32_t n = v.blocks();
  const std::uint32_t rank = pe.args().rank;
  for (std::uint32_t k = 0; k < comm::circulant_levels(n); ++k) {
    pe.step("all_gather", k);
    const std::uint32_t step = std::uint32_t{1} << k;
    const std::uint32_t blocks = std::min(step, n - step);
    const std::uint32_t newest_of_sender = around(rank, -std::int64_t{step}, n);
    exchange(pe, comm::up(k), v.blocks_from(around(rank, 1 - std::int64_t{blocks}, n), blocks), comm::down(k),
             v.blocks_from(around(newest_of_sender, 1 - std::int64_t{blocks}, n), blocks), arrival::copy);
  }
}

std::uint64_t ring_scratch(const argument_context& c) { return ring_image_words(c) * sizeof(std::uint64_t); }

}  // namespace all_gather_kernel

kernel_entry all_gather_ring_entry() {
  using namespace all_gather_kernel;
  return {"ring_1d",    "all_gather", "every block round the ring, half of it each way",
          "ring_1d",    any_ranks,    run_ring,
          ring_scratch, nullptr,      ring_image};
}

kernel_entry all_gather_bruck_entry() {
  using namespace all_gather_kernel;
  return {"bruck",
          "all_gather",
          "twice the blocks to twice the distance in every round, any number of ranks",
          "circulant_unidir",
          any_ranks,
          run_bruck,
          without_scratch,
          nullptr};
}

}  // namespace diecast::sw
