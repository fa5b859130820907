// SPDX-License-Identifier: Apache-2.0
// Makes two trees below one root better, by simulated annealing (Kirkpatrick, Gelatt, Vecchi, "Optimization
// by simulated annealing", Science 220, 1983) over the links of whole routes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/comm/patterns.hpp"
#include "models/comm/trees.hpp"

namespace diecast::comm {

/// Nodes by tree and rank. A member's children are in the order in which slots are sent to them.
inline constexpr std::uint32_t trees_of_pair = 2;
using tree_pair = std::array<std::vector<tree_node>, trees_of_pair>;

/// Exchanges what members do so that paths share few links and trees are shallow: members of one cube where
/// several share it, else members of one SIP. What goes from SIP to SIP, and from cube to cube where several
/// members share one, stays; the root keeps its one child in each tree; trees enter another SIP at two
/// members. No member forwards more than two halves of the vector, as far as the trees allow. A child in
/// another SIP is the first, the others are in the order in which they are best sent to. `up`: messages go
/// towards the root.
///
/// A slot that waits for another one holds up what its sender has for others, and who sends all the time
/// never makes good for it: shared links cost more than any path. Numbers of moves and seeds are fixed: equal
/// machines and members, equal trees.
void improve_trees(const pattern_context& c, bool up, tree_pair& trees);

}  // namespace diecast::comm
