// SPDX-License-Identifier: Apache-2.0
// The tree of routers that copies and combines packets: its interface for the machine and its users.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "models/comm/install_plan.hpp"

namespace diecast::comm {

/// Whether the tree, of which a run has one, carries any of these edges.
[[nodiscard]] bool uses_tree(const std::vector<edge>& edges);

/// The sum of the contributions that a router receives, in the order in which they are added. Rounded to the
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
