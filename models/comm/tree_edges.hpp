// SPDX-License-Identifier: Apache-2.0
// Queue pairs of trees whose edges have one each way; the patterns made of them are in peer_patterns.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "models/comm/patterns.hpp"
#include "models/comm/trees.hpp"

namespace diecast::comm {

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
