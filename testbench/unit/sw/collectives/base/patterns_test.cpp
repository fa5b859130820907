// SPDX-License-Identifier: Apache-2.0
#include "models/comm/patterns.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "models/config/population.hpp"
#include "models/types/error.hpp"
#include "support/machines.hpp"
#include "support/test.hpp"
#include "sw/collectives/base/kernel_table.hpp"
#include "sw/collectives/exchange/step_schedule.hpp"
#include "sw/collectives/levels/intercube.hpp"
#include "sw/collectives/levels/level_rings.hpp"
#include "sw/collectives/rings/ring.hpp"

using namespace diecast;
using namespace diecast::comm;

namespace {

std::vector<edge> build(const config::machine_config& c, rank_set set,
                        std::vector<edge> (*pattern)(const pattern_context&)) {
  const group g = map_ranks(c.shape(), set);
  return pattern({c, c.shape(), g});
}

pe_coord pe_at(std::uint32_t sip, std::uint32_t cube, std::uint32_t pe = 0) {
  return {sip_id{sip}, cube_id{cube}, pe_id{pe}};
}

/// Where `from` leads in direction d, if anywhere.
std::optional<pe_coord> leads(const std::vector<edge>& edges, pe_coord from, direction d) {
  std::optional<pe_coord> to;
  for (const edge& e : edges) {
    if (e.from != from || e.dir != d) continue;
    CHECK_FALSE(to.has_value());
    to = e.to;
  }
  return to;
}

std::size_t count_from(const std::vector<edge>& edges, pe_coord from) {
  return static_cast<std::size_t>(
      std::count_if(edges.begin(), edges.end(), [&](const edge& e) { return e.from == from; }));
}

/// Every bidirectional edge has the opposite one back: what the plan will pair (D1).
void check_reciprocal(const std::vector<edge>& edges) {
  for (const edge& e : edges) {
    if (e.bidirectional) CHECK(leads(edges, e.to, opposite(e.dir)) == e.from);
  }
}

void check_installs(const config::machine_config& c, const std::vector<edge>& edges) {
  CHECK_NOTHROW(build_install_plan(edges, options_from(c, 0)));
}

}  // namespace

TEST_CASE("patterns: direction names and opposites") {
  CHECK(direction_name(north) == "N");
  CHECK(direction_name(global_east) == "global_E");
  CHECK(direction_name(child_right) == "child_right");
  CHECK(direction_name(17) == "custom17");
  for (direction d = 0; d < 20; ++d) CHECK(opposite(opposite(d)) == d);
  CHECK(opposite(east) == west);
  CHECK(opposite(global_north) == global_south);
  CHECK(opposite(parent) == parent);
}

TEST_CASE("patterns: mappers name the members of each rank set in order") {
  const auto shape = test::machine_with_trees({2, 3, 2, 4}).shape();
  CHECK(map_ranks(shape, rank_set::pe).members.size() == 48);
  const group cubes = map_ranks(shape, rank_set::cube);
  REQUIRE(cubes.members.size() == 12);
  CHECK(cubes.members[7] == pe_at(1, 1));
  const group sips = map_ranks(shape, rank_set::sip);
  CHECK(sips.members == std::vector{pe_at(0, 0), pe_at(1, 0)});
  CHECK(std::is_sorted(cubes.members.begin(), cubes.members.end()));
}

TEST_CASE("patterns: ring order visits neighboring cubes of the mesh one after the other") {
  for (const auto& [columns, rows] : {std::pair{4u, 4u}, {3u, 2u}, {1u, 5u}, {5u, 1u}, {5u, 5u}}) {
    const auto shape = test::machine_with_trees({2, columns, rows, 2}).shape();
    const group g = map_ranks(shape, rank_set::pe);
    const auto order = ring_order(shape, g);
    CHECK(std::set<std::uint32_t>(order.begin(), order.end()).size() == g.members.size());
    for (std::size_t i = 1; i < order.size(); ++i) {
      const pe_coord a = g.members[order[i - 1]];
      const pe_coord b = g.members[order[i]];
      if (a.sip != b.sip) continue;
      const auto gap = [](std::uint32_t p, std::uint32_t q) { return p > q ? p - q : q - p; };
      const auto distance =
          gap(shape.cube_x(a.cube), shape.cube_x(b.cube)) + gap(shape.cube_y(a.cube), shape.cube_y(b.cube));
      CHECK(distance == (a.cube == b.cube ? 0u : 1u));
    }
  }
}

