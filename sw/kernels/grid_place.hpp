// SPDX-License-Identifier: Apache-2.0
// Where a PE stands on the grid of comm::sip_rows: rows are SIPs, columns the places within a SIP.
#pragma once

#include <cstdint>

#include "models/comm/two_level.hpp"
#include "sw/kernels/blocks.hpp"

namespace diecast::sw {

/// Words of kernel_arguments::extra that fill_grid_place writes.
enum grid_word : std::size_t { grid_word_rows, grid_word_columns, grid_words };

inline void fill_grid_place(const comm::sip_rows& grid, abi::kernel_arguments& a) {
  a.extra[grid_word_rows] = grid.rows;
  a.extra[grid_word_columns] = grid.columns;
}

struct grid_place {
  explicit grid_place(pe_context& pe)
      : grid{static_cast<std::uint32_t>(pe.args().extra[grid_word_rows]),
             static_cast<std::uint32_t>(pe.args().extra[grid_word_columns])},
        row(grid.row_of(pe.args().rank)),
        column(grid.column_of(pe.args().rank)) {}

  [[nodiscard]] std::uint32_t row_on(std::int64_t distance) const { return around(row, distance, grid.rows); }
  [[nodiscard]] std::uint32_t column_on(std::int64_t distance) const {
    return around(column, distance, grid.columns);
  }

  comm::sip_rows grid;
  std::uint32_t row, column;
};

}  // namespace diecast::sw
