// SPDX-License-Identifier: Apache-2.0
// All-reduce over pe0 of every cube: rows reduce into the root's column, the column into the root, the roots
// of the SIPs exchange, then column and rows broadcast. The whole vector (the tile) moves per hop.
//
//   row reduce     tiles flow towards the root's column
//   column reduce  on the root's column, tiles flow towards the root
//   between SIPs   the root PEs: reduce-scatter and all-gather on a ring, or on a torus of SIPs rows,
//                  then columns, then rows; half of the vector in each direction; on a mesh of SIPs the same
//                  on open lines. Every element is reduced along one path and then copied, so all SIPs end
//                  with the same bits.
//
// intercube_pipelined does this in chunks, so that the levels overlap; on an open mesh of SIPs, where all
// roots go through the phases of the exchange together, it takes one chunk.
#include "sw/collectives/levels/intercube.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "models/config/population.hpp"
#include "models/types/error.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/base/member_levels.hpp"
#include "sw/collectives/base/peer_patterns.hpp"
#include "sw/collectives/levels/level_rings.hpp"
#include "sw/collectives/rings/ring.hpp"
#include "sw/collectives/trees/tree_all_reduce.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::comm {

namespace {

/// The only member of every cube of the group's SIPs.
class cube_leaders {
 public:
  /// Throws user_error when some cube has none, or more than one.
  explicit cube_leaders(const pattern_context& c) {
    const member_levels levels(c.shape, c.members);
    for (const member_levels::sip& sip : levels.sips) {
      sips_.push_back(sip.id);
      for (const member_levels::cube& cube : sip.cubes)
        by_cube_.emplace(std::pair{sip.id, cube.id}, cube.pes[0]);
    }
    const std::size_t wanted = std::size_t{c.shape.cubes_per_sip()} * sips_.size();
    const bool one_each = levels.most_pes <= 1 && by_cube_.size() == wanted;
    if (one_each) return;
    const config::population machine(c.config);
    throw user_error({"intercube", "the members are not one PE of every cube of their SIPs",
                      fmt::format("{} members in {} SIPs{}", c.members.members.size(), sips_.size(),
                                  machine.whole() ? "" : "; overrides leave out PEs"),
                      fmt::format("{} members, the first PE of each cube (rank set cube)", wanted)});
  }
  [[nodiscard]] pe_coord at(sip_id sip, cube_id cube) const { return by_cube_.at({sip, cube}); }
  [[nodiscard]] const std::vector<sip_id>& sips() const { return sips_; }

 private:
  std::vector<sip_id> sips_;
  std::map<std::pair<sip_id, cube_id>, pe_coord> by_cube_;
};

void add_mesh(std::vector<edge>& edges, const pattern_context& c, const cube_leaders& leaders, sip_id sip) {
  for (std::uint32_t y = 0; y < c.shape.cube_rows; ++y) {
    std::vector<pe_coord> row;
    for (std::uint32_t x = 0; x < c.shape.cube_columns; ++x)
      row.push_back(leaders.at(sip, c.shape.cube_at(x, y)));
    add_line(edges, row, east, west, false);
  }
  const std::uint32_t root_x = c.shape.cube_x(root_cube(c.shape, c.config.ccl.root));
  std::vector<pe_coord> column;
  for (std::uint32_t y = 0; y < c.shape.cube_rows; ++y)
    column.push_back(leaders.at(sip, c.shape.cube_at(root_x, y)));
  add_line(edges, column, north, south, false);
}

void add_sip_grid(std::vector<edge>& edges, const pattern_context& c, const std::vector<pe_coord>& roots,
                  bool closed) {
  const sip_grid grid = sip_grid_of(c.config);
  if (roots.size() != c.shape.sips) {
    throw user_error({"ccl.inter_sip",
                      fmt::format("{} needs every SIP of the pod", closed ? "torus_2d" : "mesh_2d_no_wrap"),
                      fmt::format("{} SIPs", roots.size()), fmt::format("{}", c.shape.sips)});
  }
  for (std::uint32_t y = 0; y < grid.rows; ++y) {
    const auto first = roots.begin() + std::ptrdiff_t{y} * grid.columns;
    add_line(edges, {first, first + grid.columns}, global_east, global_west, closed);
  }
  for (std::uint32_t x = 0; x < grid.columns; ++x) {
    std::vector<pe_coord> column;
    for (std::uint32_t y = 0; y < grid.rows; ++y) column.push_back(roots[y * grid.columns + x]);
    add_line(edges, column, global_north, global_south, closed);
  }
}

}  // namespace

