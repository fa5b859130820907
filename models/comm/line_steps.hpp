// SPDX-License-Identifier: Apache-2.0
// All-to-all on a line, a mesh of lines or a SIP of cubes: an order of the pairs of ranks in which no step
// puts more flows on a link than necessary.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/comm/rank_grid.hpp"

namespace diecast::comm {

/// line_steps(n)[s][x]: whom place x of a line of n sends to in step s, 0 to n - 1. Every step is a
/// permutation and every place meets every place once, itself included. The cut between places c - 1 and c is
/// crossed c (n - c) times each way: up to most_searched places, never by more flows in a step than the
/// rounded-up mean (one, for 4 places), or by a few more where there is no such order or it is not found;
/// longer lines go by distance. Where it can be, a step is its own mirror image.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> line_steps(std::uint32_t places);
inline constexpr std::uint32_t most_searched = 8;

/// Steps that a rank's sends may be ahead of its receives.
inline constexpr std::uint32_t most_steps_ahead = 6;

/// Whom a rank sends to and hears from in a step.
struct step_partners {
  std::uint32_t to{}, from{};
};

/// Steps of a grid, line_steps along x and along y, every pair of them once. Packets go along x first, so
/// that the flows of a step meet on a row or column only as those of one line do.
///
/// Flows of two steps in a row meet where the earlier one's has the longer way behind it: it still passes
/// when the other one comes, by as much as that is longer. In grids of up to most_ordered steps they are in
/// an order in which this is little.
class grid_steps {
 public:
  explicit grid_steps(const rank_grid& g);

  /// By step.
  [[nodiscard]] std::vector<step_partners> of(std::uint32_t rank) const;
  /// Steps are in such an order, and some link has a flow in each: links are busier than ranks.
  [[nodiscard]] bool fill_a_link() const { return fills_; }
  /// The most by which a flow is later on a link than one of the next step, in links between neighbors. None
  /// where two flows of one step share a link, or the steps are too many to be put in order.
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

}  // namespace diecast::comm
