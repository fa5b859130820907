// SPDX-License-Identifier: Apache-2.0
// Mesh, torus, ring and crossbar: ways, VCs and freedom from cycles.
#include "models/fabric/router_grid.hpp"

#include <set>

#include "fabric_test_util.hpp"
#include "models/fabric/topology.hpp"
#include "models/types/error.hpp"
#include "support/test.hpp"

namespace diecast::fabric {
namespace {

using config::noc_topology;

config::machine_config study(noc_topology kind, std::uint64_t columns, std::uint64_t rows) {
  config::machine_config c;
  c.noc.topology = kind;
  c.noc.columns = columns;
  c.noc.rows = rows;
  return c;
}

/// Links between two routers by the shortest way.
std::uint32_t distance(const config::noc_block& n, std::uint32_t from, std::uint32_t to) {
  const auto along = [](std::uint32_t a, std::uint32_t b, std::uint64_t size, bool around) {
    const std::uint32_t d = a > b ? a - b : b - a;
    return around ? std::min(d, static_cast<std::uint32_t>(size) - d) : d;
  };
  const auto columns = static_cast<std::uint32_t>(n.columns);
  switch (n.topology) {
    case noc_topology::crossbar: return 0;
    case noc_topology::ring: return along(from, to, n.columns * n.rows, true);
    default: break;
  }
  const bool around = n.topology == noc_topology::torus;
  return along(from % columns, to % columns, n.columns, around) +
         along(from / columns, to / columns, n.rows, around);
}

abi::node_address node(std::uint32_t n) { return {0, 0, static_cast<std::uint16_t>(n)}; }

void check_ways(const config::machine_config& c) {
  const topology t(c, purpose::network_study);
  const auto nodes = static_cast<std::uint32_t>(c.noc.columns * c.noc.rows);
  REQUIRE(t.layout({}, {}).terminals.size() == nodes);
  for (std::uint32_t from = 0; from < nodes; ++from) {
    for (std::uint32_t to = 0; to < nodes; ++to) {
      const auto hops = t.trace(node(from), node(to));
      INFO("from " << from << " to " << to);
      REQUIRE(hops.size() == 2 + distance(c.noc, from, to));
      const auto& terminals = t.layout({}, {}).terminals;
      CHECK(t.distance(terminals[from].router, terminals[to].router) == distance(c.noc, from, to));
      CHECK(hops.back().link == t.eject_link({}, {}, static_cast<terminal_index>(to)));
    }
  }
}

void check_tables(const topology& t, cube_id cube) {
  const die_routes routes(t, {}, cube);
  for (router_index at = 0; at < t.layout({}, cube).routers(); ++at) {
    for (terminal_index exit = 0; exit < t.layout({}, cube).terminals.size(); ++exit) {
      for (unsigned n = 0; n < t.tree_vc_base(); ++n) {
        const auto vc = static_cast<std::uint8_t>(n);
        const hop expected = t.next_hop({}, cube, at, exit, vc);
        const hop got = routes.next_hop(at, exit, vc);
        INFO("cube " << cube.value << " router " << at << " exit " << exit << " VC " << n);
        REQUIRE(got.side == expected.side);
        REQUIRE(got.vcs == expected.vcs);
        if (got.side != sides) REQUIRE(t.has_side(at, static_cast<side>(got.side)));
        if (routes.wraps()) continue;
        // What cube_noc relies on: the VCs behind any output are those of an interface.
        const vc_set entering =
            t.any_vc(t.class_of(vc)) ? t.injection_vcs(t.class_of(vc), t.leg_of(vc), {}, {}) : vc_set{vc, 1};
        REQUIRE(got.vcs == entering);
      }
    }
  }
}

TEST_CASE("the tables of a die give the routes of its topology") {
  const auto kind =
      GENERATE(noc_topology::mesh, noc_topology::torus, noc_topology::ring, noc_topology::crossbar);
  const auto policy = GENERATE(config::vc_policy::per_flow, config::vc_policy::dynamic);
  config::machine_config c = study(kind, 5, 3);
  c.noc.vcs_taken = policy;
  c.noc.vcs = 4;
  check_tables(topology(c, purpose::network_study), {});
}

TEST_CASE("the tables of a machine's dies give the routes of its topology") {
  config::machine_config meshes, toruses, with_trees;
  toruses.noc.topology = noc_topology::torus;
  with_trees.noc.multicast = true;
  for (const config::machine_config* c : {&meshes, &toruses, &with_trees}) {
    const topology t(*c);
    CHECK(t.has_trees() == c->noc.multicast);
    CHECK(t.dateline_sets() == (c == &toruses ? 2 : 1));
    for (std::uint32_t cube = 0; cube < t.shape().cubes_per_sip(); ++cube) check_tables(t, cube_id{cube});
  }
}

TEST_CASE("every pair is joined by a shortest route") {
  for (const auto kind :
       {noc_topology::mesh, noc_topology::torus, noc_topology::ring, noc_topology::crossbar}) {
    for (const auto& [columns, rows] :
         {std::pair{4U, 4U}, {5U, 3U}, {1U, 6U}, {2U, 2U}, {7U, 1U}, {1U, 1U}}) {
      INFO("topology " << static_cast<int>(kind) << ", " << columns << " x " << rows);
      check_ways(study(kind, columns, rows));
    }
  }
}

TEST_CASE("one-way tori take the directions of their network in order, around where they must") {
  config::machine_config c = study(noc_topology::torus_oneway, 10, 12);
  c.noc.networks = 2;
  c.noc.directions = "east_north,south_west";
  const router_grid first(c.noc, 0), second(c.noc, 1);
  CHECK(first.towards(0, 25).side == static_cast<unsigned>(side::east));
  CHECK(first.towards(5, 25).side == static_cast<unsigned>(side::north));
  CHECK(second.towards(0, 25).side == static_cast<unsigned>(side::south));
  CHECK(second.towards(20, 25).side == static_cast<unsigned>(side::west));
  CHECK_FALSE(first.has(0, side::west));
  CHECK_FALSE(second.has(0, side::east));
  for (std::uint16_t from = 0; from < 120; from += 7) {
    for (std::uint16_t to = 0; to < 120; ++to) {
      std::uint16_t at = from;
      std::uint32_t links = 0;
      for (; at != to && links < 22; ++links)
        at = first.next(at, static_cast<side>(first.towards(at, to).side));
      REQUIRE(at == to);
      REQUIRE(links == first.distance(from, to));
      const std::uint32_t there_and_back = links + first.distance(to, from);
      REQUIRE(there_and_back == (from % 10 == to % 10 ? 0U : 10U) + (from / 10 == to / 10 ? 0U : 12U));
      REQUIRE(second.distance(to, from) == links);
    }
  }
}

TEST_CASE("who has crossed the wrap link of a one-way torus keeps to VCs of its own") {
  config::machine_config c = study(noc_topology::torus_oneway, 4, 4);
  c.noc.vcs_taken = config::vc_policy::dynamic;
  c.noc.vcs = 4;
  const topology t(c, purpose::network_study);
  CHECK(t.vcs_per_set() == 2);
  const auto set = [&](router_index at, terminal_index to, unsigned from_set) {
    return t.dateline_set_of(
        t.next_hop({}, {}, at, to, t.vc(topology::study_class, 0, 0, from_set)).vcs.first);
  };
  CHECK(set(1, 2, 0) == 0);
  CHECK(set(3, 1, 0) == 1);  // the wrap link
  CHECK(set(0, 1, 1) == 1);
  CHECK(set(1, 5, 1) == 2);  // turns
  CHECK(set(13, 5, 2) == 3);
  CHECK(set(1, 5, 3) == 3);
  CHECK(find_dependency_cycle(t).empty());
}

TEST_CASE("ties go the positive direction and a dimension of two does not wrap") {
  const router_grid ring(study(noc_topology::ring, 4, 1).noc);
  CHECK(ring.towards(0, 2).side == static_cast<unsigned>(side::east));
  CHECK(ring.towards(3, 1).side == static_cast<unsigned>(side::east));
  CHECK(ring.towards(0, 3).side == static_cast<unsigned>(side::west));
  CHECK(ring.next(3, side::east) == 0);
  const router_grid two(study(noc_topology::torus, 2, 3).noc);
  CHECK_FALSE(two.has(1, side::east));
  CHECK(two.has(4, side::north));
  CHECK(two.next(4, side::north) == 0);
}

TEST_CASE("a packet is in VC set 0 until it has crossed the wrap link") {
  const router_grid ring(study(noc_topology::ring, 8, 1).noc);
  CHECK(ring.towards(6, 1).set == 0);  // towards 7: the wrap link is still ahead
  CHECK(ring.towards(7, 1).set == 1);  // it is this one
  CHECK(ring.towards(0, 1).set == 1);
  CHECK(ring.towards(2, 5).set == 1);
  CHECK(ring.towards(1, 6).set == 0);
  CHECK(ring.towards(0, 6).set == 1);
}

TEST_CASE("VC numbers hold class, leg, dateline set and number in the set") {
  config::machine_config c = study(noc_topology::torus, 4, 4);
  c.pod.sips = 1;
  c.sip.columns = c.sip.rows = 1;
  c.noc.vcs = 3;
  const topology t(c);
  CHECK(t.vcs() == abi::traffic_classes * 2 * 3);
  std::set<unsigned> numbers;
  for (unsigned k = 0; k < abi::traffic_classes; ++k) {
    for (unsigned set = 0; set < 2; ++set) {
      for (unsigned number = 0; number < 3; ++number) {
        const auto vc = t.vc(static_cast<abi::traffic_class>(k), 0, number, set);
        CHECK(vc < t.vcs());
        CHECK(numbers.insert(vc).second);
        CHECK(t.class_of(vc) == static_cast<abi::traffic_class>(k));
        CHECK(t.leg_of(vc) == 0);
        CHECK(t.dateline_set_of(vc) == set);
      }
    }
  }
}

TEST_CASE("a flow keeps its VC under per_flow, and all VCs are used") {
  config::machine_config c = study(noc_topology::mesh, 8, 8);
  c.noc.vcs = 4;
  const topology t(c, purpose::network_study);
  std::set<unsigned> first_vcs;
  for (std::uint32_t to = 0; to < 64; ++to) {
    const vc_set injected = t.injection_vcs(topology::study_class, 0, node(9), node(to));
    REQUIRE(injected.count == 1);
    first_vcs.insert(injected.first);
    router_index router = 9;
    for (hop h = t.next_hop({}, {}, router, static_cast<terminal_index>(to), injected.first);;
         h = t.next_hop({}, {}, router, static_cast<terminal_index>(to), injected.first)) {
      CHECK(h.vcs == injected);
      if (h.side == sides) break;
      router = t.next_router(router, static_cast<side>(h.side));
    }
    CHECK(router == to);
  }
  CHECK(first_vcs.size() == 4);
}

TEST_CASE("dynamic packets choose among all VCs, on a torus among those of their dateline set") {
  config::machine_config c = study(noc_topology::mesh, 4, 4);
  c.noc.vcs = 4;
  c.noc.vcs_taken = config::vc_policy::dynamic;
  const topology mesh(c, purpose::network_study);
  CHECK(mesh.vcs() == 4);
  CHECK(mesh.injection_vcs(topology::study_class, 0, node(0), node(5)) == vc_set{0, 4});
  CHECK(mesh.next_hop({}, {}, 0, 5, 2).vcs == vc_set{0, 4});
  c.noc.topology = noc_topology::torus;
  const topology torus(c, purpose::network_study);
  CHECK(torus.vcs() == 4);
  CHECK(torus.next_hop({}, {}, 0, 1, 3).vcs == vc_set{2, 2});
  CHECK(torus.next_hop({}, {}, 2, 0, 3).vcs == vc_set{0, 2});  // a tie, over 3 and the wrap link
  CHECK(torus.next_hop({}, {}, 1, 1, 3).vcs == vc_set{0, 4});  // out
  c.noc.vcs = 3;
  CHECK_THROWS_AS(topology(c, purpose::network_study), user_error);
  c.noc.vcs.reset();
  CHECK(topology(c, purpose::network_study).vcs() == 2);
}

TEST_CASE("in a machine comm and sideband keep the VC of their flow, whatever noc.vc_policy says") {
  config::machine_config c = test::machine(1, {1, 1}, {4, 4});
  c.noc.vcs = 4;
  c.noc.vcs_taken = config::vc_policy::dynamic;
  c.noc.topology = GENERATE(noc_topology::mesh, noc_topology::torus);
  const topology t(c);
  using abi::traffic_class;
  for (unsigned n = 0; n < abi::traffic_classes; ++n) {
    const auto kind = static_cast<traffic_class>(n);
    const bool ordered = kind == traffic_class::comm || kind == traffic_class::sideband;
    CHECK(t.any_vc(kind) == !ordered);
    const vc_set in = t.injection_vcs(kind, 0, {0, 0, 3}, {0, 0, 5});
    CHECK(in.count == (ordered ? 1 : 4));
    const vc_set behind = t.next_hop({}, {}, 0, 7, in.first).vcs;
    if (ordered) {
      CHECK(behind.count == 1);
      CHECK((behind.first - t.vc(kind, 0)) % t.vcs_per_set() == (in.first - t.vc(kind, 0)) % t.vcs_per_set());
    }
  }
}

TEST_CASE("more VCs than a link can have are refused, those of a study counted for one class") {
  config::machine_config c = study(noc_topology::mesh, 4, 4);
  c.noc.vcs = 16;
  CHECK(topology(c, purpose::network_study).vcs() == 16);
  CHECK_THROWS_WITH(topology(c), Catch::Contains("noc.vcs") && Catch::Contains("at most 64 VCs"));
}

TEST_CASE("datelines leave no cycle on any torus or ring, and without them there is one") {
  const bool holds = rc::check("datelines", [] {
    const auto count = [](int least, int most) {
      return static_cast<std::uint64_t>(*rc::gen::inRange(least, most + 1));
    };
    config::machine_config c =
        study(*rc::gen::element(noc_topology::torus, noc_topology::ring), count(1, 9), count(1, 7));
    if (*rc::gen::arbitrary<bool>()) c.noc.vcs_taken = config::vc_policy::dynamic;
    RC_ASSERT(find_dependency_cycle(topology(c, purpose::network_study)).empty());
    c.noc.dateline_vcs = false;
    // A dimension of three is crossed by one link at a time: nobody holds one link and waits for the next.
    const auto longest = c.noc.topology == noc_topology::ring ? c.noc.columns * c.noc.rows
                                                              : std::max(c.noc.columns, c.noc.rows);
    RC_ASSERT(find_dependency_cycle(topology(c, purpose::network_study)).empty() == (longest < 4));
  });
  CHECK(holds);
}

TEST_CASE("machines of toruses, rings and crossbars have no cycle or are refused") {
  for (const auto kind : {noc_topology::torus, noc_topology::ring, noc_topology::crossbar}) {
    for (const auto& [w, h] : {std::pair{1U, 1U}, {2U, 1U}, {2U, 2U}, {3U, 3U}}) {
      config::machine_config c = test::machine(1, {w, h}, {4, 4});
      c.noc.topology = kind;
      INFO("topology " << static_cast<int>(kind) << ", " << w << " x " << h << " cubes");
      CHECK(find_dependency_cycle(topology(c)).empty());
    }
  }
}

TEST_CASE("the balance table counts the links over the middle of a cube") {
  const auto bisection = [](noc_topology kind, std::uint32_t columns, std::uint32_t rows) {
    config::machine_config c = test::machine(1, {1, 1}, {columns, rows});
    c.noc.topology = kind;
    for (const balance_row& r : balance(topology(c), c))
      if (r.what == "cube bisection") return r.gbytes_s / 64.0;
    return 0.0;
  };
  CHECK(bisection(noc_topology::mesh, 4, 4) == 4);
  CHECK(bisection(noc_topology::mesh, 2, 5) == 2);
  CHECK(bisection(noc_topology::torus, 4, 4) == 8);
  CHECK(bisection(noc_topology::torus, 2, 2) == 2);  // a dimension of two has one pair of links
  CHECK(bisection(noc_topology::ring, 4, 4) == 2);
  CHECK(bisection(noc_topology::ring, 2, 1) == 1);
  CHECK(bisection(noc_topology::crossbar, 4, 4) == 0);
}

TEST_CASE("the dependencies of a torus are those of all routes") {
  const topology t(study(noc_topology::torus, 5, 4), purpose::network_study);
  std::vector<abi::node_address> all;
  for (std::uint32_t n = 0; n < 20; ++n) all.push_back(node(n));
  test::check_dependencies(t, all);
}

}  // namespace
}  // namespace diecast::fabric
