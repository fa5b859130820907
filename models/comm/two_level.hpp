// SPDX-License-Identifier: Apache-2.0
// A group seen as a grid: a row for every SIP, a column for every place within a SIP. Collectives that work
// on rows and columns cross SIPs once per element and on all columns at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "models/comm/patterns.hpp"

namespace diecast::comm {

/// Rank = row * columns + column.
struct sip_rows {
  std::uint32_t rows{1}, columns{1};

  [[nodiscard]] std::uint32_t row_of(std::uint32_t rank) const { return rank / columns; }
  [[nodiscard]] std::uint32_t column_of(std::uint32_t rank) const { return rank % columns; }
  [[nodiscard]] std::uint32_t rank_at(std::uint32_t row, std::uint32_t column) const {
    return row * columns + column;
  }
};
/// Rows are the SIPs when their members follow each other in rank order and are equally many; otherwise
/// there is one row of all.
[[nodiscard]] sip_rows sip_rows_of(const group& g);

/// Place of a cube on a closed walk over a grid of cubes that takes one step at a time, so that a ring along
/// it crosses every edge between cubes at most once each way. Where there is none (both sides odd, or a
/// line) the walk is that of ring_order and its last step is long. With an even number of columns its long
/// runs go north and south: packets for other SIPs start along x, so that the rows are theirs for the most
/// part.
[[nodiscard]] std::uint32_t cycle_position(std::uint32_t x, std::uint32_t y, std::uint32_t columns,
                                           std::uint32_t rows);
/// Columns of a row in the order in which its ring passes them: cubes along cycle_position, PEs in order.
[[nodiscard]] std::vector<std::uint32_t> row_ring(const pattern_context& c, const sip_rows& g,
                                                  std::uint32_t row);

/// Rings: E/W along every row (row_ring), global_E/global_W along every column.
[[nodiscard]] std::vector<edge> two_level_rings(const pattern_context& c);

/// Turns of a row's ring, a hop of a block of so many slots each way, from the begin of one lap to that of
/// the next. Between two laps a block goes along the column, too, which takes as many turns as it has slots,
/// or twice as many; beside copies of tensors in HBM turns are longer (measured, docs/adr/0050).
[[nodiscard]] constexpr std::uint32_t turns_between_laps(std::uint64_t slots, bool beside_copies) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(1 + (beside_copies ? 1 : 2) * slots, 1u << 20));
}

/// Every rank with every other of its row and with every other of its column, both ways.
[[nodiscard]] std::vector<edge> two_level_direct(const pattern_context& c);
/// Directions of two_level_direct that lead `distance` (from 1) columns or rows on, cyclically.
[[nodiscard]] direction row_ahead(const sip_rows& g, std::uint32_t distance);
[[nodiscard]] direction column_ahead(const sip_rows& g, std::uint32_t distance);
/// Columns come first: "partner0", "partner1", ...
[[nodiscard]] std::vector<std::string> two_level_names();

}  // namespace diecast::comm
