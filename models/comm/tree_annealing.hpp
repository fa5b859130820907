// SPDX-License-Identifier: Apache-2.0
// Two trees below one root, found by simulated annealing over the links of whole routes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/comm/trees.hpp"

namespace diecast::comm {

/// What the search knows of a machine: members, numbered from 0, and the ways between them.
struct tree_task {
  /// Members may be places where the trees come from or go to another SIP; those have numbers like others.
  std::uint32_t members{};
  std::uint32_t root{};
  /// A member that may not be the first in both trees: none, or all (where the root is another SIP).
  bool tops_differ{};
  static constexpr std::uint32_t none = 255;
  /// A member that sends nothing: another SIP. In it a slot takes `beyond_ns` more to the last member.
  std::uint32_t leaf{none};
  double beyond_ns{};

  /// By upper member * members + lower member: numbers of the links between their routers...
  std::vector<std::vector<std::uint16_t>> links;
  /// ... and the time from a slot at one of them to the slot at the other, on an idle machine.
  std::vector<double> edge_ns;
  double slot_ns{};  ///< what a slot takes at the network interface of its sender

  struct link {
    std::uint32_t fit{1};    ///< flows that it carries side by side at full speed
    bool between_sips{};     ///< every way to another SIP takes it
    bool narrow{};           ///< slower than a sender: two flows of one take turns as those of two do
    std::uint32_t alike{1};  ///< links of the machine that it stands for: the same ways take them
  };
  std::vector<link> link_of;
};

/// Nodes by tree and member. A member's children are in the order in which slots are sent to them.
using tree_pair = std::array<std::vector<tree_node>, 2>;

struct tree_cost {
  double total_ns{};     ///< what the search makes small
  double farthest_ns{};  ///< until the last member has its first slot
  double shared_ns{};    ///< for links that flows share
};

/// What a pair of trees costs: the way to the last member, something of the mean way and, more than any
/// way, links that flows share. A slot that waits for another one holds up what its sender has for others,
/// and who sends all the time never makes good for it. Infinite where a member sends more than the vector.
[[nodiscard]] tree_cost cost_of(const tree_task& task, const tree_pair& trees);

/// Members of a task at most.
inline constexpr std::uint32_t most_annealed = 64;

/// Trees in which nobody sends more than the vector. Simulated annealing, from fixed seeds and with a fixed
/// number of moves: equal tasks, equal trees. About 0.4 s for 16 members, 1 s for 25 (two SIPs: 1
/// and 2). Precondition: 3 to most_annealed members, the leaf not among fewer than 4.
[[nodiscard]] tree_pair anneal_trees(const tree_task& task);

}  // namespace diecast::comm
