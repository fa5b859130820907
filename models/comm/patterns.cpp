// SPDX-License-Identifier: Apache-2.0
#include "models/comm/patterns.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "models/comm/level_rings.hpp"
#include "models/comm/member_levels.hpp"
#include "models/comm/neighbors.hpp"
#include "models/comm/nested_trees.hpp"
#include "models/comm/peer_patterns.hpp"
#include "models/comm/trees.hpp"
#include "models/config/population.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {
namespace {

/// Both directions of a line or ring over `stops`: `forth` leads to the next stop, `back` to the
/// one before. One stop has no edges; a ring of two has both directions lead to the same peer.
void add_line(std::vector<edge>& edges, const std::vector<pe_coord>& stops, direction forth, direction back,
              bool closed) {
  const std::size_t n = stops.size();
  if (n < 2) return;
  for (std::size_t i = 0; i < n; ++i) {
    if (closed || i + 1 < n) edges.push_back({stops[i], forth, stops[(i + 1) % n]});
    if (closed || i > 0) edges.push_back({stops[i], back, stops[(i + n - 1) % n]});
  }
}

std::vector<pe_coord> stops_of(const pattern_context& c) {
  std::vector<pe_coord> stops;
  for (const std::uint32_t rank : ring_order(c.shape, c.members)) stops.push_back(c.members.members[rank]);
  return stops;
}

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

/// Throws user_error unless the members are all PEs that their SIPs have, or stand for SIPs.
void check_all_pes(const pattern_context& c, const member_levels& levels) {
  if (c.members.set == rank_set::sip) return;
  const config::population machine(c.config);
  std::vector<pe_coord> wanted;
  for (const pe_coord pe : machine.pes()) {
    const bool member_sip = std::any_of(levels.sips.begin(), levels.sips.end(),
                                        [pe](const member_levels::sip& s) { return s.id == pe.sip; });
    if (member_sip) wanted.push_back(pe);
  }
  std::vector<pe_coord> members = c.members.members;
  std::sort(members.begin(), members.end());
  if (members == wanted) return;
  throw user_error({"hierarchical_3level", "the members are not all PEs of their SIPs",
                    fmt::format("{} members in {} SIPs", members.size(), levels.sips.size()),
                    fmt::format("{} members (rank set pe), or rank set sip", wanted.size())});
}

std::vector<std::string> partner_names() {
  std::vector<std::string> names = numbered_names("step", 0, 32);
  names.insert(names.begin(), "fold");
  return names;
}

}  // namespace

std::vector<std::string> numbered_names(const char* prefix, std::uint32_t first, std::uint32_t count) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < count; ++i) names.push_back(fmt::format("{}{}", prefix, first + i));
  return names;
}

const char* to_string(rank_set r) {
  switch (r) {
    case rank_set::pe: return "pe";
    case rank_set::cube: return "cube";
    case rank_set::sip: return "sip";
  }
  return "unknown";
}

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
  std::sort(ranks.begin(), ranks.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  return ranks;
}

cube_id root_cube(const machine_shape& shape, config::root_place place) {
  if (place == config::root_place::corner) return shape.cube_at(shape.cube_columns - 1, shape.cube_rows - 1);
  return shape.cube_at(shape.cube_columns / 2, shape.cube_rows / 2);
}

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

std::vector<edge> mesh_2d(const pattern_context& c) { return grid(c, false); }
std::vector<edge> torus_2d(const pattern_context& c) { return grid(c, true); }

std::vector<edge> hierarchical_3level(const pattern_context& c) {
  const member_levels levels(c.shape, c.members);
  check_all_pes(c, levels);
  std::vector<edge> edges;
  std::vector<pe_coord> sip_leaders;
  for (const member_levels::sip& sip : levels.sips) {
    std::vector<pe_coord> cube_leaders;
    for (const member_levels::cube& cube : sip.cubes) {
      add_line(edges, cube.pes, east, west, true);
      cube_leaders.push_back(cube.pes.front());
    }
    add_line(edges, cube_leaders, north, south, true);
    sip_leaders.push_back(cube_leaders.front());
  }
  add_line(edges, sip_leaders, global_east, global_west, true);
  return edges;
}

std::uint32_t root_of(const pattern_context& c) {
  const std::size_t n = c.members.members.size();
  if (c.root < n) return c.root;
  throw user_error(problem{"ccl.root_rank", "the root is no member of the group", std::to_string(c.root),
                           n == 0 ? "a group with members" : fmt::format("0 to {}", n - 1)});
}

