// SPDX-License-Identifier: Apache-2.0
#include "models/comm/three_level.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "models/comm/ring_search.hpp"
#include "models/comm/two_level.hpp"
#include "models/fabric/placement.hpp"

namespace diecast::comm {
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
  const std::size_t n = members.size();
  if (n == 2) {
    edges.push_back({members[0], ring[0], members[1], true, ring[0]});
    edges.push_back({members[1], ring[0], members[0], true, ring[0]});
    return;
  }
  for (std::size_t i = 0; n > 1 && i < n; ++i) {
    edges.push_back({members[i], ring[0], members[(i + 1) % n], true, ring[1]});
    edges.push_back({members[i], ring[1], members[(i + n - 1) % n], true, ring[0]});
  }
}

class edge_builder {
 public:
  explicit edge_builder(const pattern_context& c) : members_(c.members.members), rings_(c) {}

  std::vector<edge> build() {
    const level_grid& g = rings_.grid();
    for (std::uint32_t cube = 0; cube < g.cubes; ++cube) {
      for (std::uint32_t pe = 0; pe < g.pes; ++pe) over_sips(cube, pe);
    }
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
    for (const std::uint32_t column : row_ring(c, {grid_.sips, grid_.cubes * grid_.pes}, sip)) {
      if (column % grid_.pes == 0) cubes.push_back(column / grid_.pes);
    }
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
  const bool in_first = std::find(halves_[0].begin(), halves_[0].end(), pe) != halves_[0].end();
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