TEST_CASE("patterns: ring_1d leads E to the next position and W back") {
  for (std::uint32_t pes = 1; pes <= 5; ++pes) {
    const auto c = test::machine_with_trees({1, 2, 2, pes});
    const group g = map_ranks(c.shape(), rank_set::pe);
    const auto order = ring_order(c.shape(), g);
    const auto edges = ring_1d({c, c.shape(), g});
    CHECK(edges.size() == 2 * g.members.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const pe_coord here = g.members[order[i]];
      const pe_coord next = g.members[order[(i + 1) % order.size()]];
      CHECK(leads(edges, here, east) == next);
      CHECK(leads(edges, next, west) == here);
    }
    check_reciprocal(edges);
    check_installs(c, edges);
  }
}

TEST_CASE("patterns: a ring of one has no edges, a ring of two leads both ways to the same peer") {
  CHECK(build(test::machine_with_trees({1, 1, 1, 1}), rank_set::pe, ring_1d).empty());
  CHECK(build(test::machine_with_trees({1, 1, 1, 1}), rank_set::pe, ring_1d_unidir).empty());
  const auto c = test::machine_with_trees({2, 1, 1, 1});
  const auto edges = build(c, rank_set::sip, ring_1d);
  CHECK(edges.size() == 4);
  CHECK(leads(edges, pe_at(0, 0), east) == pe_at(1, 0));
  CHECK(leads(edges, pe_at(0, 0), west) == pe_at(1, 0));
  check_reciprocal(edges);
}

TEST_CASE("patterns: ring_1d_unidir sends E and receives W") {
  const auto c = test::machine_with_trees({1, 3, 1, 1});
  const auto edges = build(c, rank_set::cube, ring_1d_unidir);
  CHECK(edges.size() == 3);
  for (const edge& e : edges) {
    CHECK_FALSE(e.bidirectional);
    CHECK(e.dir == east);
  }
  const install_plan plan = build_install_plan(edges, options_from(c, 0));
  CHECK(plan.queue_pairs.size() == 6);
  for (const auto& q : plan.queue_pairs) {
    CHECK(q.tx == (q.dir == east));
    CHECK(q.rx == (q.dir == west));
  }
}

TEST_CASE("patterns: the root of intercube") {
  CHECK(root_cube(test::machine_with_trees({1, 4, 4, 1}).shape(), config::root_place::corner) == cube_id{15});
  CHECK(root_cube(test::machine_with_trees({1, 4, 4, 1}).shape(), config::root_place::center) == cube_id{10});
  CHECK(root_cube(test::machine_with_trees({1, 5, 5, 1}).shape(), config::root_place::center) == cube_id{12});
  CHECK(root_cube(test::machine_with_trees({1, 3, 2, 1}).shape(), config::root_place::center) == cube_id{4});
  CHECK(root_cube(test::machine_with_trees({1, 1, 1, 1}).shape(), config::root_place::center) == cube_id{0});
}

TEST_CASE("patterns: intercube has its rows, the root's column and the ring of roots") {
  auto c = test::machine_with_trees({3, 4, 4, 8});
  const auto edges = build(c, rank_set::cube, intercube);
  CHECK(edges.size() == 3 * (4 * 3 + 3) * 2 + 3 * 2);
  CHECK(leads(edges, pe_at(1, 5), east) == pe_at(1, 6));
  CHECK(leads(edges, pe_at(1, 6), west) == pe_at(1, 5));
  CHECK(leads(edges, pe_at(1, 6), north) == pe_at(1, 10));  // north is y + 1, along the root's column x = 2
  CHECK(leads(edges, pe_at(1, 14), south) == pe_at(1, 10));
  CHECK_FALSE(leads(edges, pe_at(1, 5), north));
  CHECK_FALSE(leads(edges, pe_at(1, 7), east));  // a mesh does not wrap
  CHECK(leads(edges, pe_at(0, 10), global_east) == pe_at(1, 10));
  CHECK(leads(edges, pe_at(0, 10), global_west) == pe_at(2, 10));
  check_reciprocal(edges);
  check_installs(c, edges);

  c.ccl.root = config::root_place::corner;
  const auto corner = build(c, rank_set::cube, intercube);
  CHECK(leads(corner, pe_at(2, 15), global_east) == pe_at(0, 15));
  CHECK(leads(corner, pe_at(0, 11), north) == pe_at(0, 15));
}

