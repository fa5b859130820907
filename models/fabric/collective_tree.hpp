// SPDX-License-Identifier: Apache-2.0
// A tree of routers that spans the members of a group, over cubes and SIPs: what noc.multicast copies packets
// down and noc.reduce combines them up. It is made of the routes from the root to the members, so a packet
// down the tree takes the route it would take alone, and one up the tree the reverse route.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/fabric/topology.hpp"

namespace diecast::fabric {

/// An entry and exit of a router: one of its sides, or a terminal of the cube that is on it.
struct tree_port {
  bool terminal{};         ///< false: a side
  std::uint16_t number{};  ///< terminal_index or side
  auto operator<=>(const tree_port&) const = default;
};

/// A router of the tree. Children are in the order in which their contributions are combined: sides by their
/// numbers, then terminals by theirs.
struct tree_node {
  sip_id sip;
  cube_id cube;
  router_index router{};
  tree_port parent;  ///< towards the root; at the root's router the root's own terminal
  std::vector<tree_port> children;
};

struct collective_tree {
  abi::node_address root;
  std::vector<tree_node> nodes;  ///< ordered by SIP, cube, router
};

/// The union of the routes from `root` to `members` (the root may be among them). Where routes of a pod of
/// listed links separate and join again, the tree has the first of them.
[[nodiscard]] collective_tree make_tree(const topology& t, const abi::node_address& root,
                                        std::span<const abi::node_address> members);

/// Dependencies of a tree's buffers: a router holds that of an incoming packet until every copy has one at
/// the next router, and those of contributions until the sum has one. Nodes are links x tree_flows.
[[nodiscard]] std::vector<dependency> tree_dependencies(const topology& t, const collective_tree& tree);

/// A cycle over the buffers of all these trees together, in order; empty when there is none. Trees share no
/// buffer with other traffic.
[[nodiscard]] std::vector<std::string> find_tree_cycle(const topology& t,
                                                       std::span<const collective_tree> trees);

/// Path from the root to a member's terminal: links between routers, dies and packages, and routers of the
/// tree.
struct tree_path {
  std::uint32_t routers{};
  std::uint32_t mesh_links{};
  std::vector<std::uint32_t> outer_links;  ///< UCIe and SIP links, as numbered by the topology
};
[[nodiscard]] tree_path path_of(const topology& t, const abi::node_address& root,
                                const abi::node_address& member);

}  // namespace diecast::fabric
