// SPDX-License-Identifier: Apache-2.0
// An order in which the PEs of a cube are a ring on its mesh of routers, so that few flows share a link.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace diecast::comm {

/// PEs stand for their numbers, from 0.
struct ring_task {
  std::uint32_t columns{1};            ///< columns of the mesh
  std::vector<std::uint32_t> routers;  ///< by PE, row by row; several PEs may share one
  bool pairs{};  ///< PEs 2i and 2i + 1 are a pair, and the halves of the ring (halves_of) count, too
};

struct found_ring {
  std::vector<std::uint32_t> order;
  std::uint32_t cost{};
  std::uint64_t steps{};  ///< flows and links that the search has examined, each as often as it did
};
/// A search looks at no more, but for the ring at hand: a third of a second or so. With up to 32 PEs it ends
/// below a quarter of that.
inline constexpr std::uint64_t most_ring_steps = 10'000'000;

/// Reverses and swaps what makes the ring better until nothing does, from the order of numbers; where that
/// would take more than half of the steps, from a row after the other as well, and takes the better of both.
/// Equal tasks, equal rings.
[[nodiscard]] found_ring search_ring(const ring_task& task);

/// What the search makes small: links of flows of several PEs, which count more than any number of hops, and
/// hops. Of the ring both ways count, of the halves one.
[[nodiscard]] std::uint32_t ring_cost(const ring_task& task, const std::vector<std::uint32_t>& ring);

/// The PEs of each pair in turn: where the ring meets one first, the next pair has it last. So both rings
/// have short ways.
[[nodiscard]] std::array<std::vector<std::uint32_t>, 2> halves_of(const std::vector<std::uint32_t>& ring);

}  // namespace diecast::comm
