// SPDX-License-Identifier: Apache-2.0
// Reduce-scatter. ring_1d: partial sums of every block go round the ring to its owner, half of the block
// each way, n-1 rounds. recursive_halving: the mirror image of all_gather bruck: in round k = ceil(log2 n)
// - 1 ... 0 every rank sends the partial sums of the min(2^k, n - 2^k) blocks from rank + 2^k on to
// that rank; ceil(log2 n) rounds for any n, every block crosses n-1 links in all (J. L. Traff, "Optimal,
// non-pipelined reduce-scatter and allreduce algorithms", 2024, on circulant graphs). pairwise: n-1
// rounds, in round s every rank sends its contribution to the block of rank + s straight to that rank.
#include <algorithm>

#include "models/comm/peer_patterns.hpp"
#include "sw/kernels/blocks.hpp"
#include "sw/kernels/builtin.hpp"

namespace diecast::sw {
namespace reduce_scatter_kernel {

using arrival = pe_context::arrival;

void end_in_output(pe_context& pe, const block_vector& v) {
  deliver_own_block(pe, v);
  pe.finish_average(pe.args().output, v.block(pe.args().rank).bytes);
}

/// Half of every block, one way round: the first partial sum sent is of the block of the position behind,
/// the last one received is of this rank's own.
pe_context::lane scatter_lane(const block_vector& v, const std::vector<std::uint32_t>& ring, std::int64_t way,
                              std::uint64_t half) {
  const auto block_of = [&](std::int64_t distance) {
    return v.part_of_block(ring[around(0, distance, v.blocks())], half, 2);
  };
  std::vector<pe_context::stage> received;
  for (std::uint32_t s = 2; s <= v.blocks(); ++s) {
    const tcm_range r = block_of(-way * s);
    received.push_back({r.at, r.bytes, arrival::reduce});
  }
  const tcm_range first = block_of(-way);
  pe_context::lane lane = ring_lane(way);
  add_pass(lane, {first.at, first.bytes}, received);
  return lane;
}

void run_ring(pe_context& pe) {
  const block_vector v = scattered_from_input(pe);
  if (v.blocks() > 1) {
    const std::vector<std::uint32_t> ring = ring_from_image(pe, v.blocks());
    const auto lane = [&](std::int64_t way) { return scatter_lane(v, ring, way, way > 0 ? 1 : 0); };
    pe.last_stream(lanes_both_ways(lane), "reduce_scatter");
  }
  end_in_output(pe, v);
}

void run_halving(pe_context& pe) {
  const block_vector v = scattered_from_input(pe);
  const std::uint32_t n = v.blocks();
  const std::uint32_t rank = pe.args().rank;
  for (std::uint32_t k = comm::circulant_levels(n); k-- > 0;) {
    pe.step("reduce_scatter", k);
    const std::uint32_t step = std::uint32_t{1} << k;
    const std::uint32_t blocks = std::min(step, n - step);
    exchange(pe, comm::up(k), v.blocks_from(around(rank, step, n), blocks), comm::down(k),
             v.blocks_from(rank, blocks), arrival::reduce);
  }
  end_in_output(pe, v);
}

void run_pairwise(pe_context& pe) {
  const block_vector v = scattered_from_input(pe);
  const std::uint32_t n = v.blocks();
  const std::uint32_t rank = pe.args().rank;
  for (std::uint32_t s = 1; s < n; ++s) {
    pe.step("reduce_scatter", s - 1);
    exchange(pe, comm::ahead(s), v.block(around(rank, s, n)), comm::ahead(n - s), v.block(rank),
             arrival::reduce);
  }
  end_in_output(pe, v);
}

std::uint64_t ring_scratch(const argument_context& c) { return scatter_scratch(c, ring_image_words(c)); }
std::uint64_t plain_scratch(const argument_context& c) { return scatter_scratch(c, 0); }

void fill_ring(const argument_context& c, std::uint32_t, abi::kernel_arguments& a) {
  fill_scatter(c, ring_image_words(c), a);
}
void fill_plain(const argument_context& c, std::uint32_t, abi::kernel_arguments& a) { fill_scatter(c, 0, a); }

}  // namespace reduce_scatter_kernel

kernel_entry reduce_scatter_ring_entry() {
  using namespace reduce_scatter_kernel;
  return {"ring_1d",    "reduce_scatter", "partial sums of every block round the ring, half of it each way",
          "ring_1d",    any_ranks,        run_ring,
          ring_scratch, fill_ring,        ring_image};
}

kernel_entry reduce_scatter_halving_entry() {
  using namespace reduce_scatter_kernel;
  return {"recursive_halving",
          "reduce_scatter",
          "half the blocks to half the distance in every round, any number of ranks",
          "circulant_unidir",
          any_ranks,
          run_halving,
          plain_scratch,
          fill_plain};
}

kernel_entry reduce_scatter_pairwise_entry() {
  using namespace reduce_scatter_kernel;
  return {"pairwise",    "reduce_scatter", "every block directly to its owner, one partner per round",
          "pairwise",    any_ranks,        run_pairwise,
          plain_scratch, fill_plain};
}

}  // namespace diecast::sw