TEST_CASE("patterns: intercube of small and odd shapes") {
  for (const auto& [sips, columns, rows] :
       {std::tuple{1u, 1u, 1u}, {1u, 3u, 2u}, {2u, 1u, 4u}, {2u, 4u, 1u}, {4u, 5u, 5u}, {6u, 2u, 3u}}) {
    for (const auto between : {config::inter_sip::ring_1d, config::inter_sip::torus_2d}) {
      auto c = test::machine_with_trees({sips, columns, rows, 2});
      c.ccl.between_sips = between;
      const auto edges = build(c, rank_set::cube, intercube);
      check_reciprocal(edges);
      check_installs(c, edges);
      const std::size_t mesh = 2 * (std::size_t{rows} * (columns - 1) + rows - 1);
      const auto inside =
          std::count_if(edges.begin(), edges.end(), [](const edge& e) { return e.dir < global_north; });
      CHECK(static_cast<std::size_t>(inside) == sips * mesh);
    }
  }
}

TEST_CASE("patterns: the torus between SIPs follows the SIP grid") {
  auto c = test::machine_with_trees({6, 2, 2, 1});
  c.ccl.between_sips = config::inter_sip::torus_2d;
  const auto edges = build(c, rank_set::cube, intercube);
  const auto root = [&](std::uint32_t sip) { return pe_at(sip, 3); };
  CHECK(leads(edges, root(0), global_east) == root(1));
  CHECK(leads(edges, root(2), global_east) == root(0));
  CHECK(leads(edges, root(1), global_north) == root(4));
  CHECK(leads(edges, root(1), global_south) == root(4));  // two rows: both ways to the same SIP
  CHECK(count_from(edges, root(0)) == 2 + 4);

  auto line = test::machine_with_trees({3, 1, 1, 1});
  line.ccl.between_sips = config::inter_sip::torus_2d;  // one row: its column drops its self-loops
  const auto flat = build(line, rank_set::cube, intercube);
  CHECK(flat.size() == 6);
  CHECK_FALSE(leads(flat, pe_at(0, 0), global_north));
}

TEST_CASE("patterns: intercube refuses members that are not all cube leaders") {
  const auto c = test::machine_with_trees({2, 2, 2, 2});
  CHECK_THROWS_AS(build(c, rank_set::pe, intercube), user_error);
  CHECK_THROWS_WITH(build(c, rank_set::sip, intercube), Catch::Contains("the first PE of each cube"));
  auto torus = c;
  torus.ccl.between_sips = config::inter_sip::torus_2d;
  group half = map_ranks(c.shape(), rank_set::cube);
  half.members.resize(4);
  CHECK_THROWS_WITH(intercube({torus, c.shape(), half}), Catch::Contains("torus_2d"));
  CHECK_NOTHROW(intercube({c, c.shape(), half}));
}

TEST_CASE("patterns: the SIP grid is the most nearly square one, or as given") {
  const auto grid = [](std::uint64_t sips, std::uint64_t columns) {
    config::pod_block p;
    p.sips = sips;
    p.columns = columns;
    return config::pod_grid_of(p);
  };
  CHECK(grid(6, 0) == config::pod_grid{3, 2});
  CHECK(grid(16, 0) == config::pod_grid{4, 4});
  CHECK(grid(7, 0) == config::pod_grid{7, 1});
  CHECK(grid(1, 0) == config::pod_grid{1, 1});
  CHECK(grid(6, 2) == config::pod_grid{2, 3});
  CHECK_THROWS_WITH(grid(6, 4), Catch::Contains("pod.columns") && Catch::Contains("divisor"));
  CHECK_THROWS_AS(grid(0, 0), user_error);
}

