// SPDX-License-Identifier: Apache-2.0
// Freedom from cycles: the graph search against known graphs, machines of every shape with a VC per
// leg, and the deadlock that one VC set for all legs would have.
#include <set>

#include "fabric_test_util.hpp"
#include "models/fabric/topology.hpp"
#include "support/test.hpp"

namespace diecast::fabric {
namespace {

using config::pod_topology;
using test::dimensions;
using test::machine;

constexpr dimensions router_meshes[] = {{4, 4}, {2, 2}, {3, 1}};

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += n + "\n";
  return text;
}

void check_acyclic(const config::machine_config& c) {
  INFO(c.pod.sips << " SIPs of " << c.sip.columns << "x" << c.sip.rows << " cubes of " << c.noc.columns << "x"
                  << c.noc.rows << " routers, topology " << static_cast<int>(c.pod.topology));
  CHECK(joined(find_dependency_cycle(topology(c))).empty());
}

TEST_CASE("a cycle is found, in order, and only where there is one") {
  using path = std::vector<std::uint32_t>;
  CHECK(find_cycle({}, 3) == path{});
  CHECK(find_cycle({{0, 1}, {1, 2}, {0, 2}}, 3) == path{});
  CHECK(find_cycle({{0, 1}, {1, 2}, {2, 3}, {3, 1}}, 4) == path{1, 2, 3});
  CHECK(find_cycle({{2, 2}}, 3) == path{2});
  const bool holds = rc::check("cycles", [] {
    // Edges that only lead to higher numbers never close; one edge back along a path always does.
    const auto n = *rc::gen::inRange<std::uint32_t>(2, 40);
    std::vector<dependency> edges;
    for (std::uint32_t i = 0; i + 1 < n; ++i) edges.push_back({i, i + 1});
    for (int i = 0; i < 30; ++i) {
      const auto a = *rc::gen::inRange<std::uint32_t>(0, n - 1);
      edges.push_back({a, *rc::gen::inRange<std::uint32_t>(a + 1, n)});
    }
    RC_ASSERT(find_cycle(edges, n).empty());
    const auto back = *rc::gen::inRange<std::uint32_t>(1, n);
    edges.push_back({back, *rc::gen::inRange<std::uint32_t>(0, back)});
    const auto cycle = find_cycle(edges, n);
    RC_ASSERT(!cycle.empty());
    const std::set<dependency> known(edges.begin(), edges.end());
    for (std::size_t i = 0; i < cycle.size(); ++i)
      RC_ASSERT(known.count({cycle[i], cycle[(i + 1) % cycle.size()]}) == 1);
  });
  CHECK(holds);
}

TEST_CASE("the dependencies are those of all routes, no more and no less") {
  const auto check = [](const config::machine_config& c) {
    const topology t(c);
    test::check_dependencies(t, test::blocks(t));
  };
  check(machine(1, {3, 3}, {3, 2}));
  check(machine(4, {2, 2}, {2, 2}));
  check(machine(3, {1, 1}, {2, 3}, pod_topology::fully_connected));
  check(machine(6, {2, 1}, {2, 1}, pod_topology::torus_2d));
  check(machine(11, {2, 1}, {1, 1}));                          // datelines
  config::machine_config sparse = machine(3, {2, 2}, {4, 4});  // routers without blocks
  sparse.cube.pes = 2;
  sparse.hbm.ports = 0;
  check(sparse);
  sparse.noc.leg_vcs = false;
  check(sparse);
}

TEST_CASE("a VC set per leg leaves no cycle in SIPs of 1x1 to 4x4 cubes") {
  for (const dimensions routers : router_meshes) {
    for (std::uint32_t w = 1; w <= 4; ++w) {
      for (std::uint32_t h = 1; h <= 4; ++h) check_acyclic(machine(1, {w, h}, routers));
    }
  }
}

TEST_CASE("a VC set per leg leaves no cycle in pods of 1 to 6 SIPs") {
  for (const auto pod :
       {pod_topology::ring, pod_topology::mesh_2d, pod_topology::torus_2d, pod_topology::fully_connected}) {
    for (const dimensions routers : router_meshes) {
      for (std::uint32_t sips = 2; sips <= 6; ++sips) {
        for (const dimensions cubes : {dimensions{1, 1}, {2, 1}, {1, 3}, {2, 2}, {3, 3}, {4, 4}})
          check_acyclic(machine(sips, cubes, routers, pod));
      }
    }
  }
}

TEST_CASE("counting datelines leaves no cycle in pods too long to count every SIP link") {
  struct pod {
    std::uint32_t sips;
    pod_topology topology;
  };
  for (const pod p : {pod{10, pod_topology::ring},
                      {11, pod_topology::ring},
                      {24, pod_topology::ring},
                      {16, pod_topology::mesh_2d},
                      {20, pod_topology::torus_2d},
                      {25, pod_topology::mesh_2d},
                      {36, pod_topology::torus_2d}}) {
    for (const dimensions routers : router_meshes) {
      for (const dimensions cubes : {dimensions{1, 1}, {2, 1}, {1, 2}, {2, 2}, {3, 3}, {4, 4}})
        check_acyclic(machine(p.sips, cubes, routers, p.topology));
    }
  }
}

TEST_CASE("one VC set for all legs has a cycle on 2x2 and 4x4 cubes of 4x4 routers") {
  for (const dimensions cubes : {dimensions{2, 2}, {4, 4}}) {
    config::machine_config c = machine(1, cubes, {4, 4});
    c.noc.leg_vcs = false;
    const topology t(c);
    const auto cycle = find_dependency_cycle(t);
    INFO(joined(cycle));
    REQUIRE(cycle.size() > 3);
    std::set<std::string> names;
    for (const link& l : t.links()) names.insert(l.name + " leg 0");
    bool between_cubes = false;
    for (const std::string& n : cycle) {
      CHECK(names.count(n) == 1);
      between_cubes = between_cubes || n.find(".ucie_") != std::string::npos;
    }
    CHECK(between_cubes);
    CHECK(std::set<std::string>(cycle.begin(), cycle.end()).size() == cycle.size());
  }
}

TEST_CASE("one VC set for all legs has no cycle inside one cube, and one around a ring of SIPs") {
  config::machine_config cube = machine(1, {1, 1}, {4, 4});
  cube.noc.leg_vcs = false;
  check_acyclic(cube);
  config::machine_config ring = machine(5, {1, 1}, {2, 2});
  ring.noc.leg_vcs = false;
  CHECK_FALSE(find_dependency_cycle(topology(ring)).empty());
}

TEST_CASE("a 2-D torus of 64 SIPs of 16 cubes has no cycle") {
  check_acyclic(machine(64, {4, 4}, {4, 4}, pod_topology::torus_2d));
}

TEST_CASE("rings of IPCQ outside TCM wait on requests and still end somewhere") {
  config::machine_config c = machine(2, {2, 2}, {2, 2});
  c.ipcq.rings = config::buffer_kind::hbm;
  check_acyclic(c);
}

}  // namespace
}  // namespace diecast::fabric
