// SPDX-License-Identifier: Apache-2.0
// Two trees over all ranks but the root, each for half of a vector: no rank passes on in both, so each
// sends as much as it receives, and the root sends each half once (Sanders, Speck, Traeff, "Two-tree
// algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35, 2009).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/comm/patterns.hpp"

namespace diecast::comm {

/// Directions of tree 0 and 1. The root has the tree's top as its first child.
[[nodiscard]] constexpr direction tree_parent(std::size_t tree) { return static_cast<direction>(tree); }
[[nodiscard]] constexpr direction tree_child(std::size_t tree, std::size_t child) {
  return static_cast<direction>(2 + 2 * tree + child);
}
[[nodiscard]] std::vector<std::string> rooted_double_tree_names();

/// A rank's place in one of the trees.
struct double_tree_place {
  bool has_parent{};  ///< false at the root alone
  std::uint32_t children{};
};
/// Places of a rank in both trees, by its distance behind the root on the ring of the group (root: 0).
[[nodiscard]] std::array<double_tree_place, 2> double_tree_places(std::uint32_t distance, std::uint32_t ranks);

/// Ranks at the trees' nodes in the order of the ring behind the root, so that most edges are short.
[[nodiscard]] std::vector<edge> rooted_double_tree(const pattern_context& c);

}  // namespace diecast::comm
