// SPDX-License-Identifier: Apache-2.0
#include "sw/kernels/ring.hpp"

namespace diecast::sw {
namespace {

/// Parts one after the other down the ring from part `first`: what is received in one step is sent in the
/// next.
std::function<tcm_range(std::uint32_t)> parts_from(pe_context& pe, const ring_place& ring,
                                                   const elements& range, std::uint32_t first) {
  return [&pe, ring, range, first](std::uint32_t k) {
    return in_output(pe, part(range, (first + ring.size - k % ring.size) % ring.size, ring.size));
  };
}

}  // namespace

void reduce_scatter(pe_context& pe, const ring_place& ring, const elements& range) {
  pe.hand_round(ring.forth, ring.back,
                {ring.size, ring.size - 1, parts_from(pe, ring, range, ring.position),
                 [&pe](std::uint32_t step) { pe.step("reduce_scatter", step); }});
}

void all_gather(pe_context& pe, const ring_place& ring, const elements& range) {
  pe.hand_round(ring.forth, ring.back,
                {ring.size, 0, parts_from(pe, ring, range, ring.own()),
                 [&pe](std::uint32_t step) { pe.step("all_gather", step); }});
}

void all_reduce(pe_context& pe, const ring_place& ring, const elements& range) {
  if (ring.size == 1) return finish_average(pe, range);
  const std::uint32_t steps = ring.size - 1;  // of each half; the last sums are the first results to go round
  const auto begins = [&pe, steps](std::uint32_t step) {
    pe.step(step < steps ? "reduce_scatter" : "all_gather", step % steps);
  };
  pe.hand_round(ring.forth, ring.back,
                {2 * steps + 1, steps, parts_from(pe, ring, range, ring.position), begins, true});
}

void both_ways_round(pe_context& pe, const ring_place& ring,
                     const std::function<void(const ring_place&, const elements&)>& lane) {
  const elements whole{0, pe.args().count};
  const elements first = part(whole, 1, 2);  // the larger half when the count is odd
  const elements second = part(whole, 0, 2);
  pe.run_tasks({[&] { lane(ring, first); }, [&] { lane(ring.reversed(), second); }});
}

}  // namespace diecast::sw
