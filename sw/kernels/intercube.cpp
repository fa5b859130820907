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
//
// intercube_pipelined does the same in chunks, so that all of it overlaps; on an open mesh of SIPs, where the
// exchange has phases that all roots go through together, in one chunk.
#include <algorithm>
#include <array>

#include "models/types/error.hpp"
#include "sw/kernels/builtin.hpp"
#include "sw/kernels/grid.hpp"
#include "sw/kernels/tree_all_reduce.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {
namespace intercube_kernel {

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
  sip_wrap,
  chunk_count
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

bool on_open_mesh(const abi::kernel_arguments& a) { return a.extra[sip_wrap] == 0; }

/// Between the roots of the SIPs, each share in its direction: along a row of SIPs to its part, along the
/// column, and back. With one row of SIPs the column has one member and this is a plain ring. Divides
/// averages.
void exchange_on_rings(pe_context& pe, const ring_shares& rows) {
  const ring_place column = sip_column_of(pe.args());
  ring_shares columns;
  for (const ring_share& s : rows)
    columns.push_back({s.ring.forth == comm::global_east ? column : column.reversed(), s.own()});
  reduce_scatter(pe, rows);
  all_reduce(pe, columns);
  all_gather(pe, rows);
}

void exchange_between_sips(pe_context& pe) {
  const ring_place row = sip_row_of(pe.args());
  if (on_open_mesh(pe.args())) return all_reduce_on_mesh(pe, row, sip_column_of(pe.args()));
  exchange_on_rings(pe, both_directions(row, whole(pe)));
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

/// The same flows as a tree: rows below the root's column, the column below the root.
tree_place tree_of(const abi::kernel_arguments& a) {
  const line_place row = row_of(a);
  const line_place column = column_of(a);
  tree_place t;
  t.divides = false;
  t.children.push_back(row.outer());
  if (!row.is_root()) {
    t.parent = row.inner();
    return t;
  }
  t.children.push_back(column.outer());
  if (!column.is_root()) t.parent = column.inner();
  return t;
}

void run_pipelined(pe_context& pe) {
  const auto chunks = static_cast<std::uint64_t>(pe.args().extra[chunk_count]);
  const tree_place tree = tree_of(pe.args());
  if (chunks == 1) return run_intercube(pe);
  start_in_output(pe);
  if (tree.parent) return tree_all_reduce(pe, tree, whole(pe), chunks);

  std::uint64_t summed = 0;
  std::array<std::uint64_t, 2> exchanged{};
  // A task for each direction: chunks of one need not wait for those of the other.
  const auto exchange_chunks = [&](std::size_t half) {
    for (std::uint64_t c = 0; c < chunks; ++c) {
      pe.wait_until([&, c] { return summed > c; });
      pe.step("between_sips", static_cast<std::uint32_t>(c));
      exchange_on_rings(pe, {both_directions(sip_row_of(pe.args()), part(whole(pe), c, chunks)).at(half)});
      ++exchanged.at(half);
    }
  };
  const auto ready = [&](std::uint64_t c) { return exchanged[0] > c && exchanged[1] > c; };
  pe.run_tasks({tree_up(pe, tree, whole(pe), chunks, summed), [&] { exchange_chunks(0); },
                [&] { exchange_chunks(1); }, tree_down(pe, tree, whole(pe), chunks, ready)});
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

void fill_pipelined(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  fill(c, rank, a);
  const auto hops = static_cast<std::uint32_t>(a.extra[columns] / 2 + a.extra[rows] / 2 +
                                               a.extra[sip_columns] + a.extra[sip_rows] - 1);
  a.extra[chunk_count] =
      on_open_mesh(a) ? 1 : static_cast<std::int64_t>(chunks_for(c, vector_bytes(c), hops));
}

}  // namespace intercube_kernel

kernel_entry intercube_entry() {
  using namespace intercube_kernel;
  return {"intercube",
          "all_reduce",
          "rows and columns of cubes to the root and back, the roots between SIPs",
          "intercube",
          {comm::rank_set::cube},
          run_intercube,
          without_scratch,
          fill};
}

kernel_entry intercube_pipelined_entry() {
  using namespace intercube_kernel;
  return {"intercube_pipelined", "all_reduce",           "intercube in chunks, the levels overlapping",
          "intercube",           {comm::rank_set::cube}, run_pipelined,
          without_scratch,       fill_pipelined};
}

}  // namespace diecast::sw
