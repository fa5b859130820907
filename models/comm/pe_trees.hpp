// SPDX-License-Identifier: Apache-2.0
// The trees of comm::packed_trees over PEs that share cubes, where links within a cube limit the rate as much
// as those between cubes.
#pragma once

#include <array>
#include <vector>

#include "models/comm/patterns.hpp"
#include "models/comm/trees.hpp"

namespace diecast::comm {

/// Several members are on one cube.
[[nodiscard]] bool shares_cubes(const group& g);

/// Both trees, by rank: those of comm::packed_trees over the cubes, and within each cube, where a tree enters
/// it at one member, what comm::anneal_pes makes of it. A child in another SIP is the first one. `up`:
/// messages go from the members to the root. On one SIP no member passes on more than the vector.
[[nodiscard]] std::array<std::vector<tree_node>, 2> trees_over_pes(const pattern_context& c, bool up);

}  // namespace diecast::comm
