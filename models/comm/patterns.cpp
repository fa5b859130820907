// SPDX-License-Identifier: Apache-2.0
#include "models/comm/patterns.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <tuple>

#include "models/config/population.hpp"
#include "models/types/enum_name.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {

std::vector<std::string> numbered_names(const char* prefix, std::uint32_t first, std::uint32_t count) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < count; ++i) names.push_back(fmt::format("{}{}", prefix, first + i));
  return names;
}

const char* to_string(rank_set r) { return enum_name(r); }

group map_ranks(const config::population& machine, rank_set set) {
  group g{set, {}};
  for (const pe_coord pe : machine.pes()) {
    const bool first_of_sip = g.members.empty() || g.members.back().sip != pe.sip;
    const bool first_of_cube = first_of_sip || g.members.back().cube != pe.cube;
    if (set == rank_set::pe || (set == rank_set::cube ? first_of_cube : first_of_sip))
      g.members.push_back(pe);
  }
  return g;
}

std::vector<std::string> replaced_leaders(const config::population& machine, const group& g) {
  std::vector<std::string> lines;
  if (machine.whole() || g.set == rank_set::pe) return lines;
  for (const pe_coord& m : g.members) {
    const pe_coord first{m.sip, g.set == rank_set::sip ? cube_id{} : m.cube, pe_id{}};
    if (m == first || machine.has(first)) continue;
    lines.push_back(fmt::format("{} is missing: {} leads the {}", pe_path(machine.shape(), first),
                                pe_path(machine.shape(), m), to_string(g.set)));
  }
  return lines;
}

std::vector<cube_id> cube_ring(const machine_shape& shape) {
  std::vector<cube_id> cubes;
  for (std::uint32_t y = 0; y < shape.cube_rows; ++y) {
    for (std::uint32_t i = 0; i < shape.cube_columns; ++i)
      cubes.push_back(shape.cube_at(y % 2 == 0 ? i : shape.cube_columns - 1 - i, y));
  }
  return cubes;
}

std::vector<std::uint32_t> ring_order(const machine_shape& shape, const group& g) {
  const auto key = [&](std::uint32_t rank) {
    const pe_coord& m = g.members[rank];
    const std::uint32_t x = shape.cube_x(m.cube);
    const std::uint32_t y = shape.cube_y(m.cube);
    return std::tuple{m.sip, y, y % 2 == 0 ? x : shape.cube_columns - 1 - x, m.pe};
  };
  std::vector<std::uint32_t> ranks(g.members.size());
  std::iota(ranks.begin(), ranks.end(), 0u);
  std::ranges::sort(ranks, [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  return ranks;
}

cube_id root_cube(const machine_shape& shape, config::root_place place) {
  if (place == config::root_place::corner) return shape.cube_at(shape.cube_columns - 1, shape.cube_rows - 1);
  return shape.cube_at(shape.cube_columns / 2, shape.cube_rows / 2);
}

std::uint32_t root_of(const pattern_context& c) {
  const std::size_t n = c.members.members.size();
  if (c.root < n) return c.root;
  throw user_error(problem{"ccl.root_rank", "the root is no member of the group", std::to_string(c.root),
                           n == 0 ? "a group with members" : fmt::format("0 to {}", n - 1)});
}

std::string direction_name(const pattern_entry& p, direction d) {
  const direction first = p.names_all ? direction{0} : first_custom;
  if (d < first) return direction_name(d);
  const auto at = static_cast<std::size_t>(d) - first;
  return at < p.direction_names.size() ? p.direction_names[at] : direction_name(d);
}

sip_grid sip_grid_of(const config::machine_config& c) {
  const config::pod_grid grid = config::pod_grid_of(c.pod);
  return {grid.columns, grid.rows};
}

namespace {

std::optional<direction> known_direction(const std::string& name) {
  for (direction d = 0; d < first_custom; ++d)
    if (direction_name(d) == name) return d;
  return std::nullopt;
}

/// Numbers of names, in order of appearance.
class direction_numbers {
 public:
  direction of(const std::string& name) {
    if (const auto d = known_direction(name)) return *d;
    const auto at = std::ranges::find(names_, name);
    if (at == names_.end()) names_.push_back(name);
    return static_cast<direction>(first_custom + (std::ranges::find(names_, name) - names_.begin()));
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

std::vector<edge> checked(const std::vector<edge>& edges, const std::string& name, const pattern_context& c) {
  std::vector<pe_coord> members = c.members.members;
  std::ranges::sort(members);
  std::vector<problem> problems;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (const auto& [end, key] : {std::pair{edges[i].from, "from"}, {edges[i].to, "to"}}) {
      if (std::ranges::binary_search(members, end)) continue;
      problems.push_back(
          {fmt::format("ccl.patterns.{}[{}].{}", name, i, key),
           c.shape.contains(end) ? "is no member of the collective" : "no such PE in this machine",
           pe_key(end), fmt::format("one of the {} members", members.size())});
    }
  }
  if (!problems.empty()) throw user_error(std::move(problems));
  return edges;
}

}  // namespace

pattern_entry custom_pattern(const config::custom_pattern& p) {
  direction_numbers numbers;
  std::vector<edge> edges;
  for (const config::custom_edge& e : p.edges) {
    edge made{e.from, numbers.of(e.direction), e.to, e.bidirectional};
    if (e.reverse) made.reverse = numbers.of(*e.reverse);
    edges.push_back(made);
  }
  pattern_entry entry;
  entry.name = p.name;
  entry.description = "edges of ccl.patterns";
  entry.build = [edges, name = p.name](const pattern_context& c) { return checked(edges, name, c); };
  entry.direction_names = numbers.names();
  return entry;
}

}  // namespace diecast::comm
