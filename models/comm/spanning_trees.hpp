// SPDX-License-Identifier: Apache-2.0
// Spanning trees of neighbors for an all-reduce: an equal share of the vector up each tree and down again. An
// edge of a tree carries as much one way as the other, so trees that together use every pair of neighbors
// alike use all links at once, both ways.
#pragma once

#include <cstdint>
#include <vector>

#include "models/comm/neighbors.hpp"
#include "models/comm/patterns.hpp"
#include "models/comm/trees.hpp"

namespace diecast::comm {

/// One to four trees, as many as make the busiest link the least busy; found exactly, by augmenting paths of
/// the matroid union (Edmonds, "Matroid partition", 1968; Roskind and Tarjan, "A note on finding
/// minimum-cost edge-disjoint spanning trees", 1985). Of several packings a shallow one: a fixed number of
/// attempts in orders of a fixed seed. Each tree has its root in its middle.
class spanning_trees {
 public:
  static constexpr std::uint32_t most_trees = 4;
  /// Packings that are searched for a shallow one: 1 to 64. `members`: 1 to 2^20.
  [[nodiscard]] static std::uint64_t attempts_for(std::uint64_t members);

  /// Throws what neighbor_graph throws.
  explicit spanning_trees(const pattern_context& c);

  [[nodiscard]] std::uint32_t trees() const { return static_cast<std::uint32_t>(nodes_.size()); }
  [[nodiscard]] const std::vector<tree_node>& tree(std::uint32_t number) const { return nodes_[number]; }
  /// What the link that takes longest carries in each direction, of the vector, as if over the fastest link.
  [[nodiscard]] double busiest() const { return busiest_; }
  /// Edges from the root of a tree to its farthest member, at most.
  [[nodiscard]] std::uint32_t depth() const { return depth_; }

 private:
  std::vector<std::vector<tree_node>> nodes_;
  double busiest_{};
  std::uint32_t depth_{};
};

// Queue pairs of trees whose edges have one in each direction; the patterns made of them are in
// peer_patterns.hpp.

/// Directions of a rank over a list of trees, each given by its nodes: those of the first tree before those
/// of the second; of a tree the parent, where there is one, before the children.
class tree_directions {
 public:
  explicit tree_directions(const std::vector<const tree_node*>& places);
  [[nodiscard]] direction parent(std::uint32_t tree) const { return first_[tree]; }
  [[nodiscard]] direction child(std::uint32_t tree, std::uint32_t index) const;

 private:
  std::vector<direction> first_;
  std::vector<bool> has_parent_;
};

}  // namespace diecast::comm
