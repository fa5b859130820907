// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/levels/level_patterns.hpp"

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

namespace diecast::comm {
namespace {

/// The one member of every cube of its SIPs.
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
  return {
      {"intercube",
       "the first PE of each cube: rows and the root's column of each SIP, and the roots between SIPs",
       comm::intercube},
      {"two_level_rings",
       "a ring over the members of each SIP (E, W), and over the SIPs for every position within one "
       "(global_E, global_W)",
       comm::two_level_rings},
      {"two_level_direct",
       "every rank with all ranks of its SIP, and with those at its position in the "
       "other SIPs",
       comm::two_level_direct, comm::numbered_names("partner", 0, 512), true},
      {"three_level_rings",
       "for every position rings over the SIPs and over the cubes of a SIP; rings over the PEs of a cube and "
       "over one PE of every pair; pairs",
       comm::three_level_rings, comm::three_level_names(), true}};
}

}  // namespace diecast::sw
