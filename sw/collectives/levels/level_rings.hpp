// SPDX-License-Identifier: Apache-2.0
// Groups as SIPs, cubes and PEs with rings at every level, for two_level and three_level.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/comm/patterns.hpp"
#include "sw/collectives/base/member_levels.hpp"

namespace diecast::comm {

/// Place of a cube on a closed walk over a grid of cubes that takes one step at a time, so that a ring along
/// it crosses every edge between cubes at most once in each direction. Where there is none (both sides odd,
/// or a line) the walk is that of ring_order and its last step is long. With an even number of columns its
/// long runs go north and south: packets for other SIPs start along x, and so have most of the row links.
[[nodiscard]] std::uint32_t cycle_position(std::uint32_t x, std::uint32_t y, std::uint32_t columns,
                                           std::uint32_t rows);
/// Columns of a row in the order in which its ring passes them: cubes along cycle_position, PEs in order.
[[nodiscard]] std::vector<std::uint32_t> row_ring(const pattern_context& c, const sip_rows& g,
                                                  std::uint32_t row);

/// Rings: E/W along every row (row_ring), global_E/global_W along every column.
[[nodiscard]] std::vector<edge> two_level_rings(const pattern_context& c);

/// Steps of a row's ring (a hop of one block of so many slots, in each direction) from the start of one round
/// to the start of the next. Between two rounds a block is also sent along the column, which takes one or two
/// steps per slot; during copies of tensors in HBM steps are longer (measured, docs/adr/0050).
[[nodiscard]] constexpr std::uint32_t steps_between_passes(std::uint64_t slots, bool beside_copies) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(1 + (beside_copies ? 1 : 2) * slots, 1u << 20));
}

/// Every rank with every other of its row and of its column, in both directions.
[[nodiscard]] std::vector<edge> two_level_direct(const pattern_context& c);
/// Directions of two_level_direct that lead `distance` (from 1) columns or rows on, cyclically.
[[nodiscard]] constexpr direction column_ahead(std::uint32_t distance) {
  return static_cast<direction>(distance - 1);
}
[[nodiscard]] constexpr direction row_ahead(const sip_rows& g, std::uint32_t distance) {
  return static_cast<direction>(g.rows - 1 + distance - 1);
}

// An order in which the PEs of a cube are a ring on its mesh of routers, so that few flows share a link.

/// PEs are numbers from 0.
struct ring_task {
  std::uint32_t columns{1};            ///< columns of the mesh
  std::vector<std::uint32_t> routers;  ///< by PE, row by row; several PEs may share one
  bool pairs{};  ///< PEs 2i and 2i + 1 are a pair, and the halves of the ring (halves_of) count, too
};

struct found_ring {
  std::vector<std::uint32_t> order;
  std::uint32_t cost{};
  std::uint64_t steps{};  ///< examinations of a flow or link by the search
};
/// Limit of a search, which still finishes its current ring: about a third of a second. With up to 32 PEs it
/// ends below a quarter of that.
inline constexpr std::uint64_t most_ring_steps = 10'000'000;

/// Reverses and swaps parts of the ring while that reduces its cost, from the order of numbers; where that
/// takes more than half of the steps, also from the order of rows, and returns the better of both. Equal
/// tasks have equal rings.
[[nodiscard]] found_ring search_ring(const ring_task& task);

/// The cost that the search reduces: links with flows of several PEs, which count more than any number of
/// hops, and hops. Of the ring both directions count, of the halves one.
[[nodiscard]] std::uint32_t ring_cost(const ring_task& task, const std::vector<std::uint32_t>& ring);

/// Two rings with one PE of each pair, in the order of `ring`: the first PEs of pairs on it alternate
/// between the two, so that both have short paths.
[[nodiscard]] std::array<std::vector<std::uint32_t>, 2> halves_of(const std::vector<std::uint32_t>& ring);

// A group seen as SIPs of cubes of PEs, with rings at every level for every place: over the SIPs, over the
// cubes of a SIP, and over the PEs of a cube.

/// Rank = (sip * cubes + cube) * pes + pe.
struct level_grid {
  std::uint32_t sips{1}, cubes{1}, pes{1};

  [[nodiscard]] std::uint32_t sip_of(std::uint32_t rank) const { return rank / (cubes * pes); }
  [[nodiscard]] std::uint32_t cube_of(std::uint32_t rank) const { return rank / pes % cubes; }
  [[nodiscard]] std::uint32_t pe_of(std::uint32_t rank) const { return rank % pes; }
  [[nodiscard]] std::uint32_t rank_at(std::uint32_t sip, std::uint32_t cube, std::uint32_t pe) const {
    return (sip * cubes + cube) * pes + pe;
  }
  [[nodiscard]] std::uint32_t ranks() const { return sips * cubes * pes; }
  [[nodiscard]] bool has_pairs() const { return pes % 2 == 0 && pes >= 4; }
};
/// Cubes are those of the machine when all have as many members, which follow each other in rank order;
/// otherwise every member is a cube of its own. SIPs are those of sip_rows_of.
[[nodiscard]] level_grid level_grid_of(const group& g);

/// Queue pairs of the rings, forth and back. A ring of two has only the first.
using ring_directions = std::array<direction, 2>;
inline constexpr ring_directions round_sips{0, 1}, round_cubes{2, 3}, round_pes{4, 5}, round_half{6, 7};
inline constexpr direction in_pair = 8;

/// The rings of a group. PEs are numbers among the members of a cube.
class level_rings {
 public:
  explicit level_rings(const pattern_context& c);

  [[nodiscard]] const level_grid& grid() const { return grid_; }
  /// Cubes of a SIP in the order of their ring (row_ring).
  [[nodiscard]] const std::vector<std::uint32_t>& cubes(std::uint32_t sip) const { return cubes_[sip]; }
  /// All PEs of a cube, each near the one before, so that few flows of several PEs share a link.
  [[nodiscard]] const std::vector<std::uint32_t>& pes() const { return pes_; }
  /// PEs 2i and 2i + 1 are a pair; there are pairs where PEs are even in number and four or more.
  [[nodiscard]] bool has_pairs() const { return grid_.has_pairs(); }
  /// One PE of every pair, and the others.
  [[nodiscard]] const std::array<std::vector<std::uint32_t>, 2>& halves() const { return halves_; }
  /// The half that has this PE.
  [[nodiscard]] const std::vector<std::uint32_t>& half_with(std::uint32_t pe) const;

 private:
  level_grid grid_;
  std::vector<std::vector<std::uint32_t>> cubes_;
  std::vector<std::uint32_t> pes_;
  std::array<std::vector<std::uint32_t>, 2> halves_;
};

/// PEs of a cube whose blocks are one message on the rings over the cubes: one, two, or all. split: two PEs,
/// each with the blocks of some SIPs.
enum class level_bundle : std::uint8_t { single, pair, cube, split };
/// The choice for a vector of `bytes`: messages about as long as a slot.
[[nodiscard]] level_bundle level_bundle_of(const config::machine_config& c, const level_grid& g,
                                           std::uint64_t bytes);

[[nodiscard]] std::vector<edge> three_level_rings(const pattern_context& c);
[[nodiscard]] std::vector<std::string> three_level_names();

}  // namespace diecast::comm
