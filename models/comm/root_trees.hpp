// SPDX-License-Identifier: Apache-2.0
// Two binary trees below one root, so that no other rank is an inner node of both: half of a vector down each
// uses what every rank can send.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/comm/patterns.hpp"

namespace diecast::comm {

struct tree_node;  // models/comm/trees.hpp

/// Place of a rank in the first (which = 0) or second tree. Counted from the root, the first is the in-order
/// tree, the second the same with ranks 1 to n-1 mirrored (n odd) or moved on by one (n even); leaves of the
/// first are odd, those of the second even. (Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth
/// broadcast, reduction and scan", Parallel Computing 35, 2009.)
[[nodiscard]] tree_node root_tree(std::uint32_t rank, std::uint32_t ranks, std::uint32_t root,
                                  std::uint32_t which);

/// Directions of tree `which`; its children follow its parent.
[[nodiscard]] constexpr direction root_tree_parent(std::uint32_t which) {
  return static_cast<direction>(3 * which);
}
/// One way, from the root down both trees.
[[nodiscard]] std::vector<edge> root_trees(const pattern_context& c);
[[nodiscard]] std::vector<std::string> root_tree_names();

}  // namespace diecast::comm
