// SPDX-License-Identifier: Apache-2.0
// All-to-all in steps: the pairs of each step, and its start.
//
// All-to-all on a line, a mesh of lines or a SIP of cubes: an order of the pairs of ranks in which no step
// puts more flows on a link than necessary.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/comm/patterns.hpp"
#include "models/types/time.hpp"
#include "sw/collectives/base/member_levels.hpp"

namespace diecast::comm {

/// line_steps(n)[s][x]: the destination of place x of a line of n in step s, 0 to n - 1. Every step is a
/// permutation, and every place sends to every place once, itself included. The cut between places c - 1 and
/// c is crossed c (n - c) times in each direction: up to most_searched places, never by more flows in a step
/// than the rounded-up mean (one, for 4 places), or by a few more where there is no such order or it is not
/// found; longer lines are ordered by distance. If possible, a step is its own mirror image.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> line_steps(std::uint32_t places);
inline constexpr std::uint32_t most_searched = 8;

/// Steps that a rank's sends may be ahead of its receives.
inline constexpr std::uint32_t most_steps_ahead = 6;

/// The ranks that a rank sends to and receives from in a step.
struct step_partners {
  std::uint32_t to{}, from{};
};

/// Steps of a grid, line_steps along x and along y, every pair of them once. Packets go along x first, so
/// that the flows of a step share links of a row or column only as those of one line do.
///
/// Flows of two consecutive steps overlap on a link where the earlier one has the longer path: it still uses
/// the link, for the difference, when the later one arrives. In grids of up to most_ordered steps the order
/// of steps keeps this small.
class grid_steps {
 public:
  explicit grid_steps(const rank_grid& g);

  /// By step.
  [[nodiscard]] std::vector<step_partners> of(std::uint32_t rank) const;
  /// Steps are in such an order, and some link has a flow in each: links are busier than ranks.
  [[nodiscard]] bool fill_a_link() const { return fills_; }
  /// The largest delay of a flow on a link after one of the next step, in links between neighbors. None where
  /// two flows of one step share a link, or there are too many steps to order.
  [[nodiscard]] std::optional<std::uint32_t> crossings_to_wait() const { return to_wait_; }

 private:
  using step = std::array<std::uint32_t, 2>;  ///< indices into along_x_ and along_y_

  /// Order of steps of which no two flows share a link; else empty.
  struct sequence {
    std::vector<std::uint32_t> order;      ///< places in steps_
    bool fills{};                          ///< fill_a_link()
    std::optional<std::uint32_t> to_wait;  ///< crossings_to_wait()
  };
  [[nodiscard]] sequence search() const;
  void order();

  const rank_grid& grid_;
  std::vector<std::vector<std::uint32_t>> along_x_, along_y_;
  std::vector<step> steps_;
  bool fills_{};
  std::optional<std::uint32_t> to_wait_;
};
inline constexpr std::uint32_t most_ordered = 16;

// Start times of the steps of an all-to-all over the cubes of a SIP, so that flows of two steps rarely share
// links.

/// Load of the network interface in a step in addition to the blocks that are sent and received.
enum class step_load : std::uint8_t {
  blocks,  ///< nothing
  chunks,  ///< copies between HBM and chunks in TCM
  tensors  ///< the blocks again, out of HBM and into it
};

/// Time of a step of grid_steps on the machine: that of its bytes on the network interface or a link between
/// cubes, whichever is slower, and most of the delay by which its flows may still use a link when those of
/// the next step begin. With tensors in HBM the interface has to carry copies, too.
struct step_times {
  sim_time packet;  ///< a full one on the slowest link
  sim_time wait;    ///< waiting time after each step
  sim_time idle;    ///< idle latency of a packet between the farthest ranks
};

/// Fewest steps for which a schedule is used: in its own step a rank waits.
inline constexpr std::uint32_t fewest_timed_steps = 8;
/// Fewest timed ranks where a link between cubes is slower than the network interface. Fewer keep their links
/// as busy without waiting (measured, docs/adr/0058).
inline constexpr std::uint32_t fewest_timed_on_slow_links = 16;

/// Steps of a group, in their order. There are times for ranks that are the only ones of their cubes, in one
/// SIP, where steps fill a link (grid_steps::fill_a_link); elsewhere links have room for flows that meet.
struct step_schedule {
  /// Throws user_error when the members do not fill a rectangle.
  step_schedule(const pattern_context& c, step_load load);
  step_schedule(const step_schedule&) = delete;
  step_schedule& operator=(const step_schedule&) = delete;

  rank_grid grid;
  grid_steps steps;
  std::optional<step_times> times;
};

/// Times of the steps; none where the members fill no rectangle, too.
[[nodiscard]] std::optional<step_times> step_times_of(const pattern_context& c, step_load load);

}  // namespace diecast::comm
