// SPDX-License-Identifier: Apache-2.0
#include "models/comm/rank_grid.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "models/comm/member_levels.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {
namespace {

struct point {
  std::uint32_t x{}, y{};
};

/// Of rank set sip SIPs are the points, of cube cubes, whichever PE leads them. Of pe the PEs are, each by
/// its place among the members of its cube: cubes that lack as many PEs as each other still make a rectangle.
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
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::uint32_t index_of(const std::vector<std::uint32_t>& sorted, std::uint32_t value) {
  return static_cast<std::uint32_t>(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
}

}  // namespace

rank_grid::rank_grid(const pattern_context& c) {
  const sip_grid sips = sip_grid_of(c.config);
  std::vector<point> points;
  const member_levels levels(c.shape, c.members);
  for (std::uint32_t rank = 0; rank < c.members.members.size(); ++rank) {
    points.push_back(coordinates(c, c.members.members[rank], levels.places[rank].pe, sips));
  }
  const std::vector<std::uint32_t> xs = distinct(points, &point::x);
  const std::vector<std::uint32_t> ys = distinct(points, &point::y);
  columns_ = static_cast<std::uint32_t>(xs.size());
  rows_ = static_cast<std::uint32_t>(ys.size());

  constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();
  rank_.assign(xs.size() * ys.size(), nobody);
  for (std::uint32_t rank = 0; rank < points.size(); ++rank) {
    position_.push_back(index_of(ys, points[rank].y) * columns_ + index_of(xs, points[rank].x));
    rank_[position_.back()] = rank;
  }
  if (std::find(rank_.begin(), rank_.end(), nobody) != rank_.end()) {
    const bool whole = config::population(c.config).whole();
    throw user_error({"ranks", "the members do not fill a rectangle of cubes and PEs",
                      fmt::format("{} members in {} columns and {} rows{}", points.size(), columns_, rows_,
                                  whole ? "" : "; overrides leave out PEs"),
                      fmt::format("{} members", rank_.size())});
  }
}

}  // namespace diecast::comm
