// SPDX-License-Identifier: Apache-2.0
// Routes between the cubes of a SIP that has links missing. Where the dimension-order route is whole it
// stays; elsewhere packets go the shortest way that is left. Such detours make turns that dimension order
// does not, so several rules for them exist, and the first that leaves the dependency graph free of cycles
// is taken (topology.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/fabric/topology.hpp"

namespace diecast::fabric {

/// Cubes of one SIP; `joined(cube, side)`: a link leaves there, and works.
struct cube_grid {
  machine_shape shape;
  std::function<bool(cube_id, side)> joined;
};

/// Which of several ways round a gap a packet takes.
enum class detour_rule : std::uint8_t {
  north_first,  ///< equally short ways: by the side that comes first in north, east, south, west
  south_first,  ///< in south, west, north, east
  up_down,      ///< towards cube (0, 0) of a breadth-first tree first, away from it then; never back
};
inline constexpr std::array detour_rules{detour_rule::north_first, detour_rule::south_first,
                                         detour_rule::up_down};

/// [from * cubes + to]: side a packet leaves `from` by on its way to `to`; meaningless when equal.
/// `cut_off`: gets one pair of cubes per cube that cube 0 does not reach.
[[nodiscard]] std::vector<side> route_around(const cube_grid& grid, detour_rule rule,
                                             std::vector<std::pair<cube_id, cube_id>>& cut_off);

}  // namespace diecast::fabric
