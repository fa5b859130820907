// SPDX-License-Identifier: Apache-2.0
#include "models/comm/tree_edges.hpp"

#include <fmt/format.h>
#include <string>

#include "models/comm/packed_trees.hpp"
#include "models/comm/peer_patterns.hpp"
#include "models/comm/spanning_trees.hpp"

namespace diecast::comm {

tree_directions::tree_directions(const std::vector<const tree_node*>& places) {
  direction next = 0;
  for (const tree_node* place : places) {
    first_.push_back(next);
    has_parent_.push_back(place->parent.has_value());
    next = static_cast<direction>(next + (place->parent ? 1 : 0) + place->children.size());
  }
}

direction tree_directions::child(std::uint32_t tree, std::uint32_t index) const {
  return static_cast<direction>(first_[tree] + (has_parent_[tree] ? 1 : 0) + index);
}

namespace {

/// Edges of trees given by their nodes, from children to parents, and back if `both_ways`.
std::vector<edge> edges_of(const group& g, const std::vector<std::vector<tree_node>>& trees, bool both_ways) {
  std::vector<tree_directions> directions;
  directions.reserve(g.members.size());
  for (std::uint32_t r = 0; r < g.members.size(); ++r) {
    std::vector<const tree_node*> places;
    places.reserve(trees.size());
    for (const auto& tree : trees) places.push_back(&tree[r]);
    directions.emplace_back(places);
  }
  std::vector<edge> edges;
  for (std::uint32_t t = 0; t < trees.size(); ++t) {
    for (std::uint32_t r = 0; r < g.members.size(); ++r) {
      for (std::uint32_t i = 0; i < trees[t][r].children.size(); ++i) {
        const std::uint32_t below = trees[t][r].children[i];
        const direction down = directions[r].child(t, i), up = directions[below].parent(t);
        edges.push_back({g.members[below], up, g.members[r], both_ways, down});
        if (both_ways) edges.push_back({g.members[r], down, g.members[below], true, up});
      }
    }
  }
  return edges;
}

}  // namespace

std::vector<edge> spanning_tree_edges(const pattern_context& c) {
  const spanning_trees plan(c);
  std::vector<std::vector<tree_node>> trees;
  for (std::uint32_t t = 0; t < plan.trees(); ++t) trees.push_back(plan.tree(t));
  return edges_of(c.members, trees, true);
}

std::vector<edge> packed_tree_edges_up(const pattern_context& c) {
  const packed_trees plan(c, packed_trees::flow::up);
  std::vector<std::vector<tree_node>> trees(packed_trees::trees);
  for (std::uint32_t t = 0; t < packed_trees::trees; ++t) {
    for (std::uint32_t r = 0; r < c.members.members.size(); ++r) trees[t].push_back(plan.node(t, r));
  }
  return edges_of(c.members, trees, false);
}

std::vector<std::string> tree_way_names() {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < 16; ++i) names.push_back(fmt::format("way{}", i));
  return names;
}

}  // namespace diecast::comm
