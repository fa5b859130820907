// SPDX-License-Identifier: Apache-2.0
#include "models/comm/two_level.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <tuple>
#include <utility>

namespace diecast::comm {
namespace {

void add_ring(std::vector<edge>& edges, const std::vector<pe_coord>& stops, direction forth, direction back) {
  const std::size_t n = stops.size();
  for (std::size_t i = 0; n > 1 && i < n; ++i) {
    edges.push_back({stops[i], forth, stops[(i + 1) % n], true, back});
    edges.push_back({stops[i], back, stops[(i + n - 1) % n], true, forth});
  }
}

}  // namespace

sip_rows sip_rows_of(const group& g) {
  const auto n = static_cast<std::uint32_t>(g.members.size());
  if (n == 0) return {0, 1};
  std::uint32_t columns = 1;
  while (columns < n && g.members[columns].sip == g.members[0].sip) ++columns;
  if (n % columns != 0) return {1, n};
  std::vector<sip_id> seen;
  for (std::uint32_t first = 0; first < n; first += columns) {
    const sip_id sip = g.members[first].sip;
    const auto begin = g.members.begin() + first;
    const bool whole = std::all_of(begin, begin + columns, [sip](const pe_coord& m) { return m.sip == sip; });
    if (!whole || std::find(seen.begin(), seen.end(), sip) != seen.end()) return {1, n};
    seen.push_back(sip);
  }
  return {n / columns, columns};
}

std::uint32_t cycle_position(std::uint32_t x, std::uint32_t y, std::uint32_t columns, std::uint32_t rows) {
  if (columns % 2 == 0 && rows > 1) {
    // North along column 0, then back and forth over the rows from 1 on, home along row 0.
    if (y == 0) return x == 0 ? 0 : columns * rows - x;
    return 1 + x * (rows - 1) + (x % 2 == 0 ? y - 1 : rows - 1 - y);
  }
  if (rows % 2 == 0 && columns > 1) return cycle_position(y, x, rows, columns);
  return y * columns + (y % 2 == 0 ? x : columns - 1 - x);
}

std::vector<std::uint32_t> row_ring(const pattern_context& c, const sip_rows& g, std::uint32_t row) {
  const auto key = [&](std::uint32_t column) {
    const pe_coord& m = c.members.members[g.rank_at(row, column)];
    const auto [x, y] = std::pair{c.shape.cube_x(m.cube), c.shape.cube_y(m.cube)};
    return std::tuple{m.sip, cycle_position(x, y, c.shape.cube_columns, c.shape.cube_rows), m.pe};
  };
  std::vector<std::uint32_t> ring(g.columns);
  std::iota(ring.begin(), ring.end(), 0u);
  std::sort(ring.begin(), ring.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  return ring;
}

std::vector<edge> two_level_rings(const pattern_context& c) {
  const sip_rows g = sip_rows_of(c.members);
  std::vector<edge> edges;
  for (std::uint32_t row = 0; row < g.rows; ++row) {
    std::vector<pe_coord> stops;
    for (const std::uint32_t column : row_ring(c, g, row)) {
      stops.push_back(c.members.members[g.rank_at(row, column)]);
    }
    add_ring(edges, stops, east, west);
  }
  for (std::uint32_t column = 0; column < g.columns; ++column) {
    std::vector<pe_coord> stops;
    for (std::uint32_t row = 0; row < g.rows; ++row)
      stops.push_back(c.members.members[g.rank_at(row, column)]);
    add_ring(edges, stops, global_east, global_west);
  }
  return edges;
}

direction column_ahead(const sip_rows&, std::uint32_t distance) {
  return static_cast<direction>(distance - 1);
}
direction row_ahead(const sip_rows& g, std::uint32_t distance) {
  return static_cast<direction>(g.rows - 1 + distance - 1);
}

std::vector<edge> two_level_direct(const pattern_context& c) {
  const sip_rows g = sip_rows_of(c.members);
  const auto& m = c.members.members;
  std::vector<edge> edges;
  for (std::uint32_t rank = 0; rank < m.size(); ++rank) {
    const std::uint32_t row = g.row_of(rank);
    const std::uint32_t column = g.column_of(rank);
    for (std::uint32_t d = 1; d < g.rows; ++d) {
      edges.push_back({m[rank], column_ahead(g, d), m[g.rank_at((row + d) % g.rows, column)], true,
                       column_ahead(g, g.rows - d)});
    }
    for (std::uint32_t d = 1; d < g.columns; ++d) {
      edges.push_back({m[rank], row_ahead(g, d), m[g.rank_at(row, (column + d) % g.columns)], true,
                       row_ahead(g, g.columns - d)});
    }
  }
  return edges;
}

std::vector<std::string> two_level_names() {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < 512; ++i) names.push_back(fmt::format("partner{}", i));
  return names;
}

}  // namespace diecast::comm
