// SPDX-License-Identifier: Apache-2.0
// Members as a box: SIPs x rows of cubes x columns of cubes x PEs of a cube. For collectives that go one
// dimension after the other, so that a member has partners in its lines alone.
#pragma once

#include <array>
#include <cstdint>

#include "models/comm/patterns.hpp"

namespace diecast::comm {

struct member_box {
  static constexpr std::uint32_t dimensions = 4;
  enum dimension : std::uint32_t { sips, rows, columns, pes };
  using coordinates = std::array<std::uint32_t, dimensions>;

  /// Members of each dimension; their product is the number of ranks, ranks count the last one fastest.
  coordinates size{1, 1, 1, 1};

  [[nodiscard]] std::uint32_t ranks() const { return size[sips] * size[rows] * size[columns] * size[pes]; }
  /// Other members of a member's lines.
  [[nodiscard]] std::uint32_t partners() const;
  [[nodiscard]] coordinates at(std::uint32_t rank) const;
  [[nodiscard]] std::uint32_t rank_at(const coordinates& x) const;
};

/// The box that the members are. Where cubes have different numbers of members or fill no rectangle: SIPs x
/// members of one; where SIPs have different numbers, or their
/// members do not follow each other in the order of ranks: one line of all.
[[nodiscard]] member_box member_box_of(const machine_shape& shape, const group& g);

/// Direction that leads `distance` on (modulo its size) in a dimension.
[[nodiscard]] direction box_ahead(const member_box& box, std::uint32_t dimension, std::uint32_t distance);

}  // namespace diecast::comm
