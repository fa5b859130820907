// SPDX-License-Identifier: Apache-2.0
// Patterns of the tree in the network: noc.multicast and noc.reduce.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/comm/patterns.hpp"

namespace diecast::comm {

/// Directions of the members' queue pairs.
inline constexpr direction tree_multicast = 0;
inline constexpr direction tree_reduction = 1;

/// From the root to every other rank at once. Throws user_error where the machine's routers copy nothing
/// (noc.multicast), or where a block on the route must read each packet by itself (staging, checksums).
[[nodiscard]] std::vector<edge> multicast_tree(const pattern_context& c);
/// From every other rank to the root, which adds its own: its network interface then has the result alone to
/// send on. Throws user_error as multicast_tree does, for noc.reduce.
[[nodiscard]] std::vector<edge> reduction_tree(const pattern_context& c);
/// Both, over central_rank.
[[nodiscard]] std::vector<edge> in_network(const pattern_context& c);

/// The rank whose cube is nearest to the middle of the pod's SIPs and of its own SIP; the first of several.
/// The sums of an all-reduce end there and its results begin there.
[[nodiscard]] std::uint32_t central_rank(const machine_shape& shape, const group& members);

/// Names of the directions, for pattern_entry.
[[nodiscard]] std::vector<std::string> tree_direction_names();

}  // namespace diecast::comm
