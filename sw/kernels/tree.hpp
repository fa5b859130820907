// SPDX-License-Identifier: Apache-2.0
// The binomial tree over all ranks with any root, on the circulant pattern.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "models/comm/peer_patterns.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {

/// Where a PE stands in the binomial tree. Counted from the root (v = rank - root modulo n) the parent of v
/// is v without its lowest set bit, and the subtree of v is v, v + 1, ... below v + lowest bit.
class binomial_place {
 public:
  binomial_place(std::uint32_t rank, std::uint32_t ranks, std::uint32_t root)
      : v_((rank + ranks - root) % ranks), n_(ranks) {}

  [[nodiscard]] bool is_root() const { return v_ == 0; }
  /// Level of the edge to the parent. Precondition: not the root.
  [[nodiscard]] std::uint32_t level() const { return static_cast<std::uint32_t>(std::countr_zero(v_)); }
  [[nodiscard]] comm::direction parent() const { return comm::down(level()); }
  /// Levels of the edges to the children, smallest subtree first. The child of level k is 2^k ranks on.
  [[nodiscard]] std::vector<std::uint32_t> child_levels() const {
    std::vector<std::uint32_t> levels;
    const std::uint32_t below = is_root() ? comm::circulant_levels(n_) : level();
    for (std::uint32_t k = 0; k < below && v_ + (std::uint32_t{1} << k) < n_; ++k) levels.push_back(k);
    return levels;
  }
  /// Ranks in the subtree of the child of level k.
  [[nodiscard]] std::uint32_t size_of_child(std::uint32_t k) const {
    return std::min(std::uint32_t{1} << k, n_ - v_ - (std::uint32_t{1} << k));
  }
  /// Ranks in this PE's own subtree.
  [[nodiscard]] std::uint32_t size() const {
    return is_root() ? n_ : std::min(std::uint32_t{1} << level(), n_ - v_);
  }

 private:
  std::uint32_t v_, n_;
};

}  // namespace diecast::sw
