// SPDX-License-Identifier: Apache-2.0
// Two trees below one root, fitted to the machine: half of a vector down each, and no member sends more than
// the vector (over PEs of several SIPs one may send three halves). Trees of ranks that are alone on their
// cubes, downwards, on one or two SIPs: fitted_trees.hpp; trees of PEs that share cubes: pe_trees.hpp; all
// others are grown here, so that no link between neighboring cubes carries more flows than it has lanes.
// (Edmonds, "Edge-disjoint branchings", 1973, says when such trees exist; Zhao et al., "ForestColl:
// Throughput-Optimal Collective Communications on Heterogeneous Network Fabrics", 2024, builds schedules of
// them.) Shallow ones are found by a search.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/comm/patterns.hpp"
#include "models/comm/trees.hpp"

namespace diecast::comm {

/// Searches are of a fixed number of attempts or moves and a fixed seed: equal machines and members, equal
/// trees; the last ones are remembered (tree_memory.hpp). A limit that no attempt keeps (two members in a
/// row, say) is exceeded as little as any attempt does.
///
/// SIPs follow each other along each tree, one way round in the first and the other way round in the second,
/// so that each tree enters a SIP once.
class packed_trees {
 public:
  static constexpr std::uint32_t trees = 2;
  /// Which way the vector goes: packets do not come back the way they went, so trees that fit one of them
  /// need not fit the other.
  enum class flow : std::uint8_t { down, up };

  explicit packed_trees(const pattern_context& c, flow to = flow::down);

  [[nodiscard]] const tree_node& node(std::uint32_t tree, std::uint32_t rank) const {
    return nodes_[tree][rank];
  }
  /// Queue pairs of an edge, side by side: the slots of one do not cover the way of a large message. Fewer
  /// where directions or ipcq.queue_pairs do not suffice, down to one; one where patterns share queue pairs.
  [[nodiscard]] std::uint32_t width(std::uint32_t above, std::uint32_t below) const {
    return crosses(above, below) ? crossing_ : within_;
  }
  /// Its ends are in two SIPs.
  [[nodiscard]] bool crosses(std::uint32_t above, std::uint32_t below) const {
    return sips_[above] != sips_[below];
  }

  /// Queue pairs of a member at most, to its parents and children; `used`: of those of an edge.
  [[nodiscard]] std::uint32_t most_directions(std::uint32_t used) const;

 private:
  [[nodiscard]] std::uint32_t child_directions(std::uint32_t rank, std::uint32_t used) const;
  [[nodiscard]] std::uint32_t most_child_directions() const;

  std::array<std::vector<tree_node>, trees> nodes_;
  std::vector<sip_id> sips_;               ///< by rank
  std::uint32_t within_{1}, crossing_{1};  ///< width of edges within a SIP and between two
};

/// Child directions of a member at most, where edges have several queue pairs. Where all have one, further
/// children of a member have the numbers, and in reports the names, of further queue pairs to a parent.
inline constexpr std::uint32_t named_children = 8;

/// Direction in which a member's parent in `tree` is; `index`: of an edge with several queue pairs.
[[nodiscard]] constexpr direction packed_parent(std::uint32_t tree, std::uint32_t index = 0) {
  const std::uint32_t further =
      packed_trees::trees + named_children + (index - 1) * packed_trees::trees + tree;
  return static_cast<direction>(index == 0 ? tree : further);
}
/// Its children's, those of the first tree before those of the second.
[[nodiscard]] constexpr direction packed_child(std::uint32_t index) {
  return static_cast<direction>(packed_trees::trees + index);
}
}  // namespace diecast::comm
