// SPDX-License-Identifier: Apache-2.0
// How the routers of a cube are joined, and the way from one to another, as arithmetic: mesh and torus
// (dimension order, X first), ring (a torus of one row), crossbar (one router).
//
// A dimension of a torus or ring wraps when it has three routers or more: with two, the way round would be
// a second pair of links that nobody takes. The shorter way is taken, the positive one when both are equal.
//
// Datelines: the buffers behind the links of a dimension that wraps are in two sets. A packet is in set 0
// while it still has to cross the wrap link of that dimension, in set 1 afterwards or if it never has to
// (Dally and Seitz, 1987). Which one is a function of where the packet is and where it goes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::fabric {

class router_grid {
 public:
  router_grid() = default;
  explicit router_grid(const config::noc_block& noc);

  [[nodiscard]] std::uint32_t routers() const { return columns_ * rows_; }
  /// Whether any dimension wraps: then links have two VC sets.
  [[nodiscard]] bool wraps() const { return wraps_x_ || wraps_y_; }
  [[nodiscard]] bool has(router_index router, side s) const;
  /// Precondition: has(router, s).
  [[nodiscard]] router_index next(router_index router, side s) const;

  static constexpr std::uint8_t no_link = 2;  ///< after the dateline sets
  struct step {
    std::uint8_t side{sides};   ///< `sides`: already there
    std::uint8_t set{no_link};  ///< dateline set behind that link; 1 in a dimension that does not wrap
  };
  [[nodiscard]] step towards(router_index from, router_index to) const {
    return wraps() ? towards_around(from, to) : towards_straight(from, to);
  }
  /// The same where nothing wraps.
  [[nodiscard]] step towards_straight(router_index from, router_index to) const;
  /// Links on the way.
  [[nodiscard]] std::uint32_t distance(router_index from, router_index to) const;
  /// Memory of its tables by router.
  [[nodiscard]] std::size_t table_bytes() const { return (x_.size() + y_.size()) * sizeof x_[0]; }

 private:
  struct dimension_step {
    bool positive{};
    std::uint8_t set{};
  };
  /// Without wrap links, by the signs of the ways along x and y: x first.
  static constexpr step mesh_step(int x, int y) {
    if (x != 0) return {static_cast<std::uint8_t>(x > 0 ? side::east : side::west), 1};
    if (y != 0) return {static_cast<std::uint8_t>(y > 0 ? side::north : side::south), 1};
    return {};
  }
  static constexpr std::array<step, 9> mesh_steps() {
    std::array<step, 9> all;
    for (int k = 0; k < 9; ++k) all[static_cast<std::size_t>(k)] = mesh_step(k / 3 - 1, k % 3 - 1);
    return all;
  }
  [[nodiscard]] step towards_around(router_index from, router_index to) const;
  [[nodiscard]] static dimension_step along(std::uint32_t at, std::uint32_t to, std::uint32_t size,
                                            bool wraps);

  std::uint32_t columns_{1};
  std::uint32_t rows_{1};
  bool wraps_x_{};
  bool wraps_y_{};
  std::vector<std::uint16_t> x_, y_;  ///< by router: cheaper than a division per hop
};

/// Whether a packet turns or has arrived is hard to foretell: a table, no branches.
inline router_grid::step router_grid::towards_straight(router_index from, router_index to) const {
  static constexpr std::array<step, 9> steps = mesh_steps();
  const auto sign = [](std::uint16_t at, std::uint16_t goal) { return (goal > at) - (goal < at); };
  const int way = 3 * sign(x_[from], x_[to]) + sign(y_[from], y_[to]);
  return steps[static_cast<std::size_t>(way + 4)];
}

}  // namespace diecast::fabric
