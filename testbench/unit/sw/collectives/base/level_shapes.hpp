// SPDX-License-Identifier: Apache-2.0
// Machines for algorithms of three levels.
#pragma once

#include <array>

#include "models/types/ids.hpp"

namespace diecast::test {

/// Rings of PEs within cubes, rings of cubes, rings of SIPs: of one, two, odd and even numbers.
inline constexpr std::array<machine_shape, 18> level_shapes{{
    {1, 1, 1, 1},
    {1, 1, 1, 7},
    {1, 1, 1, 16},
    {1, 2, 1, 2},
    {1, 3, 1, 4},
    {1, 2, 2, 8},
    {1, 3, 3, 3},
    {1, 5, 5, 1},
    {2, 5, 1, 6},
    {2, 1, 1, 5},
    {2, 2, 2, 4},
    {3, 3, 1, 2},
    {4, 1, 2, 4},
    {5, 2, 1, 2},
    // PEs of a pair go different ways
    {2, 2, 1, 8},
    {2, 3, 1, 6},
    {3, 1, 1, 8},
    {4, 1, 1, 6},
}};

}  // namespace diecast::test
