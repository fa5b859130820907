// SPDX-License-Identifier: Apache-2.0
// Members of a collective by level (PEs of a cube, cubes of a SIP, SIPs), for hierarchical algorithms.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/comm/patterns.hpp"

namespace diecast::comm {

/// The members' PEs by cube and SIP: cubes in order of cube_ring, PEs and SIPs by number. Cubes and SIPs
/// without a member are left out. A cube's leader is its first PE, a SIP's that of its first cube.
struct member_levels {
  struct cube {
    cube_id id;
    std::vector<pe_coord> pes;
  };
  struct sip {
    sip_id id;
    std::vector<cube> cubes;
  };
  /// Position of a member in its cube, of the cube in its SIP and of the SIP; and how many there are of each.
  struct place {
    std::uint32_t pe{}, pes{};
    std::uint32_t cube{}, cubes{};
    std::uint32_t sip{}, sips{};
  };

  member_levels(const machine_shape& shape, const group& members);

  std::vector<sip> sips;
  std::vector<place> places;  ///< by rank
  std::uint32_t most_pes{};   ///< most PEs of a cube
  std::uint32_t most_cubes{};

  /// Hops to the leader of leaders along the rings of all levels, at most.
  [[nodiscard]] std::uint32_t hops() const;
};

// Ranks as a grid of rows and columns, for the algorithms that work on rows, then columns.

/// x counts the columns of cubes over all SIPs of the pod's grid; y the rows of cubes, and within a row of
/// cubes the members of a cube, by number. So a row contains PEs of one number in neighboring cubes, if
/// none is left out. With rank sets cube and sip, a cube or SIP has one position, whichever PE is its member.
/// Coordinates that no member has are left out.
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

// Members as a box: SIPs x rows of cubes x columns of cubes x PEs of a cube. For collectives that exchange in
// one dimension after the other: partners of a member differ from it in one coordinate (its lines).

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

/// The box of the members. Where cubes have different numbers of members or fill no rectangle: SIPs x members
/// of a SIP; where SIPs have different numbers, or their members are not consecutive ranks: one line of all.
[[nodiscard]] member_box member_box_of(const machine_shape& shape, const group& g);

/// Every member with those in its lines, in both directions; queue pairs as box_ahead says.
[[nodiscard]] std::vector<edge> line_edges(const group& g, const member_box& box);
/// Direction to the member `distance` further (modulo its size) in a dimension.
[[nodiscard]] direction box_ahead(const member_box& box, std::uint32_t dimension, std::uint32_t distance);

// A group seen as a grid: a row for every SIP, a column for every position within a SIP. Collectives that
// work on rows and columns send each element once between SIPs, in all columns at once.

/// Rank = row * columns + column.
struct sip_rows {
  std::uint32_t rows{1}, columns{1};

  [[nodiscard]] std::uint32_t row_of(std::uint32_t rank) const { return rank / columns; }
  [[nodiscard]] std::uint32_t column_of(std::uint32_t rank) const { return rank % columns; }
  [[nodiscard]] std::uint32_t rank_at(std::uint32_t row, std::uint32_t column) const {
    return row * columns + column;
  }
};
/// Rows are the SIPs when their members are consecutive ranks and equal in number; otherwise all members are
/// one row.
[[nodiscard]] sip_rows sip_rows_of(const group& g);

}  // namespace diecast::comm