TEST_CASE("patterns: the table holds every pattern once") {
  std::set<std::string> names;
  for (const auto& p : sw::builtin_patterns()) {
    CHECK(names.insert(p.name).second);
    const auto c = test::machine_with_trees({2, 2, 2, 2});
    const group g = map_ranks(c.shape(), p.name == "hierarchical_3level" ? rank_set::pe : rank_set::cube);
    CHECK(p.build({c, c.shape(), g}).empty() == (p.name == "none"));
  }
  CHECK(names == std::set<std::string>{"all_to_all",
                                       "binomial_tree",
                                       "box_lines",
                                       "circulant",
                                       "circulant_unidir",
                                       "double_binary_tree",
                                       "hierarchical_3level",
                                       "in_network",
                                       "intercube",
                                       "mesh_2d",
                                       "mesh_2d_no_wrap",
                                       "multicast_tree",
                                       "neighbors",
                                       "nested_trees",
                                       "none",
                                       "packed_trees",
                                       "packed_trees_up",
                                       "pairwise",
                                       "recursive_doubling",
                                       "reduction_tree",
                                       "ring_1d",
                                       "ring_1d_unidir",
                                       "root_trees",
                                       "shift",
                                       "spanning_trees",
                                       "star",
                                       "swing",
                                       "three_level_rings",
                                       "torus_2d",
                                       "tree_binary",
                                       "two_level_direct",
                                       "two_level_rings"});
}

TEST_CASE("patterns: rings of PEs are there in cubes of as many members") {
  const auto grid_of = [](const machine_shape& shape, rank_set set) {
    const level_grid g = level_grid_of(map_ranks(shape, set));
    return std::array{g.sips, g.cubes, g.pes};
  };
  CHECK(grid_of({2, 4, 4, 8}, rank_set::pe) == std::array{2u, 16u, 8u});
  CHECK(grid_of({2, 4, 4, 8}, rank_set::cube) == std::array{2u, 16u, 1u});
  CHECK(grid_of({3, 1, 1, 5}, rank_set::pe) == std::array{3u, 1u, 5u});
  group g = map_ranks(machine_shape{1, 2, 2, 4}, rank_set::pe);
  g.members.erase(g.members.begin() + 6);  // a cube of three
  CHECK(level_grid_of(g).pes == 1);
  g = map_ranks(machine_shape{1, 2, 1, 2}, rank_set::pe);
  std::swap(g.members[1], g.members[2]);  // cubes 0, 1, 0, 1
  CHECK(level_grid_of(g).pes == 1);
  CHECK(level_grid_of(g).cubes == 4);
}

TEST_CASE("patterns: blocks of a cube travel in messages of about a slot") {
  const config::machine_config c;  // slots of 8 KiB
  const auto together = [&](std::uint32_t sips, std::uint32_t pes, std::uint64_t block) {
    const level_grid g{sips, 2, pes};
    return level_bundle_of(c, g, block * g.ranks());
  };
  CHECK(together(1, 8, 8192) == level_bundle::single);
  CHECK(together(2, 8, 4097) == level_bundle::single);
  CHECK(together(1, 8, 4096) == level_bundle::pair);
  CHECK(together(2, 8, 4096) == level_bundle::split);
  CHECK(together(3, 8, 1025) == level_bundle::split);
  CHECK(together(2, 8, 1024) == level_bundle::cube);
  CHECK(together(2, 7, 4096) == level_bundle::single);  // no pairs
}

TEST_CASE("patterns: the ring of the default cube's PEs, and its halves") {
  const config::machine_config config;
  const machine_shape shape{1, 1, 1, 8};
  const group members = map_ranks(shape, rank_set::pe);
  const level_rings rings({config, shape, members});
  CHECK(rings.pes() == std::vector<std::uint32_t>{3, 2, 1, 0, 4, 5, 6, 7});
  // Each half has one PE of every pair.
  for (const std::vector<std::uint32_t>& half : rings.halves()) {
    std::set<std::uint32_t> pairs;
    for (const std::uint32_t pe : half) pairs.insert(pe / 2);
    CHECK(half.size() == 4);
    CHECK(pairs.size() == 4);
  }
  CHECK(rings.half_with(0) != rings.half_with(1));
}

TEST_CASE("patterns: cubes of an even grid lie on a closed walk of single steps") {
  for (std::uint32_t w = 1; w <= 8; ++w) {
    for (std::uint32_t h = 1; h <= 8; ++h) {
      std::vector<std::pair<std::uint32_t, std::uint32_t>> walk(std::size_t{w} * h, {99, 99});
      for (std::uint32_t y = 0; y < h; ++y) {
        for (std::uint32_t x = 0; x < w; ++x) walk.at(cycle_position(x, y, w, h)) = {x, y};
      }
      std::uint32_t long_steps = 0;
      for (std::size_t i = 0; i < walk.size(); ++i) {
        const auto [x, y] = walk[i];
        const auto [u, v] = walk[(i + 1) % walk.size()];
        REQUIRE(x < w);  // every position is taken once
        const std::uint32_t steps = (x > u ? x - u : u - x) + (y > v ? y - v : v - y);
        if (steps > 1) ++long_steps;
      }
      const bool closed = w > 1 && h > 1 && w * h % 2 == 0;
      CHECK(long_steps == (closed || w * h <= 2 ? 0 : 1));
    }
  }
}

