// SPDX-License-Identifier: Apache-2.0
// Start times of the steps of an all-to-all over the cubes of a SIP, so that flows of two steps hardly share
// links.
#pragma once

#include <cstdint>
#include <optional>

#include "models/comm/line_steps.hpp"
#include "models/comm/patterns.hpp"
#include "models/types/time.hpp"

namespace diecast::comm {

/// What the network interface carries in the time of a step beside the blocks that are sent and received.
enum class step_load : std::uint8_t {
  blocks,  ///< nothing
  chunks,  ///< copies between HBM and chunks in TCM
  tensors  ///< the same blocks on their way out of HBM and into it
};

/// What a step of grid_steps takes on the machine: as long as its bytes need on the network interface or
/// a link between cubes, whichever is slower, and then for most of the time by which its flows may be later
/// on a link than those of the next step. With tensors in HBM the interface has to carry copies, too.
struct step_times {
  sim_time packet;  ///< a full one, where it takes longest
  sim_time wait;    ///< after each step
  sim_time way;     ///< idle latency of a packet between the farthest ranks
};

/// Fewest steps worth a timetable: in its own step a rank waits.
inline constexpr std::uint32_t fewest_timed_steps = 8;
/// Fewest timed ranks where a link between cubes is slower than the network interface. Fewer keep their links
/// as busy without waiting (measured, docs/adr/0058).
inline constexpr std::uint32_t fewest_timed_on_slow_links = 16;

/// Steps of a group, in their order. There are times for ranks that are the only ones of their cubes, in one
/// SIP, where steps fill a link (grid_steps::fill_a_link); elsewhere links have room for flows that meet.
struct step_timetable {
  /// Throws user_error when the members do not fill a rectangle.
  step_timetable(const pattern_context& c, step_load load);
  step_timetable(const step_timetable&) = delete;
  step_timetable& operator=(const step_timetable&) = delete;

  rank_grid grid;
  grid_steps steps;
  std::optional<step_times> times;
};

/// Its times; none either where the members fill no rectangle.
[[nodiscard]] std::optional<step_times> step_times_of(const pattern_context& c, step_load load);

}  // namespace diecast::comm
