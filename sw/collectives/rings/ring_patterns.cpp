// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/rings/ring_patterns.hpp"

#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/base/member_levels.hpp"
#include "sw/collectives/base/peer_patterns.hpp"

namespace diecast::comm {
namespace {

std::vector<pe_coord> stops_of(const pattern_context& c) {
  std::vector<pe_coord> stops;
  for (const std::uint32_t rank : ring_order(c.shape, c.members)) stops.push_back(c.members.members[rank]);
  return stops;
}

std::vector<edge> grid(const pattern_context& c, bool closed) {
  const rank_grid g(c);
  const auto at = [&](std::uint32_t x, std::uint32_t y) { return c.members.members[g.rank_at(x, y)]; };
  std::vector<edge> edges;
  for (std::uint32_t y = 0; y < g.rows(); ++y) {
    std::vector<pe_coord> row;
    for (std::uint32_t x = 0; x < g.columns(); ++x) row.push_back(at(x, y));
    add_line(edges, row, east, west, closed);
  }
  for (std::uint32_t x = 0; x < g.columns(); ++x) {
    std::vector<pe_coord> column;
    for (std::uint32_t y = 0; y < g.rows(); ++y) column.push_back(at(x, y));
    add_line(edges, column, north, south, closed);
  }
  return edges;
}

}  // namespace

std::vector<edge> ring_1d(const pattern_context& c) {
  std::vector<edge> edges;
  add_line(edges, stops_of(c), east, west, true);
  return edges;
}

std::vector<edge> ring_1d_unidir(const pattern_context& c) {
  const std::vector<pe_coord> stops = stops_of(c);
  std::vector<edge> edges;
  for (std::size_t i = 0; stops.size() > 1 && i < stops.size(); ++i) {
    edges.push_back({stops[i], east, stops[(i + 1) % stops.size()], false, west});
  }
  return edges;
}

std::vector<edge> mesh_2d(const pattern_context& c) { return grid(c, false); }
std::vector<edge> torus_2d(const pattern_context& c) { return grid(c, true); }

}  // namespace diecast::comm

namespace diecast::sw {

pattern_table ring_patterns() {
  return {{"ring_1d", "a ring over all ranks, both directions (E, W)", comm::ring_1d},
          {"ring_1d_unidir", "a ring over all ranks, one way (send E, receive W)", comm::ring_1d_unidir},
          {"mesh_2d", "rows (E, W) and columns (N, S) of ranks, open at their ends", comm::mesh_2d},
          {"mesh_2d_no_wrap", "the same as mesh_2d", comm::mesh_2d},
          {"torus_2d", "rows (E, W) and columns (N, S) of ranks, closed", comm::torus_2d}};
}

}  // namespace diecast::sw
