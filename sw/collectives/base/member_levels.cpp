// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/base/member_levels.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <numeric>
#include <string>
#include <tuple>

#include "models/types/error.hpp"
#include "sw/collectives/base/peer_patterns.hpp"

namespace diecast::comm {

member_levels::member_levels(const machine_shape& shape, const group& members) {
  const std::vector<cube_id> ring = cube_ring(shape);
  std::vector<std::uint32_t> on_ring(ring.size());
  for (std::uint32_t i = 0; i < ring.size(); ++i) on_ring[ring[i].value] = i;
  std::vector<std::uint32_t> ranks(members.members.size());
  std::iota(ranks.begin(), ranks.end(), 0U);
  const auto key = [&](std::uint32_t rank) {
    const pe_coord& m = members.members[rank];
    return std::tuple{m.sip, on_ring[m.cube.value], m.pe};
  };
  std::ranges::sort(ranks, [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });

  places.resize(ranks.size());
  for (const std::uint32_t rank : ranks) {
    const pe_coord& m = members.members[rank];
    if (sips.empty() || sips.back().id != m.sip) sips.push_back({m.sip, {}});
    auto& cubes = sips.back().cubes;
    if (cubes.empty() || cubes.back().id != m.cube) cubes.push_back({m.cube, {}});
    cubes.back().pes.push_back(m);
    places[rank] = {static_cast<std::uint32_t>(cubes.back().pes.size() - 1),
                    0,
                    static_cast<std::uint32_t>(cubes.size() - 1),
                    0,
                    static_cast<std::uint32_t>(sips.size() - 1),
                    0};
  }
  for (place& p : places) {
    const sip& s = sips[p.sip];
    p.pes = static_cast<std::uint32_t>(s.cubes[p.cube].pes.size());
    p.cubes = static_cast<std::uint32_t>(s.cubes.size());
    p.sips = static_cast<std::uint32_t>(sips.size());
    most_pes = std::max(most_pes, p.pes);
    most_cubes = std::max(most_cubes, p.cubes);
  }
}

std::uint32_t member_levels::hops() const {
  return most_pes / 2 + most_cubes / 2 + static_cast<std::uint32_t>(sips.size()) / 2;
}

namespace {

struct point {
  std::uint32_t x{}, y{};
};

/// Place of a member in the grid of its rank set: of its SIP, of its cube, or of the PE by its number among
/// the members of its cube, so that cubes which lack equally many PEs still make a rectangle.
point coordinates(const pattern_context& c, pe_coord pe, std::uint32_t place, sip_grid sips) {
  const std::uint32_t sip_x = pe.sip.value % sips.columns;
  const std::uint32_t sip_y = pe.sip.value / sips.columns;
  if (c.members.set == rank_set::sip) return {sip_x, sip_y};
  const std::uint32_t cube_y = sip_y * c.shape.cube_rows + c.shape.cube_y(pe.cube);
  return {sip_x * c.shape.cube_columns + c.shape.cube_x(pe.cube),
          c.members.set == rank_set::cube ? cube_y : cube_y * c.shape.pes_per_cube + place};
}

std::vector<std::uint32_t> distinct(const std::vector<point>& points, std::uint32_t point::*coordinate) {
  std::vector<std::uint32_t> values;
  values.reserve(points.size());
  for (const point& p : points) values.push_back(p.*coordinate);
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::uint32_t index_of(const std::vector<std::uint32_t>& sorted, std::uint32_t value) {
  return static_cast<std::uint32_t>(std::ranges::lower_bound(sorted, value) - sorted.begin());
}

}  // namespace

rank_grid::rank_grid(const pattern_context& c) {
  const sip_grid sips = sip_grid_of(c.config);
  std::vector<point> points;
  const member_levels levels(c.shape, c.members);
  for (std::uint32_t rank = 0; rank < c.members.members.size(); ++rank)
    points.push_back(coordinates(c, c.members.members[rank], levels.places[rank].pe, sips));
  const std::vector<std::uint32_t> xs = distinct(points, &point::x);
  const std::vector<std::uint32_t> ys = distinct(points, &point::y);
  columns_ = static_cast<std::uint32_t>(xs.size());
  rows_ = static_cast<std::uint32_t>(ys.size());

  rank_.assign(xs.size() * ys.size(), nobody);
  for (std::uint32_t rank = 0; rank < points.size(); ++rank) {
    position_.push_back(index_of(ys, points[rank].y) * columns_ + index_of(xs, points[rank].x));
    rank_[position_.back()] = rank;
  }
  if (std::ranges::find(rank_, nobody) != rank_.end()) {
    const bool whole = config::population(c.config).whole();
    throw user_error({"ranks", "the members do not fill a rectangle of cubes and PEs",
                      fmt::format("{} members in {} columns and {} rows{}", points.size(), columns_, rows_,
                                  whole ? "" : "; overrides leave out PEs"),
                      fmt::format("{} members", rank_.size())});
  }
}

namespace {

/// How many members follow the first with an equal key, if all runs of equal keys are as long and no key
/// comes twice; else 0.
template <typename Key>
std::uint32_t equal_runs(const std::vector<pe_coord>& m, const Key& key) {
  std::vector<decltype(key(m.front()))> seen;
  std::size_t length = 0;
  for (std::size_t at = 0; at < m.size();) {
    std::size_t end = at;
    while (end < m.size() && key(m[end]) == key(m[at])) ++end;
    if (length == 0) length = end - at;
    if (end - at != length || std::ranges::find(seen, key(m[at])) != seen.end()) return 0;
    seen.push_back(key(m[at]));
    at = end;
  }
  return static_cast<std::uint32_t>(length);
}

/// Every SIP's cubes, in the order of ranks, are `columns` wide and begin where the first SIP's do.
bool fill_rectangles(const machine_shape& shape, const std::vector<pe_coord>& leaders, std::uint32_t per_sip,
                     std::uint32_t columns) {
  const std::uint32_t x0 = shape.cube_x(leaders.front().cube), y0 = shape.cube_y(leaders.front().cube);
  for (std::uint32_t i = 0; i < leaders.size(); ++i) {
    const std::uint32_t place = i % per_sip;
    if (shape.cube_x(leaders[i].cube) != x0 + place % columns) return false;
    if (shape.cube_y(leaders[i].cube) != y0 + place / columns) return false;
  }
  return true;
}

}  // namespace

member_box::coordinates member_box::at(std::uint32_t rank) const {
  coordinates x{};
  for (std::uint32_t d = dimensions; d-- > 0; rank /= size[d]) x[d] = rank % size[d];
  return x;
}

std::uint32_t member_box::rank_at(const coordinates& x) const {
  std::uint32_t rank = 0;
  for (std::uint32_t d = 0; d < dimensions; ++d) rank = rank * size[d] + x[d];
  return rank;
}

member_box member_box_of(const machine_shape& shape, const group& g) {
  const std::vector<pe_coord>& m = g.members;
  const auto n = static_cast<std::uint32_t>(m.size());
  const std::uint32_t per_sip = equal_runs(m, [](const pe_coord& p) { return p.sip.value; });
  if (per_sip == 0) return {{1, 1, 1, n}};
  const member_box sips_alone{{n / per_sip, 1, 1, per_sip}};
  const std::uint32_t per_cube =
      equal_runs(m, [](const pe_coord& p) { return std::pair(p.sip.value, p.cube.value); });
  if (per_cube == 0) return sips_alone;
  std::vector<pe_coord> leaders;
  for (std::uint32_t r = 0; r < n; r += per_cube) leaders.push_back(m[r]);
  const std::uint32_t cubes = per_sip / per_cube;
  std::uint32_t columns = 1;
  while (columns < cubes && shape.cube_y(leaders[columns].cube) == shape.cube_y(leaders[0].cube)) ++columns;
  if (cubes % columns != 0 || !fill_rectangles(shape, leaders, cubes, columns)) return sips_alone;
  return {{n / per_sip, cubes / columns, columns, per_cube}};
}

std::uint32_t member_box::partners() const {
  std::uint32_t sum = 0;
  for (const std::uint32_t members : size) sum += members - 1;
  return sum;
}

direction box_ahead(const member_box& box, std::uint32_t dimension, std::uint32_t distance) {
  std::uint32_t first = 0;
  for (std::uint32_t d = 0; d < dimension; ++d) first += box.size[d] - 1;
  return static_cast<direction>(first + distance - 1);
}

std::vector<edge> line_edges(const group& g, const member_box& box) {
  const std::vector<pe_coord>& m = g.members;
  std::vector<edge> edges;
  for (std::uint32_t r = 0; r < m.size(); ++r) {
    for (std::uint32_t d = 0; d < member_box::dimensions; ++d) {
      for (std::uint32_t s = 1; s < box.size[d]; ++s) {
        member_box::coordinates x = box.at(r);
        x[d] = (x[d] + s) % box.size[d];
        edges.push_back(
            {m[r], box_ahead(box, d, s), m[box.rank_at(x)], true, box_ahead(box, d, box.size[d] - s)});
      }
    }
  }
  return edges;
}

std::vector<edge> box_lines(const pattern_context& c) {
  const member_box box = member_box_of(c.shape, c.members);
  if (box.partners() > c.config.ipcq.queue_pairs) {
    const bool one_line = box.size[member_box::pes] == box.ranks();
    throw user_error(
        {"ipcq.queue_pairs",
         fmt::format("too few for an exchange along lines of {} SIPs, {} rows, {} columns and {} ranks{}",
                     box.size[member_box::sips], box.size[member_box::rows], box.size[member_box::columns],
                     box.size[member_box::pes],
                     one_line ? " (all are one line where SIPs have different numbers of them)" : ""),
         std::to_string(c.config.ipcq.queue_pairs),
         fmt::format("at least {}, one for every other rank of the lines, or another algorithm",
                     box.partners())});
  }
  return line_edges(c.members, box);
}

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
    if (!whole || std::ranges::find(seen, sip) != seen.end()) return {1, n};
    seen.push_back(sip);
  }
  return {n / columns, columns};
}

}  // namespace diecast::comm
