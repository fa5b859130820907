// SPDX-License-Identifier: Apache-2.0
// All-gather. ring_1d: every block goes round the ring, half of it in each direction, n-1 rounds. bruck: in
// round k every rank sends the min(2^k, n - 2^k) blocks it got last to rank + 2^k; ceil(log2 n) rounds for
// any n (J. Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing
// systems", IEEE TPDS 8(11), 1997); blocks are received at their final places, without rotation.
#include <algorithm>
#include <array>

#include "models/abi/address.hpp"
#include "sw/collectives/base/blocks.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/base/peer_patterns.hpp"

namespace diecast::sw {
namespace all_gather_kernel {

using arrival = pe_context::arrival;

/// One direction round, of half of every block: `direction` is +1 where blocks travel to the next position,
/// -1 to the one before. All blocks that arrive are passed on except the last one, which all ranks have.
pe_context::pipeline gather_pipeline(pe_context& pe, const block_vector& v,
                                     const std::vector<std::uint32_t>& ring, std::int64_t direction,
                                     std::uint64_t half) {
  std::vector<pe_context::stage> received;
  for (std::uint32_t s = 1; s < v.blocks(); ++s) {
    const tcm_range r = v.part_of_block(ring[around(0, -direction * s, v.blocks())], half, 2);
    received.push_back({r.at, r.bytes, arrival::copy});
  }
  const tcm_range own = v.part_of_block(pe.args().rank, half, 2);
  pe_context::pipeline pipeline = ring_pipeline(direction);
  add_pass(pipeline, {own.at, own.bytes}, received);
  return pipeline;
}

void run_ring(pe_context& pe) {
  const block_vector v = gathered_in_output(pe);
  if (v.blocks() == 1) return;
  const std::vector<std::uint32_t> ring = ring_from_image(pe, v.blocks());
  const auto pipeline = [&](std::int64_t dir) { return gather_pipeline(pe, v, ring, dir, dir > 0 ? 1 : 0); };
  pe.last_stream(pipelines_both_directions(pipeline), "all_gather");
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

std::uint64_t gather_scratch(const argument_context& c) {
  return ring_image_words(c) * sizeof(std::uint64_t);
}

}  // namespace all_gather_kernel

// Reduce-scatter. ring_1d: partial sums of every block go round the ring to its owner, half of the block
// in each direction, n-1 rounds. recursive_halving: the reverse of all_gather bruck: in round k =
// ceil(log2 n)
// - 1 ... 0 every rank sends the partial sums of the min(2^k, n - 2^k) blocks from rank + 2^k on to
// that rank; ceil(log2 n) rounds for any n, every block crosses n-1 links in all (J. L. Traff, "Optimal,
// non-pipelined reduce-scatter and allreduce algorithms", 2024, on circulant graphs). pairwise: n-1
// rounds, in round s every rank sends its contribution to the block of rank + s straight to that rank.

namespace reduce_scatter_kernel {

using arrival = pe_context::arrival;

/// Half of every block, in one direction: the first partial sum sent is of the block of the previous
/// position, the last one received is of this rank's own.
pe_context::pipeline scatter_pipeline(const block_vector& v, const std::vector<std::uint32_t>& ring,
                                      std::int64_t direction, std::uint64_t half) {
  const auto block_of = [&](std::int64_t distance) {
    return v.part_of_block(ring[around(0, distance, v.blocks())], half, 2);
  };
  std::vector<pe_context::stage> received;
  for (std::uint32_t s = 2; s <= v.blocks(); ++s) {
    const tcm_range r = block_of(-direction * s);
    received.push_back({r.at, r.bytes, arrival::reduce});
  }
  const tcm_range first = block_of(-direction);
  pe_context::pipeline pipeline = ring_pipeline(direction);
  add_pass(pipeline, {first.at, first.bytes}, received);
  return pipeline;
}

void run_ring(pe_context& pe) {
  const block_vector v = scattered_from_input(pe);
  if (v.blocks() > 1) {
    const std::vector<std::uint32_t> ring = ring_from_image(pe, v.blocks());
    const auto pipeline = [&](std::int64_t dir) { return scatter_pipeline(v, ring, dir, dir > 0 ? 1 : 0); };
    pe.last_stream(pipelines_both_directions(pipeline), "reduce_scatter");
  }
  deliver_own_sum(pe, v);
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
  deliver_own_sum(pe, v);
}

void run_pairwise(pe_context& pe) {
  const block_vector v = scattered_from_input(pe);
  const std::uint32_t n = v.blocks();
  const std::uint32_t rank = pe.args().rank;
  for (std::uint32_t s = 1; s < n; ++s) {
    pe.step("reduce_scatter", s - 1);
    pe.exchange(comm::ahead(s), v.block(around(rank, s, n)), comm::ahead(n - s), v.block(rank),
                arrival::reduce);
  }
  deliver_own_sum(pe, v);
}

std::uint64_t ring_scratch(const argument_context& c) { return scatter_scratch(c, ring_image_words(c)); }
std::uint64_t plain_scratch(const argument_context& c) { return scatter_scratch(c, 0); }

void fill_ring(const argument_context& c, std::uint32_t, abi::kernel_arguments& a) {
  fill_scatter(ring_image_words(c), a);
}

}  // namespace reduce_scatter_kernel

// Every rank sends its vector to the next rank and receives that of the rank before, cyclically. direct:
// over a queue pair to each. ring_1d: over the ring of neighbors, whose order is not that of the ranks:
// all vectors move on together until each has reached its rank.

namespace send_recv_kernel {

using arrival = pe_context::arrival;

struct parameters {
  std::uint32_t rounds{}, arrival_round{};  ///< all rounds, and the one in which this rank's vector arrives
};

void copy(pe_context& pe, std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  if (bytes > 0) pe.copy(to, from, bytes);
}

void run_direct(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  const std::uint64_t bytes = a.count * numeric::size_of(a.type);
  pe.step("send_recv");
  if (a.ranks == 1) return copy(pe, a.output, a.input, bytes);
  pe.exchange(comm::shift_next, {a.input, bytes}, comm::shift_last, {a.output, bytes}, arrival::copy);
}

void run_ring(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  const std::uint64_t bytes = a.count * numeric::size_of(a.type);
  const std::array<std::uint64_t, 2> tile{a.scratch, a.scratch + abi::aligned(bytes)};
  if (a.ranks == 1) return copy(pe, a.output, a.input, bytes);
  std::uint64_t held = a.input;
  const auto own = a.own.get<parameters>();
  for (std::uint32_t round = 1; round <= own.rounds; ++round) {
    pe.step("send_recv", round - 1);
    const std::uint64_t next = tile[round % 2];
    pe.exchange(comm::east, {held, bytes}, comm::west, {next, bytes}, arrival::copy);
    held = next;
    if (round == own.arrival_round) copy(pe, a.output, held, bytes);
  }
}

void fill_ring(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const std::uint32_t n = ranks_of(c);
  const std::vector<std::uint32_t>& position = ring_positions(c);
  const auto distance = [&](std::uint32_t r) { return (position[r] + n - position[(r + n - 1) % n]) % n; };
  std::uint32_t most = 0;
  for (std::uint32_t r = 0; r < n; ++r) most = std::max(most, distance(r));
  a.own.set(parameters{most, distance(rank)});
}

}  // namespace send_recv_kernel

kernel_table block_exchange_kernels() {
  return {
      {"ring_1d", "reduce_scatter", "partial sums of every block round the ring, half of it each way",
       "ring_1d", any_ranks, reduce_scatter_kernel::run_ring, reduce_scatter_kernel::ring_scratch,
       reduce_scatter_kernel::fill_ring, ring_image},
      {"recursive_halving", "reduce_scatter",
       "half the blocks to half the distance in every round, any number of ranks", "circulant_unidir",
       any_ranks, reduce_scatter_kernel::run_halving, reduce_scatter_kernel::plain_scratch, nullptr},
      {"pairwise", "reduce_scatter", "every block directly to its owner, one partner per round", "pairwise",
       any_ranks, reduce_scatter_kernel::run_pairwise, reduce_scatter_kernel::plain_scratch, nullptr},
      {"ring_1d", "all_gather", "every block round the ring, half of it each way", "ring_1d", any_ranks,
       all_gather_kernel::run_ring, all_gather_kernel::gather_scratch, nullptr, ring_image},
      {"bruck", "all_gather", "twice the blocks to twice the distance in every round, any number of ranks",
       "circulant_unidir", any_ranks, all_gather_kernel::run_bruck, without_scratch, nullptr},
      {"direct", "send_recv", "directly to the next rank", "shift", any_ranks, send_recv_kernel::run_direct,
       without_scratch, nullptr},
      {"ring_1d", "send_recv", "round the ring of neighbors, all vectors together, until each is there",
       "ring_1d", any_ranks, send_recv_kernel::run_ring, two_tiles, send_recv_kernel::fill_ring}};
}

}  // namespace diecast::sw