std::vector<edge> intercube(const pattern_context& c) {
  std::vector<edge> edges;
  std::vector<pe_coord> roots;
  const cube_leaders leaders(c);
  for (const sip_id sip : leaders.sips()) {
    add_mesh(edges, c, leaders, sip);
    roots.push_back(leaders.at(sip, root_cube(c.shape, c.config.ccl.root)));
  }
  switch (c.config.ccl.between_sips) {
    case config::inter_sip::ring_1d: add_line(edges, roots, global_east, global_west, true); break;
    case config::inter_sip::torus_2d: add_sip_grid(edges, c, roots, true); break;
    case config::inter_sip::mesh_2d_no_wrap: add_sip_grid(edges, c, roots, false); break;
  }
  return edges;
}

}  // namespace diecast::comm

namespace diecast::sw {

pattern_table level_patterns() {
  return {{"intercube",
           "the first PE of each cube: rows and the root's column of each SIP, and the roots between SIPs",
           comm::intercube},
          {"two_level_rings",
           "a ring over the members of each SIP (E, W), and over the SIPs for every position within one "
           "(global_E, global_W)",
           comm::two_level_rings},
          {"two_level_direct",
           "every rank with all ranks of its SIP, and with those at its position in the other SIPs",
           comm::two_level_direct, comm::numbered_names("partner", 0, 512), true},
          {"three_level_rings",
           "for every position rings over the SIPs and over the cubes of a SIP; rings over the PEs of a cube "
           "and over one PE of every pair; pairs",
           comm::three_level_rings, comm::three_level_names(), true}};
}

namespace intercube_kernel {

using directions = std::vector<comm::direction>;

/// A PE on a line of cubes and the root's place on it.
struct line_place {
  std::uint32_t at{}, size{}, root{};
  comm::direction up{}, down{};  ///< towards larger and smaller coordinates

  [[nodiscard]] bool is_root() const { return at == root; }
  /// The neighbors farther from the root: they send partial sums and receive the result.
  [[nodiscard]] directions outer() const {
    directions d;
    if (at <= root && at > 0) d.push_back(down);
    if (at >= root && at + 1 < size) d.push_back(up);
    return d;
  }
  /// The neighbor nearer to the root. Precondition: not the root.
  [[nodiscard]] comm::direction inner() const { return at < root ? up : down; }
};

struct parameters {
  std::uint32_t x{}, columns{}, root_x{}, y{}, rows{}, root_y{};
  std::uint32_t sip_x{}, sip_columns{}, sip_y{}, sip_rows{};
  std::uint64_t sip_wraps{};  ///< not 0: rows and columns of SIPs are rings, not open lines
  std::uint64_t chunks{1};

