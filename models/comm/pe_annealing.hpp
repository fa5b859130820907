// SPDX-License-Identifier: Apache-2.0
// Two trees over members of which several share a cube: simulated annealing (annealing.hpp) over the links of
// whole routes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/comm/trees.hpp"
#include "models/config/machine_config.hpp"
#include "models/types/ids.hpp"

namespace diecast::comm {

/// Two trees over the same members, numbered from 0.
struct pe_tree_pair {
  static constexpr std::uint32_t trees = 2;
  struct tree {
    std::vector<std::uint32_t> above;               ///< by member; of the root: nobody
    std::vector<std::vector<std::uint32_t>> below;  ///< by member
  };

  explicit pe_tree_pair(std::size_t members) {
    for (tree& t : tree_of) {
      t.above.assign(members, nobody);
      t.below.resize(members);
    }
  }
  /// Halves of the vector that a member passes on.
  [[nodiscard]] std::size_t sends(std::uint32_t member) const {
    return tree_of[0].below[member].size() + tree_of[1].below[member].size();
  }

  std::array<tree, trees> tree_of;
};

/// Exchanges what members of one cube do in the trees, so that ways share few links and trees are shallow.
/// What goes from cube to cube stays, the root keeps its one child in each tree, and nobody passes on more
/// than two halves or what it did before. Children are then in the order in which they are best sent to:
/// those with more below them first. `up`: messages go towards the root.
///
/// A fixed number of moves, with a fixed seed: equal members, equal trees. The number is bounded, so that
/// large machines take no longer than about a second.
void anneal_pes(const config::machine_config& c, const std::vector<pe_coord>& members, std::uint32_t root,
                bool up, pe_tree_pair& trees);

}  // namespace diecast::comm
