// SPDX-License-Identifier: Apache-2.0
#include "sw/kernels/ring.hpp"

#include <algorithm>
#include <functional>

#include "sw/kernels/blocks.hpp"

namespace diecast::sw {
namespace {

using arrival = pe_context::arrival;

/// Parts one after the other down the ring from part `first`: what is received in one step is sent in the
/// next. Step k receives as how(k), for k in [1, steps].
pe_context::lane lane_of(pe_context& pe, const ring_share& s, std::uint32_t first, std::uint32_t steps,
                         const std::function<arrival(std::uint32_t)>& how) {
  const std::uint32_t n = s.ring.size;
  const auto part_at = [&](std::uint32_t k) {
    return in_output(pe, part(s.range, (first + n - k % n) % n, n));
  };
  std::vector<pe_context::stage> received;
  for (std::uint32_t k = 1; k <= steps; ++k) received.push_back({part_at(k).at, part_at(k).bytes, how(k)});
  pe_context::lane lane;
  lane.send = {s.ring.forth};
  lane.recv = {s.ring.back};
  add_pass(lane, {part_at(0).at, part_at(0).bytes}, received);
  return lane;
}

/// A lane for each share whose ring has more than one member.
template <class Make>
std::vector<pe_context::lane> lanes_of(const ring_shares& shares, const Make& make) {
  std::vector<pe_context::lane> lanes;
  for (const ring_share& s : shares) {
    if (s.ring.size > 1) lanes.push_back(make(s));
  }
  return lanes;
}

}  // namespace

ring_shares both_directions(const ring_place& ring, const elements& range) {
  return {{ring, part(range, 1, 2)}, {ring.reversed(), part(range, 0, 2)}};
}

void reduce_scatter(pe_context& pe, const ring_shares& shares) {
  const auto reduced = [](std::uint32_t) { return arrival::reduce; };
  pe.stream(lanes_of(shares,
                     [&](const ring_share& s) {
                       return lane_of(pe, s, s.ring.position, s.ring.size - 1, reduced);
                     }),
            "reduce_scatter");
}

void all_gather(pe_context& pe, const ring_shares& shares) {
  const auto copied = [](std::uint32_t) { return arrival::copy; };
  pe.stream(
      lanes_of(shares,
               [&](const ring_share& s) { return lane_of(pe, s, s.ring.own(), s.ring.size - 1, copied); }),
      "all_gather");
}

void all_reduce(pe_context& pe, const ring_shares& shares) {
  std::uint32_t longest = 0;  // steps of each half
  for (const ring_share& s : shares) {
    longest = std::max(longest, s.ring.size - 1);
    if (s.ring.size == 1) finish_average(pe, s.range);
  }
  const auto lane = [&pe](const ring_share& s) {
    const std::uint32_t steps = s.ring.size - 1;
    // The last sums are the first results to go round.
    const auto how = [steps](std::uint32_t k) {
      return k < steps ? arrival::reduce : k == steps ? arrival::complete : arrival::copy;
    };
    return lane_of(pe, s, s.ring.position, 2 * steps, how);
  };
  pe.stream(lanes_of(shares, lane), [&pe, longest](std::uint32_t step) {
    pe.step(step < longest ? "reduce_scatter" : "all_gather", step % longest);
  });
}

}  // namespace diecast::sw