TEST_CASE("patterns: on a line everybody meets everybody once, few at a time over any cut") {
  for (std::uint32_t n = 1; n <= 12; ++n) {
    const auto steps = line_steps(n);
    REQUIRE(steps.size() == n);
    std::set<std::pair<std::uint32_t, std::uint32_t>> met;
    std::uint32_t most = 0;
    for (const auto& step : steps) {
      CHECK(std::set<std::uint32_t>(step.begin(), step.end()).size() == n);
      for (std::uint32_t cut = 1; cut < n; ++cut) {
        std::uint32_t up = 0, down = 0;
        for (std::uint32_t x = 0; x < n; ++x) {
          if (x < cut && step[x] >= cut) ++up;
          if (x >= cut && step[x] < cut) ++down;
        }
        most = std::max({most, up, down});
      }
      for (std::uint32_t x = 0; x < n; ++x) met.insert({x, step[x]});
    }
    CHECK(met.size() == std::size_t{n} * n);
    INFO(n << " places: " << most << " flows over the busiest cut");
    CHECK(most >= (n * n / 4 + n - 1) / n);
    if (n <= 6) CHECK(most == (n * n / 4 + n - 1) / n);
    CHECK(most <= std::max(1u, n / 2));
  }
}

TEST_CASE("patterns: steps over a grid pair senders with receivers and share no row's or column's link") {
  const auto c = test::machine_with_trees({1, 4, 4, 1});
  const group g = map_ranks(c.shape(), rank_set::cube);
  const rank_grid grid({c, c.shape(), g});
  std::vector<std::vector<step_partners>> all;
  for (std::uint32_t r = 0; r < 16; ++r) all.push_back(grid_steps(grid).of(r));
  for (std::size_t step = 0; step < 16; ++step) {
    std::map<std::tuple<char, std::uint32_t, std::uint32_t>, unsigned> flows;  // by way, line and cut
    for (std::uint32_t r = 0; r < 16; ++r) {
      const std::uint32_t to = all[r][step].to;
      CHECK(all[to][step].from == r);
      const auto [x, y, u, v] = std::tuple{grid.x(r), grid.y(r), grid.x(to), grid.y(to)};
      for (std::uint32_t cut = std::min(x, u) + 1; cut <= std::max(x, u); ++cut)
        ++flows[{x < u ? 'E' : 'W', y, cut}];
      for (std::uint32_t cut = std::min(y, v) + 1; cut <= std::max(y, v); ++cut)
        ++flows[{y < v ? 'N' : 'S', u, cut}];
    }
    for (const auto& [where, count] : flows) CHECK(count == 1);
  }
}

TEST_CASE("patterns: steps over a small grid are in an order in which flows wait little") {
  for (const auto& [columns, rows] : {std::pair{2u, 2u}, {3u, 2u}, {3u, 3u}, {4u, 3u}, {4u, 4u}}) {
    const auto c = test::machine_of({1, columns, rows, 1});
    const group g = map_ranks(c.shape(), rank_set::cube);
    const rank_grid grid({c, c.shape(), g});
    const grid_steps steps(grid);
    INFO(columns << " x " << rows);
    REQUIRE(steps.crossings_to_wait());
    // Steps of an odd line are no mirror images.
    CHECK(*steps.crossings_to_wait() <= (columns % 2 + rows % 2 == 0 ? 1 : 2));
    std::set<std::uint32_t> met;
    for (const step_partners& s : steps.of(1)) met.insert(s.to);
    CHECK(met.size() == g.members.size());
  }
  const auto large = test::machine_of({1, 5, 5, 1});
  const group g = map_ranks(large.shape(), rank_set::cube);
  CHECK_FALSE(grid_steps(rank_grid({large, large.shape(), g})).crossings_to_wait());
}

