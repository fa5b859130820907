// SPDX-License-Identifier: Apache-2.0
// Trees to begin a search with (tree_search.hpp), for any machine: level by level every member that may send
// takes the nearest of those that are left.
#pragma once

#include "models/comm/tree_search.hpp"

namespace diecast::comm {

/// SIPs follow each other along each tree, one way round in the first and in the opposite direction in the
/// second, so that each tree enters a SIP once. Where members share cubes a tree enters each cube once, too,
/// and those who pass on there what they get are others in the second tree than in the first, as far as can
/// be. `up`: messages go towards the root.
[[nodiscard]] tree_pair grown_trees(const pattern_context& c, bool up);

}  // namespace diecast::comm
