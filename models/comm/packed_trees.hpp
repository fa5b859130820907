// SPDX-License-Identifier: Apache-2.0
// Two trees below one root, fitted to the machine: half of a vector down each, no member sends more than the
// vector, and no step between neighboring cubes carries more flows than it has lanes. (Edmonds,
// "Edge-disjoint branchings", 1973, says when such trees exist; Zhao et al., "ForestColl: Throughput-Optimal
// Collective Communications on Heterogeneous Network Fabrics", 2024, builds schedules of them.) Shallow ones
// are found by a search.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/comm/patterns.hpp"
#include "models/comm/trees.hpp"

namespace diecast::comm {

/// The search is of a fixed number of attempts and a fixed seed: equal machines and members, equal trees. A
/// limit that no attempt keeps (two members in a row, say) is exceeded as little as any attempt does.
///
/// SIPs follow each other along each tree, one way round in the first and the other way round in the second,
/// so that each tree enters a SIP once.
class packed_trees {
 public:
  static constexpr std::uint32_t trees = 2;

  explicit packed_trees(const pattern_context& c);

  [[nodiscard]] const tree_node& node(std::uint32_t tree, std::uint32_t rank) const {
    return nodes_[tree][rank];
  }
  /// Edges between the root and the farthest member.
  [[nodiscard]] std::uint32_t depth(std::uint32_t tree) const;

 private:
  std::array<std::vector<tree_node>, trees> nodes_;
};

/// Direction in which a member's parent in `tree` is.
[[nodiscard]] constexpr direction packed_parent(std::uint32_t tree) { return static_cast<direction>(tree); }
/// Its children's, those of the first tree before those of the second.
[[nodiscard]] constexpr direction packed_child(std::uint32_t index) {
  return static_cast<direction>(packed_trees::trees + index);
}
}  // namespace diecast::comm