  [[nodiscard]] line_place row() const { return {x, columns, root_x, comm::east, comm::west}; }
  [[nodiscard]] line_place column() const { return {y, rows, root_y, comm::north, comm::south}; }
  [[nodiscard]] ring_place sip_row() const {
    return {sip_x, sip_columns, comm::global_east, comm::global_west};
  }
  [[nodiscard]] ring_place sip_column() const {
    return {sip_y, sip_rows, comm::global_north, comm::global_south};
  }
};

void reduce_to_root(pe_context& pe, const line_place& line, const tcm_range& tile) {
  pe.reduce_all(line.outer(), tile);
  if (!line.is_root()) pe.send_all(line.inner(), tile);
}

void broadcast_from_root(pe_context& pe, const line_place& line, const tcm_range& tile) {
  if (!line.is_root()) pe.recv_all(line.inner(), tile, pe_context::arrival::copy);
  pe.send_all(line.outer(), tile);
}

/// All-reduce between the roots of the SIPs, each share in its direction: reduce-scatter along a row of SIPs,
/// all-reduce along the column, all-gather along the row. With one row of SIPs the column has one member and
/// this is a plain ring. Divides averages.
void exchange_on_rings(pe_context& pe, const ring_place& column, const ring_shares& rows) {
  ring_shares columns;
  for (const ring_share& s : rows)
    columns.push_back({s.ring.forth == comm::global_east ? column : column.reversed(),
                       part(pe, s.range, s.ring.own(), s.ring.size)});
  reduce_scatter(pe, rows);
  all_reduce(pe, columns);
  all_gather(pe, rows);
}

void exchange_between_sips(pe_context& pe, const parameters& own) {
  if (own.sip_wraps == 0) return all_reduce_on_mesh(pe, own.sip_row(), own.sip_column());
  exchange_on_rings(pe, own.sip_column(), both_directions(pe, own.sip_row(), whole(pe)));
}

void run_intercube(pe_context& pe) {
  const auto own = pe.args().own.get<parameters>();
  const line_place row = own.row(), column = own.column();
  const tcm_range tile = whole(pe);
  start_in_output(pe);

  pe.step("row_reduce");
  reduce_to_root(pe, row, tile);
  if (row.is_root()) {
    pe.step("column_reduce");
    reduce_to_root(pe, column, tile);
    if (column.is_root()) {
      pe.step("between_sips");
      exchange_between_sips(pe, own);
    }
    pe.step("column_broadcast");
    broadcast_from_root(pe, column, tile);
  }
  pe.step("row_broadcast");
  broadcast_from_root(pe, row, tile);
}

/// The flows of run_intercube as a tree: rows below the root's column, the column below the root.
tree_place tree_of(const line_place& row, const line_place& column) {
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
  const auto own = pe.args().own.get<parameters>();
  const std::uint64_t chunks = own.chunks;
  const tree_place tree = tree_of(own.row(), own.column());
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
      exchange_on_rings(pe, own.sip_column(),
                        {both_directions(pe, own.sip_row(), part(pe, whole(pe), c, chunks)).at(half)});
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
  std::ranges::sort(sips);
  sips.erase(std::unique(sips.begin(), sips.end()), sips.end());
  return sips;
}

parameters parameters_of(const argument_context& c, std::uint32_t rank) {
  const pe_coord self = c.members.members.at(rank);
  const cube_id root = comm::root_cube(c.shape, c.config.ccl.root);
  const std::vector<sip_id> sips = sips_of(c.members);
  const auto n = static_cast<std::uint32_t>(sips.size());
  const auto at = static_cast<std::uint32_t>(std::ranges::lower_bound(sips, self.sip) - sips.begin());
  const config::inter_sip between = c.config.ccl.between_sips;
  const std::uint32_t width = between == config::inter_sip::ring_1d ? n : comm::sip_grid_of(c.config).columns;
  return {.x = c.shape.cube_x(self.cube),
          .columns = c.shape.cube_columns,
          .root_x = c.shape.cube_x(root),
          .y = c.shape.cube_y(self.cube),
          .rows = c.shape.cube_rows,
          .root_y = c.shape.cube_y(root),
          .sip_x = at % width,
          .sip_columns = width,
          .sip_y = at / width,
          .sip_rows = n / width,
          .sip_wraps = between == config::inter_sip::mesh_2d_no_wrap ? 0U : 1U};
}

void fill(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  a.own.set(parameters_of(c, rank));
}

void fill_pipelined(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  parameters own = parameters_of(c, rank);
  const std::uint32_t hops = own.columns / 2 + own.rows / 2 + own.sip_columns + own.sip_rows - 1;
  if (own.sip_wraps != 0) own.chunks = chunks_for(c, vector_bytes(c), hops);
  a.own.set(own);
}

}  // namespace intercube_kernel

kernel_table intercube_kernels() {
  using namespace intercube_kernel;
  return {
      {"intercube", "all_reduce", "rows and columns of cubes to the root and back, the roots between SIPs",
       "intercube", cube_ranks, run_intercube, without_scratch, fill},
      {"intercube_pipelined", "all_reduce", "intercube in chunks, the levels overlapping", "intercube",
       cube_ranks, run_pipelined, without_scratch, fill_pipelined}};
}

}  // namespace diecast::sw
