// SPDX-License-Identifier: Apache-2.0
// The steps that ring algorithms are made of, on the output vector of the kernel's arguments.
#pragma once

#include <cstdint>
#include <functional>

#include "models/comm/install_plan.hpp"
#include "sw/kernels/elements.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {

/// Where a PE stands on a ring: `forth` leads to position + 1, `back` to position - 1.
struct ring_place {
  std::uint32_t position{};
  std::uint32_t size{1};
  comm::direction forth{comm::east};
  comm::direction back{comm::west};

  /// The same ring walked the other way round.
  [[nodiscard]] ring_place reversed() const { return {size - 1 - position, size, back, forth}; }
  /// Index of the part that is complete here after reduce_scatter.
  [[nodiscard]] std::uint32_t own() const { return (position + 1) % size; }
};

/// Reduces `range` over the ring, cut in `size` parts; this PE ends with part own() complete.
void reduce_scatter(pe_context& pe, const ring_place& ring, const elements& range);
/// Spreads the complete part own() of every PE to all.
void all_gather(pe_context& pe, const ring_place& ring, const elements& range);
/// Both, one way round; divides averages in between. Every part is reduced along one path and then copied, so
/// all PEs of the ring end with the same bits.
void all_reduce(pe_context& pe, const ring_place& ring, const elements& range);

/// Runs `lane(ring, range)` for both halves of the vector at once, the second with the ring reversed,
/// so that both directions of every link carry data.
void both_ways_round(pe_context& pe, const ring_place& ring,
                     const std::function<void(const ring_place&, const elements&)>& lane);

}  // namespace diecast::sw
