// SPDX-License-Identifier: Apache-2.0
// Trees within trees: ccl.levels joins the ranks level by level, the leaders of one level being the members
// of the next. Any number of levels; each has a tree of its own kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/comm/patterns.hpp"
#include "sw/collectives/trees/trees.hpp"

namespace diecast::comm {

/// The unit that a group of one level shares; count: a number of members in the order of the ring.
enum class level_unit : std::uint8_t { cube, row, sip, pod, count };
/// ring: two chains to the leader, one from each side; tree: a binary tree; direct: all send to the leader.
enum class level_tree : std::uint8_t { ring, tree, direct };

struct tree_level {
  level_unit unit{};
  std::uint32_t members{};  ///< members of a group, where the unit is a count
  level_tree tree{};
  std::uint64_t chunks{};  ///< 0: ccl.chunks
};
/// The entries of ccl.levels ("cube:ring,2:tree:4"), innermost first. Precondition: the text has passed its
/// row's check.
[[nodiscard]] std::vector<tree_level> parse_levels(const std::string& text);

/// Pattern of the kernel whose levels the user chooses; --algorithm auto does not consider it.
inline constexpr const char* nested_trees_name = "nested_trees";

/// One tree over all ranks, whose edges belong to levels. Queue pair 0 of a rank leads to its parent, queue
/// pair 1 + i to its child i; children are in the order of their levels.
struct nested_trees {
  static constexpr std::size_t most_levels = 12;  ///< most levels at which one rank has children

  /// Throws user_error when the last level leaves more than one leader, or one leads too many levels.
  explicit nested_trees(const pattern_context& c);

  std::vector<tree_level> levels;
  std::vector<tree_node> nodes;            ///< by rank
  std::vector<std::uint32_t> level_above;  ///< by rank: level of the edge to the parent
  std::uint32_t depth{};                   ///< most edges between a rank and the root

 private:
  void join(const std::vector<std::uint32_t>& group, std::uint32_t level);
};
[[nodiscard]] std::vector<edge> nested_tree_edges(const pattern_context& c);
[[nodiscard]] std::vector<std::string> nested_tree_names();

}  // namespace diecast::comm