TEST_CASE("patterns: steps have times where every rank is alone on its cube, in one SIP") {
  const auto times = [](std::uint32_t sips, std::uint32_t columns, rank_set set, std::uint32_t rows = 4) {
    const auto c = test::machine_of({sips, columns, rows, 2});
    const group g = map_ranks(c.shape(), set);
    return step_times_of({c, c.shape(), g}, step_load::blocks);
  };
  const auto quiet = times(1, 4, rank_set::cube);
  REQUIRE(quiet);
  CHECK(quiet->packet.ns() == 17);  // 1 KiB and a header flit, 64 bytes per ns
  CHECK(quiet->wait.ns() > 0);
  CHECK(quiet->idle > quiet->wait * 6);
  CHECK_FALSE(times(1, 4, rank_set::pe));
  CHECK_FALSE(times(1, 4, rank_set::pe, 2));  // steps of a 4 x 4 grid, two ranks on each cube
  CHECK_FALSE(times(2, 2, rank_set::cube));
  CHECK_FALSE(times(1, 5, rank_set::cube));
  CHECK_FALSE(times(1, 2, rank_set::cube));  // links have room
  CHECK_FALSE(times(1, 1, rank_set::cube));  // a rank would wait in one step of four
}

TEST_CASE("patterns: steps leave the network interface time for copies of tensors in HBM") {
  auto c = test::machine_of({1, 4, 4, 2});
  c.ccl.tensors = config::tensor_kind::hbm;
  const group g = map_ranks(c.shape(), rank_set::cube);
  const auto times = [&](step_load load = step_load::chunks) {
    return step_times_of({c, c.shape(), g}, load).value();
  };
  CHECK(times(step_load::tensors).packet.ns() == Approx(17 * 2.35));
  CHECK(times().packet.ns() == Approx(17 * 1.8));
  c.ucie.format = config::flit_format::raw;
  c.ucie.modules = 1;
  c.ucie.lanes = 16;
  c.ucie.gt_s = 24;
  CHECK(times().packet.ns() == Approx(17 * 1.8));  // longer than the 17 * 64 / 48 ns between cubes
  c.ucie.gt_s = 8;
  CHECK(times().packet.ns() == Approx(17 * 64 / 16.0));
  auto few = c;
  few.sip.rows = 2;  // links are slower than the interface without copies
  few.ucie.gt_s = 24;
  CHECK_FALSE(step_times_of({few, few.shape(), map_ranks(few.shape(), rank_set::cube)}, step_load::chunks));
}

TEST_CASE("patterns: steps are as long as the slowest link between cubes makes them") {
  const auto times = [](const config::machine_config& c) {
    const group g = map_ranks(c.shape(), rank_set::cube);
    return step_times_of({c, c.shape(), g}, step_load::blocks);
  };
  const auto packet_ns = [&](const config::machine_config& c) { return times(c).value().packet.ns(); };
  auto c = test::machine_of({1, 4, 4, 2});
  c.ucie.format = config::flit_format::raw;
  c.ucie.lanes = 16;
  c.ucie.gt_s = 16;
  c.ucie.modules = 1;
  CHECK(packet_ns(c) == Approx(17 * 64 / 32.0));  // 16 lanes of 16 GT/s: 32 bytes per ns
  auto few = test::machine_of({1, 4, 3, 2});
  CHECK(times(few));
  few.ucie = c.ucie;
  CHECK_FALSE(times(few));
  c.ucie.modules = 8;
  CHECK(packet_ns(c) == 17);
  config::instance_override& slow = c.overrides.emplace_back();
  slow.match = "pod.sip0.cube_1_2.ucie_east";
  slow.modules = 1;
  CHECK(packet_ns(c) == Approx(17 * 64 / 32.0));
}

TEST_CASE("patterns: rows of the grid are SIPs of equal size, else there is one row") {
  const auto c = test::machine_with_trees({3, 2, 1, 2});
  group g = map_ranks(c.shape(), rank_set::pe);
  CHECK(sip_rows_of(g).rows == 3);
  CHECK(sip_rows_of(g).columns == 4);
  std::swap(g.members[0], g.members[5]);  // SIPs interleave
  CHECK(sip_rows_of(g).rows == 1);
  CHECK(sip_rows_of(g).columns == 12);
  g = map_ranks(c.shape(), rank_set::pe);
  g.members.pop_back();
  CHECK(sip_rows_of(g).rows == 1);
}
