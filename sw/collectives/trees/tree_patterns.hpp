// SPDX-License-Identifier: Apache-2.0
// Patterns of trees of ranks.
#pragma once

#include <string>
#include <vector>

#include "models/comm/patterns.hpp"

namespace diecast::comm {

/// tree_binary: parent (r-1)/2. double_binary_tree: the same directions for the first tree, and
/// second_tree + 0, 1, 2 for parent and children in the second. binomial_tree: edge k of the tree is
/// partner(k) at both ends.
inline constexpr direction second_tree = first_custom;
[[nodiscard]] std::vector<edge> tree_binary(const pattern_context& c);
[[nodiscard]] std::vector<edge> double_binary_tree(const pattern_context& c);
[[nodiscard]] std::vector<edge> binomial_tree(const pattern_context& c);

/// One way, from the root down both trees.
[[nodiscard]] std::vector<edge> root_trees(const pattern_context& c);
[[nodiscard]] std::vector<std::string> root_tree_names();

/// Rings at three levels: E/W over the PEs of each cube, N/S over pe0 of the cubes of each SIP (in
/// ring_order), global_E/global_W over pe0 of cube 0 of the SIPs. The members must be all PEs of their SIPs,
/// or rank set sip, which has the last level only.
[[nodiscard]] std::vector<edge> hierarchical_3level(const pattern_context& c);

/// comm::packed_trees, one way, from the root down both (parent, parent2; child0, child1, ...).
[[nodiscard]] std::vector<edge> packed_tree_edges(const pattern_context& c);
[[nodiscard]] std::vector<std::string> packed_tree_names();

/// The trees of packed_tree_edges(), from the members to the root, and comm::spanning_trees, both ways;
/// directions as comm::tree_directions numbers them.
[[nodiscard]] std::vector<edge> packed_tree_edges_up(const pattern_context& c);
[[nodiscard]] std::vector<edge> spanning_tree_edges(const pattern_context& c);

}  // namespace diecast::comm
