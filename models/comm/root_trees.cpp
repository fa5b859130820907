// SPDX-License-Identifier: Apache-2.0
#include "models/comm/root_trees.hpp"

#include "models/comm/trees.hpp"

namespace diecast::comm {
namespace {

/// Where the v-th rank from the root stands in the second tree, and back. The root stays.
std::uint32_t second_place(std::uint32_t v, std::uint32_t n) {
  if (v == 0) return 0;
  if (n % 2 != 0) return n - v;
  return v == 1 ? n - 1 : v - 1;
}
std::uint32_t from_second_place(std::uint32_t place, std::uint32_t n) {
  if (place == 0) return 0;
  if (n % 2 != 0) return n - place;
  return place == n - 1 ? 1 : place + 1;
}

}  // namespace

tree_node root_tree(std::uint32_t rank, std::uint32_t ranks, std::uint32_t root, std::uint32_t which) {
  const std::uint32_t v = (rank + ranks - root) % ranks;
  const auto rank_at = [=](std::uint32_t place) {
    return ((which == 0 ? place : from_second_place(place, ranks)) + root) % ranks;
  };
  tree_node n = in_order_tree(which == 0 ? v : second_place(v, ranks), ranks);
  if (n.parent) n.parent = rank_at(*n.parent);
  for (std::uint32_t& child : n.children) child = rank_at(child);
  return n;
}

std::vector<edge> root_trees(const pattern_context& c) {
  const std::vector<pe_coord>& m = c.members.members;
  const auto n = static_cast<std::uint32_t>(m.size());
  const std::uint32_t root = root_of(c);
  std::vector<edge> edges;
  for (std::uint32_t which = 0; which < 2; ++which) {
    const direction up = root_tree_parent(which);
    for (std::uint32_t r = 0; r < n; ++r) {
      const tree_node node = root_tree(r, n, root, which);
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        edges.push_back({m[r], static_cast<direction>(up + 1 + i), m[node.children[i]], false, up});
      }
    }
  }
  return edges;
}

std::vector<std::string> root_tree_names() {
  return {"parent", "child_left", "child_right", "parent2", "child_left2", "child_right2"};
}

}  // namespace diecast::comm
