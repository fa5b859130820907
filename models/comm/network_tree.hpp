// SPDX-License-Identifier: Apache-2.0
// Patterns of the tree in the network: noc.multicast and noc.reduce.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "models/comm/patterns.hpp"

namespace diecast::comm {

/// Directions of the members' queue pairs.
inline constexpr direction tree_multicast = 0;
inline constexpr direction tree_reduction = 1;

/// From the root to every other rank at once. Throws user_error where the machine's routers copy nothing
/// (noc.multicast), or something on the way would have to read each packet alone (staging, checksums).
[[nodiscard]] std::vector<edge> multicast_tree(const pattern_context& c);
/// From every other rank to the root, which adds its own: its network interface then has the result alone to
/// send on. Throws user_error as multicast_tree does, for noc.reduce.
[[nodiscard]] std::vector<edge> reduction_tree(const pattern_context& c);
/// Both, over central_rank.
[[nodiscard]] std::vector<edge> in_network(const pattern_context& c);

/// Some of these edges are carried by the tree, of which a run has one.
[[nodiscard]] bool uses_tree(const std::vector<edge>& edges);

/// The rank whose cube is nearest to the middle of the pod's SIPs and of its own SIP; the first of several.
/// An all-reduce turns round there.
[[nodiscard]] std::uint32_t central_rank(const machine_shape& shape, const group& members);

/// Names of the directions, for pattern_entry.
[[nodiscard]] std::vector<std::string> tree_direction_names();

// The arithmetic of a router that combines packets.

/// The sum of the contributions that meet in one router, in the order in which they are added. Rounded to the
/// type of the packets after each addition, or once in result() (tree_arithmetic::in_f32).
class tree_sum {
 public:
  explicit tree_sum(const tree_arithmetic& how) : how_(how) {}
  /// Contributions of one packet have one size; other sizes: std::invalid_argument.
  void add(std::span<const std::byte> contribution);
  [[nodiscard]] std::vector<std::byte> result() const;

 private:
  tree_arithmetic how_;
  std::vector<std::byte> sum_;
  bool begun_{};
};

}  // namespace diecast::comm
