// SPDX-License-Identifier: Apache-2.0
// All-reduce over pe0 of every cube: rows reduce into the root's column, the column into the root,
// the roots of the SIPs exchange, then column and rows broadcast. A whole tile moves per hop.
//
//   row reduce     west of the root's column tiles flow east, east of it west
//   column reduce  on the root's column, likewise from south and north
//   between SIPs   the root PEs: reduce-scatter and all-gather on a ring, or on a torus of SIPs rows,
//                  then columns, then rows; half of the vector each way round; on a mesh of SIPs the same
//                  on open lines. Every element is reduced along one path and then copied, so all SIPs end
//                  with the same bits.
#include <algorithm>

#include "models/types/error.hpp"
#include "sw/kernels/builtin.hpp"
#include "sw/kernels/grid.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {
namespace {

using directions = std::vector<comm::direction>;

/// A PE on a line of cubes and the root's place on it.
struct line_place {
  std::int64_t at{}, size{}, root{};
  comm::direction up{}, down{};  ///< towards larger and smaller coordinates

  [[nodiscard]] bool is_root() const { return at == root; }
  /// Where partial sums come from, and where the result goes to.
  [[nodiscard]] directions outer() const {
    directions d;
    if (at <= root && at > 0) d.push_back(down);
    if (at >= root && at + 1 < size) d.push_back(up);
    return d;
  }
  /// The neighbor nearer to the root. Precondition: not the root.
  [[nodiscard]] comm::direction inner() const { return at < root ? up : down; }
};

/// The words of kernel_arguments::extra.
enum extra : std::size_t {
  x,
  columns,
  root_x,
  y,
  rows,
  root_y,
  sip_x,
  sip_columns,
  sip_y,
  sip_rows,
  sip_wrap
};

line_place row_of(const abi::kernel_arguments& a) {
  return {a.extra[x], a.extra[columns], a.extra[root_x], comm::east, comm::west};
}
line_place column_of(const abi::kernel_arguments& a) {
  return {a.extra[y], a.extra[rows], a.extra[root_y], comm::north, comm::south};
}
ring_place sip_row_of(const abi::kernel_arguments& a) {
  return {static_cast<std::uint32_t>(a.extra[sip_x]), static_cast<std::uint32_t>(a.extra[sip_columns]),
          comm::global_east, comm::global_west};
}
ring_place sip_column_of(const abi::kernel_arguments& a) {
  return {static_cast<std::uint32_t>(a.extra[sip_y]), static_cast<std::uint32_t>(a.extra[sip_rows]),
          comm::global_north, comm::global_south};
}

void reduce_to_root(pe_context& pe, const line_place& line, std::uint64_t tile, std::uint64_t bytes) {
  pe.reduce_all(line.outer(), tile, bytes);
  if (!line.is_root()) pe.send_all(line.inner(), tile, bytes);
}

void broadcast_from_root(pe_context& pe, const line_place& line, std::uint64_t tile, std::uint64_t bytes) {
  if (!line.is_root()) pe.recv_all(line.inner(), tile, bytes, pe_context::arrival::copy);
  pe.send_all(line.outer(), tile, bytes);
}

/// Roots of all SIPs; divides averages. With one row of SIPs the column has one member and this is a plain
/// ring.
void exchange_between_sips(pe_context& pe) {
  const ring_place sip_column = sip_column_of(pe.args());
  if (pe.args().extra[sip_wrap] == 0) return all_reduce_on_mesh(pe, sip_row_of(pe.args()), sip_column);
  both_ways_round(pe, sip_row_of(pe.args()), [&](const ring_place& row, const elements& half) {
    const bool mirrored = row.forth != comm::global_east;
    reduce_scatter(pe, row, half);
    const elements own = part(half, row.own(), row.size);
    all_reduce(pe, mirrored ? sip_column.reversed() : sip_column, own);
    finish_average(pe, own);
    all_gather(pe, row, half);
  });
}

void run_intercube(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  const std::uint64_t bytes = a.count * numeric::size_of(a.type);
  const std::uint64_t tile = a.output;
  const line_place row = row_of(a);
  const line_place column = column_of(a);
  if (a.output != a.input) pe.copy(a.output, a.input, bytes);

  pe.step("row_reduce");
  reduce_to_root(pe, row, tile, bytes);
  if (row.is_root()) {
    pe.step("column_reduce");
    reduce_to_root(pe, column, tile, bytes);
    if (column.is_root()) {
      pe.step("between_sips");
      exchange_between_sips(pe);
    }
    pe.step("column_broadcast");
    broadcast_from_root(pe, column, tile, bytes);
  }
  pe.step("row_broadcast");
  broadcast_from_root(pe, row, tile, bytes);
}

/// SIPs of the group, in order.
std::vector<sip_id> sips_of(const comm::group& g) {
  std::vector<sip_id> sips;
  for (const pe_coord& m : g.members) sips.push_back(m.sip);
  std::sort(sips.begin(), sips.end());
  sips.erase(std::unique(sips.begin(), sips.end()), sips.end());
  return sips;
}

void fill(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const pe_coord self = c.members.members.at(rank);
  const cube_id root = comm::root_cube(c.shape, c.config.ccl.root);
  a.extra[x] = c.shape.cube_x(self.cube);
  a.extra[columns] = c.shape.cube_columns;
  a.extra[root_x] = c.shape.cube_x(root);
  a.extra[y] = c.shape.cube_y(self.cube);
  a.extra[rows] = c.shape.cube_rows;
  a.extra[root_y] = c.shape.cube_y(root);

  const std::vector<sip_id> sips = sips_of(c.members);
  const auto position = std::lower_bound(sips.begin(), sips.end(), self.sip) - sips.begin();
  const auto width = c.config.ccl.between_sips == config::inter_sip::ring_1d
                         ? std::ssize(sips)
                         : static_cast<std::ptrdiff_t>(comm::sip_grid_of(c.config).columns);
  a.extra[sip_x] = position % width;
  a.extra[sip_columns] = width;
  a.extra[sip_y] = position / width;
  a.extra[sip_rows] = std::ssize(sips) / width;
  a.extra[sip_wrap] = c.config.ccl.between_sips == config::inter_sip::mesh_2d_no_wrap ? 0 : 1;
}

}  // namespace

kernel_entry intercube_entry() {
  return {"intercube",
          "all_reduce",
          "rows and columns of cubes to the root and back, the roots between SIPs",
          "intercube",
          {comm::rank_set::cube},
          run_intercube,
          without_scratch,
          fill};
}

}  // namespace diecast::sw