std::vector<pattern_entry> builtin_patterns() {
  return {
      {"ring_1d", "a ring over all ranks, both directions (E, W)", ring_1d},
      {"ring_1d_unidir", "a ring over all ranks, one way (send E, receive W)", ring_1d_unidir},
      {"mesh_2d", "rows (E, W) and columns (N, S) of ranks, open at their ends", mesh_2d},
      {"mesh_2d_no_wrap", "the same as mesh_2d", mesh_2d},
      {"torus_2d", "rows (E, W) and columns (N, S) of ranks, closed", torus_2d},
      {"none", "no queue pairs: data goes through global memory",
       [](const pattern_context&) { return std::vector<edge>{}; }},
      {"intercube",
       "the first PE of each cube: rows and the root's column of each SIP, and the roots between SIPs",
       intercube},
      {"hierarchical_3level",
       "rings over the PEs of a cube (E, W), the first PEs of the cubes (N, S), and the SIPs",
       hierarchical_3level},
      {nested_trees_name, "the trees of ccl.levels, one within the other (up, down0, down1, ...)",
       nested_tree_edges, nested_tree_names(), true},
      {"tree_binary", "a binary tree of ranks: parent (r-1)/2", tree_binary},
      {"double_binary_tree",
       "two binary trees; no rank is an inner node of both",
       double_binary_tree,
       {"parent2", "child_left2", "child_right2"}},
      {"binomial_tree", "binomial tree: the parent of rank r is r without its lowest set bit",
       [](const pattern_context& c) { return binomial_tree(c); }, partner_names(), true},
      {"recursive_doubling", "partners whose numbers differ in one bit; beyond a power of two neighbors fold",
       recursive_doubling, partner_names(), true},
      {"swing", "the partners of swing, and a folded last rank when their number is odd", swing,
       partner_names(), true},
      {"all_to_all", "every rank with every other (ipcq.queue_pairs at least ranks - 1)", all_to_all,
       numbered_names("plus", 1, 512), true},
      {"circulant", "rank r with ranks r + 1, r + 2, r + 4, ..., both ways (up0, down0, up1, ...)", circulant,
       circulant_names(), true},
      {"circulant_unidir", "rank r with ranks r + 1, r + 2, r + 4, ..., one way: send up, receive down",
       circulant_unidir, circulant_names(), true},
      {"pairwise", "every rank with every other, both ways (peer+1, peer+2, ...)", pairwise,
       numbered_names("peer+", 1, 511), true},
      {"two_level_rings",
       "a ring over the members of each SIP (E, W), and over the SIPs for every position within one "
       "(global_E, global_W)",
       two_level_rings},
      {"two_level_direct",
       "every rank with all ranks of its SIP, and with those at its position in the "
       "other SIPs",
       two_level_direct, numbered_names("partner", 0, 512), true},
      {"three_level_rings",
       "for every position rings over the SIPs and over the cubes of a SIP; rings over the PEs of a cube and "
       "over one PE of every pair; pairs",
       three_level_rings, three_level_names(), true},
      {"box_lines",
       "every rank with those of its line in each dimension: SIPs, rows and columns of cubes, PEs (peer+1, "
       "...)",
       box_lines, numbered_names("plus", 1, 512), true},
      {"root_trees", "two binary trees below the root, one way: no other rank is an inner node of both",
       root_trees, root_tree_names(), true},
      {"packed_trees",
       "two shallow trees below the root, one way, fitted to what members and links can carry",
       packed_tree_edges, packed_tree_names(), true},
      {"packed_trees_up",
       "two shallow trees towards the root, one way, fitted to what members and links can carry",
       packed_tree_edges_up, numbered_names("way", 0, 16), true},
      {"spanning_trees", "trees of neighbors, both ways, that together use all links alike",
       spanning_tree_edges, numbered_names("way", 0, 16), true},
      {"neighbors", "every rank with those one link away, both ways (neighbor0, neighbor1, ...)",
       neighbor_edges, numbered_names("neighbor", 0, 16), true},
      {"shift", "every rank to the next (send next, receive last)", shift, {"next", "last"}, true},
      {"star", "the root with every other rank, both ways (root; peer+1, peer+2, ...)", star, star_names(),
       true},
      {"multicast_tree", "the root to every other rank at once, down a tree of routers (noc.multicast)",
       multicast_tree, tree_direction_names(), true},
      {"reduction_tree", "every rank to the root, combined up a tree of routers (noc.reduce)", reduction_tree,
       tree_direction_names(), true},
      {"in_network", "up and down a tree of routers over the most central rank (noc.reduce)", in_network,
       tree_direction_names(), true}};
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

}  // namespace diecast::comm
