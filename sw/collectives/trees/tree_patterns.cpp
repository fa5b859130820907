// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/trees/tree_patterns.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/config/population.hpp"
#include "models/types/error.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/base/member_levels.hpp"
#include "sw/collectives/base/peer_patterns.hpp"
#include "sw/collectives/partners/partner_steps.hpp"
#include "sw/collectives/trees/nested_trees.hpp"
#include "sw/collectives/trees/trees.hpp"

namespace diecast::comm {
namespace {

/// A tree with at most two children; `first` is the direction of the parent, the children follow.
template <class Tree>
void add_tree(std::vector<edge>& edges, const pattern_context& c, Tree tree, direction first) {
  for (std::uint32_t r = 0; r < group_size(c); ++r) {
    const tree_node node = tree(r, group_size(c));
    for (std::size_t i = 0; i < node.children.size(); ++i)
      join_ranks(edges, c, r, static_cast<direction>(first + 1 + i), node.children[i], first);
  }
}

/// Throws user_error unless the members are all PEs that their SIPs have, or stand for SIPs.
void check_all_pes(const pattern_context& c, const member_levels& levels) {
  if (c.members.set == rank_set::sip) return;
  const config::population machine(c.config);
  std::vector<pe_coord> wanted;
  for (const pe_coord pe : machine.pes()) {
    const bool member_sip = std::any_of(levels.sips.begin(), levels.sips.end(),
                                        [pe](const member_levels::sip& s) { return s.id == pe.sip; });
    if (member_sip) wanted.push_back(pe);
  }
  std::vector<pe_coord> members = c.members.members;
  std::sort(members.begin(), members.end());
  if (members == wanted) return;
  throw user_error({"hierarchical_3level", "the members are not all PEs of their SIPs",
                    fmt::format("{} members in {} SIPs", members.size(), levels.sips.size()),
                    fmt::format("{} members (rank set pe), or rank set sip", wanted.size())});
}

}  // namespace

std::vector<edge> tree_binary(const pattern_context& c) {
  std::vector<edge> edges;
  add_tree(edges, c, binary_tree, parent);
  return edges;
}

std::vector<edge> double_binary_tree(const pattern_context& c) {
  std::vector<edge> edges;
  add_tree(edges, c, in_order_tree, parent);
  add_tree(edges, c, complementary_tree, second_tree);
  return edges;
}

std::vector<edge> binomial_tree(const pattern_context& c) {
  std::vector<edge> edges;
  for (std::uint32_t r = 0; r < group_size(c); ++r) {
    for (const std::uint32_t child : binomial_tree(r, group_size(c)).children) {
      const direction d = partner(binomial_edge(r, child));
      join_ranks(edges, c, r, d, child, d);
    }
  }
  return edges;
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
      for (std::size_t i = 0; i < node.children.size(); ++i)
        edges.push_back({m[r], static_cast<direction>(up + 1 + i), m[node.children[i]], false, up});
    }
  }
  return edges;
}

std::vector<std::string> root_tree_names() {
  return {"parent", "child_left", "child_right", "parent2", "child_left2", "child_right2"};
}

std::vector<edge> hierarchical_3level(const pattern_context& c) {
  const member_levels levels(c.shape, c.members);
  check_all_pes(c, levels);
  std::vector<edge> edges;
  std::vector<pe_coord> sip_leaders;
  for (const member_levels::sip& sip : levels.sips) {
    std::vector<pe_coord> cube_leaders;
    for (const member_levels::cube& cube : sip.cubes) {
      add_line(edges, cube.pes, east, west, true);
      cube_leaders.push_back(cube.pes.front());
    }
    add_line(edges, cube_leaders, north, south, true);
    sip_leaders.push_back(cube_leaders.front());
  }
  add_line(edges, sip_leaders, global_east, global_west, true);
  return edges;
}

}  // namespace diecast::comm

namespace diecast::sw {

pattern_table tree_patterns() {
  return {
      {"tree_binary", "a binary tree of ranks: parent (r-1)/2", comm::tree_binary},
      {"double_binary_tree",
       "two binary trees; no rank is an inner node of both",
       comm::double_binary_tree,
       {"parent2", "child_left2", "child_right2"}},
      {"binomial_tree", "binomial tree: the parent of rank r is r without its lowest set bit",
       [](const comm::pattern_context& c) { return comm::binomial_tree(c); }, comm::partner_names(), true},
      {"hierarchical_3level",
       "rings over the PEs of a cube (E, W), the first PEs of the cubes (N, S), and the SIPs",
       comm::hierarchical_3level},
      {comm::nested_trees_name, "the trees of ccl.levels, one within the other (up, down0, down1, ...)",
       comm::nested_tree_edges, comm::nested_tree_names(), true},
      {"root_trees", "two binary trees below the root, one way: no other rank is an inner node of both",
       comm::root_trees, comm::root_tree_names(), true},
      {"packed_trees",
       "two shallow trees below the root, one way, fitted to what members and links can carry",
       comm::packed_tree_edges, comm::packed_tree_names(), true},
      {"packed_trees_up",
       "two shallow trees towards the root, one way, fitted to what members and links can carry",
       comm::packed_tree_edges_up, comm::numbered_names("way", 0, 16), true},
      {"spanning_trees", "trees of neighbors, both ways, that together use all links alike",
       comm::spanning_tree_edges, comm::numbered_names("way", 0, 16), true}};
}

}  // namespace diecast::sw
