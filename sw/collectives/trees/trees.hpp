// SPDX-License-Identifier: Apache-2.0
// Trees over ranks 0 to n-1. Used by patterns, for edges, and by kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "models/comm/patterns.hpp"
#include "models/config/machine_config.hpp"

namespace diecast::comm {

/// A rank's place in a tree; children in the order in which their contributions are added.
struct tree_node {
  std::optional<std::uint32_t> parent;
  std::vector<std::uint32_t> children;
};

/// Parent (r-1)/2, children 2r+1 and 2r+2.
[[nodiscard]] tree_node binary_tree(std::uint32_t rank, std::uint32_t ranks);

/// In-order binary tree: rank 0 at the root with one child, odd ranks leaves, the others inner nodes whose
/// subtrees are ranges of ranks. Depth ceil(log2 n).
[[nodiscard]] tree_node in_order_tree(std::uint32_t rank, std::uint32_t ranks);
/// in_order_tree() with its ranks exchanged, so that no rank is an inner node of both trees: mirrored for
/// an even number of ranks, moved on by one for an odd. (Sanders, Speck, Traeff, "Two-tree algorithms for
/// full bandwidth broadcast, reduction and scan", Parallel Computing 35, 2009.)
[[nodiscard]] tree_node complementary_tree(std::uint32_t rank, std::uint32_t ranks);

/// Binomial tree: rank r has the children r + 2^k for all k below its trailing zeros. Pairwise summation
/// in the order of ranks.
[[nodiscard]] tree_node binomial_tree(std::uint32_t rank, std::uint32_t ranks);
/// Number k of the edge between two ranks of the binomial tree: their numbers differ by 2^k.
[[nodiscard]] std::uint32_t binomial_edge(std::uint32_t a, std::uint32_t b);

/// Greatest number of edges between the root and a rank, for the trees above.
[[nodiscard]] std::uint32_t depth_of_binary(std::uint32_t ranks);
[[nodiscard]] std::uint32_t depth_of_binomial(std::uint32_t ranks);
/// Depth of any tree, nodes by rank; 0 without nodes.
[[nodiscard]] std::uint32_t depth_of(const std::vector<tree_node>& nodes);

/// Chunks of a vector of `bytes` on a pipeline of `depth` successive messages: ccl.chunks, or else the
/// number that ends soonest when a message costs a fixed time and a time per byte on the slowest kind of link
/// between the members. At least 1, and no more than `elements` unless that is 0.
[[nodiscard]] std::uint64_t chunks_on_pipeline(const config::machine_config& c, const group& members,
                                               std::uint64_t bytes, std::uint64_t elements,
                                               std::uint32_t depth);

// Two binary trees below one root, so that no other rank is an inner node of both: half of a vector down each
// uses the whole send rate of every rank.

/// Place of a rank in the first (which = 0) or second tree. Counted from the root, the first is the in-order
/// tree, the second the same with ranks 1 to n-1 mirrored (n odd) or moved on by one (n even); leaves of the
/// first are odd, those of the second even. (Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth
/// broadcast, reduction and scan", Parallel Computing 35, 2009.)
[[nodiscard]] tree_node root_tree(std::uint32_t rank, std::uint32_t ranks, std::uint32_t root,
                                  std::uint32_t which);

/// Directions of tree `which`; its children follow its parent.
[[nodiscard]] constexpr direction root_tree_parent(std::uint32_t which) {
  return static_cast<direction>(3 * which);
}

// Patterns of trees of ranks.

/// tree_binary: parent (r-1)/2. double_binary_tree: the same directions for the first tree, and
/// second_tree + 0, 1, 2 for parent and children in the second. binomial_tree: edge k of the tree is
/// partner(k) at both ends.
inline constexpr direction second_tree = first_custom;
[[nodiscard]] std::vector<edge> tree_binary(const pattern_context& c);
[[nodiscard]] std::vector<edge> double_binary_tree(const pattern_context& c);
[[nodiscard]] std::vector<edge> binomial_tree(const pattern_context& c);

/// Edges from the root down both trees only.
[[nodiscard]] std::vector<edge> root_trees(const pattern_context& c);
[[nodiscard]] std::vector<std::string> root_tree_names();

/// Rings at three levels: E/W over the PEs of each cube, N/S over pe0 of the cubes of each SIP (in
/// ring_order), global_E/global_W over pe0 of cube 0 of the SIPs. The members must be all PEs of their SIPs,
/// or rank set sip, which has the last level only.
[[nodiscard]] std::vector<edge> hierarchical_3level(const pattern_context& c);

/// comm::packed_trees, from the root down both only (parent, parent2; child0, child1, ...).
[[nodiscard]] std::vector<edge> packed_tree_edges(const pattern_context& c);
[[nodiscard]] std::vector<std::string> packed_tree_names();

/// The trees of packed_tree_edges(), from the members to the root, and comm::spanning_trees, in both
/// directions; queue pairs as in comm::tree_directions.
[[nodiscard]] std::vector<edge> packed_tree_edges_up(const pattern_context& c);
[[nodiscard]] std::vector<edge> spanning_tree_edges(const pattern_context& c);

}  // namespace diecast::comm
