// SPDX-License-Identifier: Apache-2.0
// All-to-all on a line, a mesh of lines or a SIP of cubes: in which order everybody meets everybody, so that
// in no step more flows than must cross a link at once.
#pragma once

#include <cstdint>
#include <vector>

#include "models/comm/rank_grid.hpp"

namespace diecast::comm {

/// line_steps(n)[s][x]: whom place x of a line of n sends to in step s, 0 to n - 1. Every step is a
/// permutation and every place meets every place once, itself included. The cut between places c - 1 and c is
/// crossed c (n - c) times each way: up to most_searched places, never by more flows in a step than the
/// rounded-up mean (one, for 4 places), or by a few more where there is no such order or it is not found;
/// longer lines go by distance.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> line_steps(std::uint32_t places);
inline constexpr std::uint32_t most_searched = 8;

/// Steps that a rank's sends may be ahead of its receives.
inline constexpr std::uint32_t most_steps_ahead = 6;

/// Whom a rank sends to and hears from in a step.
struct step_partners {
  std::uint32_t to{}, from{};
};
/// By step: line_steps along x and along y, every pair of them once. Packets go along x first, so that the
/// flows of a step meet on a row or column only as those of one line do.
[[nodiscard]] std::vector<step_partners> grid_steps(const rank_grid& g, std::uint32_t rank);

}  // namespace diecast::comm
