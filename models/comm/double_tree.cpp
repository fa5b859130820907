// SPDX-License-Identifier: Apache-2.0
#include "models/comm/double_tree.hpp"

#include <algorithm>

#include "models/comm/trees.hpp"

namespace diecast::comm {
namespace {

tree_node node_of(std::size_t tree, std::uint32_t node, std::uint32_t nodes) {
  return tree == 0 ? in_order_tree(node, nodes) : complementary_tree(node, nodes);
}

}  // namespace

std::vector<std::string> rooted_double_tree_names() {
  return {"parent_a", "parent_b", "child_a0", "child_a1", "child_b0", "child_b1"};
}

std::array<double_tree_place, 2> double_tree_places(std::uint32_t distance, std::uint32_t ranks) {
  if (ranks < 2) return {};
  if (distance == 0) return {double_tree_place{false, 1}, double_tree_place{false, 1}};
  std::array<double_tree_place, 2> places;
  for (std::size_t tree = 0; tree < 2; ++tree) {
    places[tree] = {true,
                    static_cast<std::uint32_t>(node_of(tree, distance - 1, ranks - 1).children.size())};
  }
  return places;
}

std::vector<edge> rooted_double_tree(const pattern_context& c) {
  const std::vector<std::uint32_t> ring = ring_order(c.shape, c.members);
  const auto n = static_cast<std::uint32_t>(ring.size());
  const auto start = static_cast<std::uint32_t>(std::find(ring.begin(), ring.end(), c.root) - ring.begin());
  const auto pe_of = [&](std::uint32_t distance) { return c.members.members[ring[(start + distance) % n]]; };
  std::vector<edge> edges;
  const auto add = [&](std::size_t tree, std::uint32_t parent, std::size_t child, std::uint32_t to) {
    edges.push_back({pe_of(parent), tree_child(tree, child), pe_of(to), true, tree_parent(tree)});
    edges.push_back({pe_of(to), tree_parent(tree), pe_of(parent), true, tree_child(tree, child)});
  };
  for (std::size_t tree = 0; n > 1 && tree < 2; ++tree) {
    for (std::uint32_t node = 0; node + 1 < n; ++node) {
      const tree_node at = node_of(tree, node, n - 1);
      if (!at.parent) add(tree, 0, 0, node + 1);
      for (std::size_t i = 0; i < at.children.size(); ++i) add(tree, node + 1, i, at.children[i] + 1);
    }
  }
  return edges;
}

}  // namespace diecast::comm
