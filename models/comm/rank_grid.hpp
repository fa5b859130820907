// SPDX-License-Identifier: Apache-2.0
// Ranks as a grid of rows and columns, for the algorithms that work on rows, then columns.
#pragma once

#include <cstdint>
#include <vector>

#include "models/comm/patterns.hpp"

namespace diecast::comm {

/// x counts the columns of cubes over all SIPs of the pod's grid; y the rows of cubes, and within a row of
/// cubes the members of a cube, by number. So a row joins PEs of one number in neighboring cubes, while none
/// is left out. Of rank sets cube and sip a cube or SIP is a point, whichever PE stands for it. Coordinates
/// that no member has are left out.
class rank_grid {
 public:
  /// Throws user_error when the members do not fill a rectangle.
  explicit rank_grid(const pattern_context& c);

  [[nodiscard]] std::uint32_t columns() const { return columns_; }
  [[nodiscard]] std::uint32_t rows() const { return rows_; }
  [[nodiscard]] std::uint32_t x(std::uint32_t rank) const { return position_[rank] % columns_; }
  [[nodiscard]] std::uint32_t y(std::uint32_t rank) const { return position_[rank] / columns_; }
  [[nodiscard]] std::uint32_t rank_at(std::uint32_t x, std::uint32_t y) const {
    return rank_[y * columns_ + x];
  }

 private:
  std::uint32_t columns_{}, rows_{};
  std::vector<std::uint32_t> position_;  ///< by rank: y * columns + x
  std::vector<std::uint32_t> rank_;      ///< by position
};

}  // namespace diecast::comm
