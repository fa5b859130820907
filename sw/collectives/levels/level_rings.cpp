// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/levels/level_rings.hpp"

#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "models/fabric/placement.hpp"
#include "sw/collectives/base/member_levels.hpp"
#include "sw/collectives/base/peer_patterns.hpp"

namespace diecast::comm {

std::uint32_t cycle_position(std::uint32_t x, std::uint32_t y, std::uint32_t columns, std::uint32_t rows) {
  if (columns % 2 == 0 && rows > 1) {
    // North along column 0, along the other columns in alternating directions, and back along row 0.
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
  std::ranges::sort(ring, [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  return ring;
}

std::vector<edge> two_level_rings(const pattern_context& c) {
  const sip_rows g = sip_rows_of(c.members);
  std::vector<edge> edges;
  for (std::uint32_t row = 0; row < g.rows; ++row) {
    std::vector<pe_coord> stops;
    for (const std::uint32_t column : row_ring(c, g, row))
      stops.push_back(c.members.members[g.rank_at(row, column)]);
    add_line(edges, stops, east, west, true);
  }
  for (std::uint32_t column = 0; column < g.columns; ++column) {
    std::vector<pe_coord> stops;
    for (std::uint32_t row = 0; row < g.rows; ++row)
      stops.push_back(c.members.members[g.rank_at(row, column)]);
    add_line(edges, stops, global_east, global_west, true);
  }
  return edges;
}

std::vector<edge> two_level_direct(const pattern_context& c) {
  const sip_rows g = sip_rows_of(c.members);
  return line_edges(c.members, {{g.rows, 1, 1, g.columns}});
}

namespace {

using rank_order = std::vector<std::uint32_t>;

/// Flows on the links of a mesh, which go along x first, then y.
class mesh_flows {
 public:
  explicit mesh_flows(const ring_task& task) : task_(task) {
    std::uint32_t rows = 0;
    for (const std::uint32_t r : task.routers) rows = std::max(rows, r / task.columns + 1);
    last_user_.resize(std::size_t{rows} * task.columns * sides);
    last_use_.resize(last_user_.size());
  }

  [[nodiscard]] std::uint64_t steps() const { return steps_; }

  [[nodiscard]] std::uint32_t cost(const rank_order& ring) {
    begin();
    add(ring, true);
    const std::uint32_t sum = total();
    if (!task_.pairs) return sum;
    const std::array<rank_order, 2> halves = halves_of(ring);
    begin();
    for (const rank_order& half : halves) add(half, false);
    return sum + total();
  }

 private:
  static constexpr std::size_t sides = 4;

  void begin() {
    ++use_;
    users_ = used_ = 0;
  }
  [[nodiscard]] std::uint32_t total() const {
    constexpr std::uint32_t shared = 64;
    return (users_ - used_) * shared + users_;
  }
  void add(const rank_order& ring, bool both_directions) {
    const std::size_t n = ring.size();
    for (std::size_t i = 0; i < n; ++i) {
      ++user_;
      flow(ring[i], ring[(i + 1) % n]);
      if (both_directions) flow(ring[i], ring[(i + n - 1) % n]);
    }
  }
  void flow(std::uint32_t sender, std::uint32_t receiver) {
    ++steps_;
    std::uint32_t at = task_.routers[sender];
    const std::uint32_t to = task_.routers[receiver], columns = task_.columns;
    const auto step = [&](std::size_t side, std::uint32_t next) {
      use(at * sides + side);
      at = next;
    };
    while (at % columns < to % columns) step(0, at + 1);
    while (at % columns > to % columns) step(1, at - 1);
    while (at < to) step(2, at + columns);
    while (at > to) step(3, at - columns);
  }
  /// Two flows of a sender on a link count once.
  void use(std::size_t link) {
    ++steps_;
    if (last_use_[link] != use_) ++used_;
    last_use_[link] = use_;
    if (last_user_[link] != user_) ++users_;
    last_user_[link] = user_;
  }

  const ring_task& task_;
  std::vector<std::uint64_t> last_user_, last_use_;  ///< by link
  std::uint64_t user_{}, use_{}, steps_{};
  std::uint32_t users_{}, used_{};
};

/// Applies the best change repeatedly, as long as there is one and steps are left.
class descent {
 public:
  descent(const ring_task& task, rank_order from, std::uint64_t most_steps)
      : flows_(task), most_steps_(most_steps), ring_(std::move(from)), least_(flows_.cost(ring_)) {}

  void run() {
    for (bool better = ring_.size() > 3; better && !is_cut();) better = improve();
  }
  [[nodiscard]] bool is_cut() const { return flows_.steps() >= most_steps_; }
  [[nodiscard]] found_ring found() const { return {ring_, least_, flows_.steps()}; }

 private:
  bool improve() {
    rank_order best = ring_;
    bool better = false;
    const auto look = [&](const rank_order& changed) {
      const std::uint32_t cost = flows_.cost(changed);
      if (cost >= least_) return;
      least_ = cost;
      best = changed;
      better = true;
    };
    for (std::size_t i = 0; i < ring_.size() && !is_cut(); ++i) {
      for (std::size_t j = i + 1; j < ring_.size() && !is_cut(); ++j) {
        rank_order changed = ring_;
        std::swap(changed[i], changed[j]);
        look(changed);
        changed = ring_;
        std::reverse(changed.begin() + static_cast<std::ptrdiff_t>(i),
                     changed.begin() + static_cast<std::ptrdiff_t>(j) + 1);
        look(changed);
      }
    }
    ring_ = std::move(best);
    return better;
  }

  mesh_flows flows_;
  std::uint64_t most_steps_;
  rank_order ring_;
  std::uint32_t least_;
};

rank_order by_number(const ring_task& task) {
  rank_order ring(task.routers.size());
  std::iota(ring.begin(), ring.end(), 0U);
  return ring;
}

/// Order of the routers by rows, in alternating directions.
rank_order by_rows(const ring_task& task) {
  rank_order ring = by_number(task);
  const auto key = [&](std::uint32_t pe) {
    const std::uint32_t x = task.routers[pe] % task.columns, y = task.routers[pe] / task.columns;
    return std::tuple{y, y % 2 == 0 ? x : task.columns - x, pe};
  };
  std::ranges::sort(ring, [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  return ring;
}

}  // namespace

found_ring search_ring(const ring_task& task) {
  descent first(task, by_number(task), most_ring_steps / 2);
  first.run();
  found_ring best = first.found();
  if (!first.is_cut()) return best;
  descent second(task, by_rows(task), most_ring_steps / 2);
  second.run();
  const std::uint64_t steps = best.steps + second.found().steps;
  if (second.found().cost < best.cost) best = second.found();
  best.steps = steps;
  return best;
}

std::uint32_t ring_cost(const ring_task& task, const std::vector<std::uint32_t>& ring) {
  return mesh_flows(task).cost(ring);
}

std::array<std::vector<std::uint32_t>, 2> halves_of(const std::vector<std::uint32_t>& ring) {
  std::array<std::vector<std::uint32_t>, 2> halves;
  constexpr std::size_t not_met = 2;
  std::vector<std::size_t> half_of_second(ring.size() / 2 + 1, not_met);  // by pair
  std::size_t met = 0;
  for (const std::uint32_t pe : ring) {
    std::size_t& second = half_of_second[pe / 2];
    const std::size_t half = second != not_met ? second : met++ % 2;
    second = 1 - half;
    halves[half].push_back(pe);
  }
  return halves;
}

namespace {

/// Runs of `pes` members, each all of those in one cube; no cube is met twice.
bool are_cubes(const group& g, std::uint32_t pes) {
  std::set<std::pair<sip_id, cube_id>> seen;
  for (std::size_t first = 0; first < g.members.size(); first += pes) {
    const pe_coord& leader = g.members[first];
    const auto begin = g.members.begin() + static_cast<std::ptrdiff_t>(first);
    const bool whole = std::all_of(
        begin, begin + pes, [&](const pe_coord& m) { return m.sip == leader.sip && m.cube == leader.cube; });
    if (!whole || !seen.insert({leader.sip, leader.cube}).second) return false;
  }
  return true;
}

void add_ring(std::vector<edge>& edges, const ring_directions& ring, const std::vector<pe_coord>& members) {
  if (members.size() != 2) return add_line(edges, members, ring[0], ring[1], true);
  edges.push_back({members[0], ring[0], members[1], true, ring[0]});
  edges.push_back({members[1], ring[0], members[0], true, ring[0]});
}

class edge_builder {
 public:
  explicit edge_builder(const pattern_context& c) : members_(c.members.members), rings_(c) {}

  std::vector<edge> build() {
    const level_grid& g = rings_.grid();
    for (std::uint32_t cube = 0; cube < g.cubes; ++cube)
      for (std::uint32_t pe = 0; pe < g.pes; ++pe) over_sips(cube, pe);
    for (std::uint32_t sip = 0; sip < g.sips; ++sip) {
      for (std::uint32_t pe = 0; pe < g.pes; ++pe) over_cubes(sip, pe);
      for (std::uint32_t cube = 0; cube < g.cubes; ++cube) over_pes(sip, cube);
    }
    return std::move(edges_);
  }

 private:
  [[nodiscard]] const pe_coord& at(std::uint32_t sip, std::uint32_t cube, std::uint32_t pe) const {
    return members_[rings_.grid().rank_at(sip, cube, pe)];
  }
  void over_sips(std::uint32_t cube, std::uint32_t pe) {
    std::vector<pe_coord> members;
    for (std::uint32_t sip = 0; sip < rings_.grid().sips; ++sip) members.push_back(at(sip, cube, pe));
    add_ring(edges_, round_sips, members);
  }
  void over_cubes(std::uint32_t sip, std::uint32_t pe) {
    std::vector<pe_coord> members;
    for (const std::uint32_t cube : rings_.cubes(sip)) members.push_back(at(sip, cube, pe));
    add_ring(edges_, round_cubes, members);
  }
  void over_pes(std::uint32_t sip, std::uint32_t cube) {
    const auto ring = [&](const ring_directions& directions, const std::vector<std::uint32_t>& pes) {
      std::vector<pe_coord> members;
      for (const std::uint32_t pe : pes) members.push_back(at(sip, cube, pe));
      add_ring(edges_, directions, members);
    };
    ring(round_pes, rings_.pes());
    if (!rings_.has_pairs()) return;
    for (const std::vector<std::uint32_t>& half : rings_.halves()) ring(round_half, half);
    for (std::uint32_t pe = 0; pe < rings_.grid().pes; pe += 2) ring({in_pair, in_pair}, {pe, pe + 1});
  }

  const std::vector<pe_coord>& members_;
  level_rings rings_;
  std::vector<edge> edges_;
};

}  // namespace

level_grid level_grid_of(const group& g) {
  const sip_rows rows = sip_rows_of(g);
  const auto n = static_cast<std::uint32_t>(g.members.size());
  std::uint32_t pes = n > 0 ? 1 : 0;
  while (pes < n && g.members[pes].sip == g.members[0].sip && g.members[pes].cube == g.members[0].cube) ++pes;
  if (pes < 2 || rows.columns % pes != 0 || !are_cubes(g, pes)) return {rows.rows, rows.columns, 1};
  return {rows.rows, rows.columns / pes, pes};
}

level_rings::level_rings(const pattern_context& c) : grid_(level_grid_of(c.members)) {
  for (std::uint32_t sip = 0; sip < grid_.sips; ++sip) {
    std::vector<std::uint32_t>& cubes = cubes_.emplace_back();
    for (const std::uint32_t column : row_ring(c, {grid_.sips, grid_.cubes * grid_.pes}, sip))
      if (column % grid_.pes == 0) cubes.push_back(column / grid_.pes);
  }
  const auto first = c.members.members.begin();
  const std::size_t pes = std::min<std::size_t>(grid_.pes, c.members.members.size());
  const fabric::placed_layout cube = fabric::place_cube(c.config, {});
  ring_task task{cube.layout.columns, {}, has_pairs()};
  for (auto pe = first; pe != first + static_cast<std::ptrdiff_t>(pes); ++pe)
    task.routers.push_back(cube.router_of[pe->pe.value]);
  pes_ = search_ring(task).order;
  if (has_pairs()) halves_ = halves_of(pes_);
}

const std::vector<std::uint32_t>& level_rings::half_with(std::uint32_t pe) const {
  const bool in_first = std::ranges::find(halves_[0], pe) != halves_[0].end();
  return halves_[in_first ? 0 : 1];
}

level_bundle level_bundle_of(const config::machine_config& c, const level_grid& g, std::uint64_t bytes) {
  const std::uint64_t block = bytes / std::max(1u, g.sips * g.cubes * g.pes);
  if (block * g.pes <= c.ipcq.slot_bytes) return level_bundle::cube;
  if (!g.has_pairs() || block * 2 > c.ipcq.slot_bytes) return level_bundle::single;
  return g.sips > 1 ? level_bundle::split : level_bundle::pair;
}

std::vector<edge> three_level_rings(const pattern_context& c) { return edge_builder(c).build(); }

std::vector<std::string> three_level_names() {
  return {"sips_up",  "sips_down", "cubes_up",  "cubes_down", "pes_up",
          "pes_down", "half_up",   "half_down", "pair"};
}

}  // namespace diecast::comm
