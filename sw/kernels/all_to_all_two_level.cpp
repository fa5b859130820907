// SPDX-License-Identifier: Apache-2.0
// All-to-all on the grid of comm::sip_rows: directly to all members of the own SIP, and all blocks for
// another SIP to the member in the own column there, which forwards them within it.
#include <vector>

#include "models/abi/alignment.hpp"
#include "sw/kernels/builtin.hpp"
#include "sw/kernels/grid_place.hpp"

namespace diecast::sw {
namespace all_to_all_two_level_kernel {

using arrival = pe_context::arrival;
using lanes = std::vector<pe_context::lane>;

class grid_all_to_all {
 public:
  explicit grid_all_to_all(pe_context& pe)
      : pe_(pe), place_(pe), input_(pe, pe.args().input), own_bytes_(input_.block(pe.args().rank).bytes) {}

  void run() {
    lanes first;
    for (std::uint32_t d = 1; d < place_.grid.rows; ++d) first.push_back(to_column(d));
    add_row(first, 0);
    pe_.stream(first, "own_row");
    for (std::uint32_t d = 1; d < place_.grid.rows; ++d) {
      lanes more;
      add_row(more, d);
      pe_.stream(more, "other_rows");
      copy(from(place_.grid.rank_at(place_.row_on(-std::int64_t{d}), place_.column)), kept(d, place_.column));
    }
    copy(from(pe_.args().rank), input_.block(pe_.args().rank));
  }

 private:
  /// All blocks for the members of a row.
  [[nodiscard]] tcm_range for_row(std::uint32_t row) const {
    return input_.blocks_from(place_.grid.rank_at(row, 0), place_.grid.columns)[0];
  }
  /// Where the blocks from `d` rows back are kept, which came for all members of this row; of them, the
  /// one for a column.
  [[nodiscard]] tcm_range kept(std::uint32_t d) const {
    const std::uint64_t bytes = for_row(place_.row).bytes;
    return {pe_.args().scratch + (d - 1) * bytes, bytes};
  }
  [[nodiscard]] tcm_range kept(std::uint32_t d, std::uint32_t column) const {
    const tcm_range block = input_.block(place_.grid.rank_at(place_.row, column));
    return {kept(d).at + block.at - for_row(place_.row).at, block.bytes};
  }
  [[nodiscard]] tcm_range from(std::uint32_t rank) const {
    return {pe_.args().output + rank * own_bytes_, own_bytes_};
  }
  void copy(const tcm_range& to, const tcm_range& source) {
    if (source.bytes > 0) pe_.copy(to.at, source.at, source.bytes);
  }

  [[nodiscard]] pe_context::lane to_column(std::uint32_t d) const {
    const tcm_range sent = for_row(place_.row_on(d));
    const tcm_range received = kept(d);
    return {{comm::column_ahead(place_.grid, d)},
            {{sent.at, sent.bytes}},
            {comm::column_ahead(place_.grid, place_.grid.rows - d)},
            {{received.at, received.bytes, arrival::copy}}};
  }

  /// Within the row: the blocks that came from `rows_back` rows back; 0: those of this row's own members.
  void add_row(lanes& to, std::uint32_t rows_back) const {
    const std::uint32_t source_row = place_.row_on(-std::int64_t{rows_back});
    for (std::uint32_t d = 1; d < place_.grid.columns; ++d) {
      const std::uint32_t column = place_.column_on(d);
      const tcm_range sent =
          rows_back == 0 ? input_.block(place_.grid.rank_at(place_.row, column)) : kept(rows_back, column);
      const tcm_range received = from(place_.grid.rank_at(source_row, place_.column_on(-std::int64_t{d})));
      to.push_back({{comm::row_ahead(place_.grid, d)},
                    {{sent.at, sent.bytes}},
                    {comm::row_ahead(place_.grid, place_.grid.columns - d)},
                    {{received.at, received.bytes, arrival::copy}}});
    }
  }

  pe_context& pe_;
  grid_place place_;
  block_vector input_;
  std::uint64_t own_bytes_;
};

void run(pe_context& pe) { grid_all_to_all(pe).run(); }

/// What the members of the own column in the other SIPs send for this SIP: (rows - 1) times the largest share
/// of a row.
std::uint64_t forward_scratch(const argument_context& c) {
  const comm::sip_rows g = comm::sip_rows_of(c.members);
  const std::uint64_t share = (c.count / g.rows + 1) * numeric::size_of(c.type);
  return (g.rows - 1) * abi::aligned(share);
}

void fill(const argument_context& c, std::uint32_t, abi::kernel_arguments& a) {
  fill_grid_place(comm::sip_rows_of(c.members), a);
}

}  // namespace all_to_all_two_level_kernel

kernel_entry all_to_all_two_level_entry() {
  using namespace all_to_all_two_level_kernel;
  return {"two_level",
          "all_to_all",
          "directly within a SIP; to another SIP through the member in the same place there",
          "two_level_direct",
          any_ranks,
          run,
          forward_scratch,
          fill};
}

}  // namespace diecast::sw
