// SPDX-License-Identifier: Apache-2.0
// Messages down a tree of ranks or up it, edge by edge, on an idle machine: when the last one is through.
// Formulas that took the dearest edge of every level would add up edges that lie on no common way.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/comm/patterns.hpp"
#include "models/comm/trees.hpp"
#include "models/cost/step_cost.hpp"

namespace diecast::cost {

class tree_walk {
 public:
  /// Bytes of the message between a rank and its parent.
  using bytes_of = std::function<double(std::uint32_t rank)>;

  /// Nodes by rank; every rank but the root has a parent. References must outlive the walk.
  tree_walk(const step_cost& step, const comm::group& ranks, const std::vector<comm::tree_node>& nodes);

  /// From the root to all; a rank sends to its children in their order, each message whole. ns.
  [[nodiscard]] double down(const bytes_of& bytes) const;
  /// The same where a rank sends on what it gets before it is copied, in one runtime call. ns.
  [[nodiscard]] double handed_down(const bytes_of& bytes) const;
  /// From all to the root, which adds messages up or keeps them; a rank takes its children's in their order
  /// and then sends. ns.
  [[nodiscard]] double up(const bytes_of& bytes, bool reduces) const;
  /// From all to the root, `bytes` slot by slot, each sum sent on as it is complete. Children that are near
  /// are added while those that have much below them are still on their way: a rank is done when it has
  /// worked through all of its slots, or its last child and one more edge are. `wire_ns`: of a slot at a
  /// rank's interface. ns.
  [[nodiscard]] double sums_up(double bytes, double wire_ns) const;

 private:
  [[nodiscard]] double walk_down(const bytes_of& bytes, bool is_handed_on) const;
  [[nodiscard]] double edge_ns(std::uint32_t from, std::uint32_t to, double bytes, bool reduces) const;

  const step_cost& step_;
  const comm::group& ranks_;
  const std::vector<comm::tree_node>& nodes_;
  std::vector<std::uint32_t> order_;  ///< parents before their children
};

}  // namespace diecast::cost
