// SPDX-License-Identifier: Apache-2.0
#include "models/comm/member_box.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "models/comm/peer_patterns.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {
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
    if (end - at != length || std::find(seen.begin(), seen.end(), key(m[at])) != seen.end()) return 0;
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
  const std::vector<pe_coord>& m = c.members.members;
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

}  // namespace diecast::comm
