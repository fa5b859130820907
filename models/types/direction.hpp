// SPDX-License-Identifier: Apache-2.0
// Directions: numbers and names of the queue pairs of a PE.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "models/types/ids.hpp"

namespace diecast::comm {

/// A direction is the index of a queue pair within its PE. The first eleven have names of their
/// own; a pattern may define more (MSCCL channels do).
using direction = std::uint16_t;
inline constexpr direction north = 0, south = 1, east = 2, west = 3;
inline constexpr direction global_north = 4, global_south = 5, global_east = 6, global_west = 7;
inline constexpr direction parent = 8, child_left = 9, child_right = 10;
inline constexpr direction first_custom = 11;
inline constexpr direction no_direction = 0xffff;
/// "N", "global_E", "child_left", or "custom11".
[[nodiscard]] std::string direction_name(direction d);
/// The opposite of a compass direction; the same direction for the others.
[[nodiscard]] direction opposite(direction d);

/// How a direction of a PE is called: a program or pattern may have names of its own.
using direction_namer = std::function<std::string(pe_coord, direction)>;
[[nodiscard]] direction_namer generic_names();

}  // namespace diecast::comm
