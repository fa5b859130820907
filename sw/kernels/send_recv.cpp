// SPDX-License-Identifier: Apache-2.0
// Every rank sends its vector to the next rank and receives that of the rank before, cyclically. direct:
// over a queue pair to each. ring_1d: over the ring of neighbors, whose order is not that of the ranks:
// all vectors move on together until each has come to its rank.
#include <algorithm>
#include <array>

#include "models/abi/alignment.hpp"
#include "models/comm/peer_patterns.hpp"
#include "sw/kernels/blocks.hpp"
#include "sw/kernels/builtin.hpp"

namespace diecast::sw {
namespace send_recv_kernel {

using arrival = pe_context::arrival;

/// Words of kernel_arguments::extra: rounds of all, and the round in which this rank's vector comes.
enum extra : std::size_t { rounds, arrival_round };

void copy(pe_context& pe, std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  if (bytes > 0) pe.copy(to, from, bytes);
}

void run_direct(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  const std::uint64_t bytes = a.count * numeric::size_of(a.type);
  pe.step("send_recv");
  if (a.ranks == 1) return copy(pe, a.output, a.input, bytes);
  pe.exchange(comm::shift_next, a.input, bytes, comm::shift_last, a.output, bytes, arrival::copy);
}

void run_ring(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  const std::uint64_t bytes = a.count * numeric::size_of(a.type);
  const std::array<std::uint64_t, 2> tile{a.scratch, a.scratch + abi::aligned(bytes)};
  if (a.ranks == 1) return copy(pe, a.output, a.input, bytes);
  std::uint64_t held = a.input;
  for (std::int64_t round = 1; round <= a.extra[rounds]; ++round) {
    pe.step("send_recv", static_cast<std::uint32_t>(round - 1));
    const std::uint64_t next = tile[static_cast<std::size_t>(round % 2)];
    pe.exchange(comm::east, held, bytes, comm::west, next, bytes, arrival::copy);
    held = next;
    if (round == a.extra[arrival_round]) copy(pe, a.output, held, bytes);
  }
}

void fill_ring(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const auto n = static_cast<std::uint32_t>(c.members.members.size());
  const auto distance = [&](std::uint32_t r) {
    return (ring_position(c, r) + n - ring_position(c, (r + n - 1) % n)) % n;
  };
  std::uint32_t most = 0;
  for (std::uint32_t r = 0; r < n; ++r) most = std::max(most, distance(r));
  a.extra[rounds] = most;
  a.extra[arrival_round] = distance(rank);
}

}  // namespace send_recv_kernel

kernel_entry send_recv_direct_entry() {
  using namespace send_recv_kernel;
  return {"direct",        "send_recv", "directly to the next rank", "shift", any_ranks, run_direct,
          without_scratch, nullptr};
}

kernel_entry send_recv_ring_entry() {
  using namespace send_recv_kernel;
  return {"ring_1d", "send_recv", "round the ring of neighbors, all vectors together, until each is there",
          "ring_1d", any_ranks,   run_ring,
          two_tiles, fill_ring};
}

}  // namespace diecast::sw
