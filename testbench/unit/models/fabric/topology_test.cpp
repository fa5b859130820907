// SPDX-License-Identifier: Apache-2.0
// Placement, numbering and names, addresses, and what is refused.
#include "models/fabric/topology.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>

#include "fabric_test_util.hpp"
#include "models/config/population.hpp"
#include "models/types/error.hpp"
#include "support/test.hpp"

namespace diecast::fabric {
namespace {

using config::pod_topology;
using test::machine;

std::vector<router_index> routers_of(const cube_layout& l, terminal_kind kind) {
  std::vector<router_index> found;
  for (const terminal& t : l.terminals)
    if (t.kind == kind) found.push_back(t.router);
  return found;
}

TEST_CASE("blocks are spread evenly over the routers of a cube") {
  const topology t(config::machine_config{});
  const cube_layout& l = t.layout(sip_id{0}, cube_id{5});
  const auto pes = routers_of(l, terminal_kind::pe);
  CHECK(pes.size() == 8);
  CHECK(std::set(pes.begin(), pes.end()).size() == 8);
  for (const router_index a : pes) {  // a checkerboard: no two PEs on neighboring routers
    for (const router_index b : pes) {
      const int distance = std::abs(a % 4 - b % 4) + std::abs(a / 4 - b / 4);
      CHECK(distance != 1);
    }
  }
  const auto hbm = routers_of(l, terminal_kind::hbm);
  CHECK(hbm.size() == 16);
  CHECK(std::set(hbm.begin(), hbm.end()).size() == 16);
  CHECK(routers_of(l, terminal_kind::sram) != routers_of(l, terminal_kind::control_cpu));
  CHECK(routers_of(l, terminal_kind::ucie_port).size() == 16);
}

TEST_CASE("more blocks than routers share routers evenly") {
  config::machine_config c = machine(1, {1, 1}, {3, 2});
  c.cube.pes = 20;
  const topology t(c);
  std::map<router_index, int> load;
  for (const router_index r : routers_of(t.layout(sip_id{0}, cube_id{0}), terminal_kind::pe)) ++load[r];
  CHECK(load.size() == 6);
  for (const auto& [router, n] : load) CHECK((n == 3 || n == 4));
}

TEST_CASE("terminal order is the same in every cube, edge ports only where a neighbor is") {
  const topology t(config::machine_config{});
  const auto& first = t.layout(sip_id{0}, cube_id{0}).terminals;
  for (std::uint32_t cube = 0; cube < 16; ++cube) {
    const auto& l = t.layout(sip_id{1}, cube_id{cube});
    for (std::size_t i = 0; i < 8 + 16 + 2; ++i) {
      CHECK(l.terminals[i].kind == first[i].kind);
      CHECK(l.terminals[i].router == first[i].router);
    }
    for (unsigned s = 0; s < sides; ++s) {
      const auto ports = std::count_if(l.terminals.begin(), l.terminals.end(), [s](const terminal& x) {
        return x.kind == terminal_kind::ucie_port && x.edge == static_cast<side>(s);
      });
      CHECK(ports == (t.neighbor(cube_id{cube}, static_cast<side>(s)) ? 4 : 0));
    }
  }
  CHECK(routers_of(t.layout(sip_id{1}, t.io_cube(sip_id{1})), terminal_kind::io_cpu).size() == 1);
}

TEST_CASE("cubes of one kind share one layout") {
  const topology t(machine(4, {4, 4}, {4, 4}));
  CHECK(&t.layout(sip_id{0}, cube_id{5}) == &t.layout(sip_id{3}, cube_id{10}));
  CHECK(&t.layout(sip_id{0}, cube_id{1}) == &t.layout(sip_id{2}, cube_id{1}));
  CHECK(&t.layout(sip_id{0}, cube_id{0}) != &t.layout(sip_id{0}, cube_id{3}));
}

TEST_CASE("neighbors are mutual and opposite") {
  const topology t(machine(1, {3, 2}, {2, 2}));
  for (std::uint32_t cube = 0; cube < 6; ++cube) {
    for (unsigned s = 0; s < sides; ++s) {
      const auto there = t.neighbor(cube_id{cube}, static_cast<side>(s));
      if (there) CHECK(t.neighbor(*there, opposite(static_cast<side>(s))) == cube_id{cube});
    }
  }
  CHECK(t.neighbor(cube_id{0}, side::east) == cube_id{1});
  CHECK(t.neighbor(cube_id{0}, side::north) == cube_id{3});
  CHECK_FALSE(t.neighbor(cube_id{0}, side::west).has_value());
}

TEST_CASE("a ring of two SIPs has one pair of links, of three three pairs") {
  const topology two(machine(2, {4, 4}, {4, 4}));
  REQUIRE(two.sip_links().size() == 2);
  CHECK(two.sip_links()[0].name == "pod.sip0.e-sip1.w");
  CHECK(two.sip_links()[1].name == "pod.sip1.w-sip0.e");
  CHECK(two.sip_links()[0].from.cube == 2 * 4 + 3);  // the middle cube of the east edge
  CHECK(two.sip_links()[0].to.cube == 2 * 4 + 0);
  const terminal& port = test::terminal_at(two, two.sip_links()[0].from);
  CHECK(port.name == "sip_port_e");
  CHECK(port.router == 2 * 4 + 3);
  CHECK(topology(machine(3, {4, 4}, {4, 4})).sip_links().size() == 6);
  CHECK(topology(machine(1, {4, 4}, {4, 4})).sip_links().empty());
}

TEST_CASE("the number of SIP links of every pod shape") {
  const auto links = [](std::uint32_t sips, pod_topology p) {
    return topology(machine(sips, {2, 2}, {2, 2}, p)).sip_links().size() / 2;
  };
  CHECK(links(6, pod_topology::ring) == 6);
  CHECK(links(6, pod_topology::mesh_2d) == 7);   // 3 x 2
  CHECK(links(6, pod_topology::torus_2d) == 9);  // rows of 3 close, columns of 2 do not
  CHECK(links(9, pod_topology::torus_2d) == 18);
  CHECK(links(6, pod_topology::fully_connected) == 15);
}

TEST_CASE("SIP links pair up: index ^ 1 is the reverse direction on the same ports") {
  for (const auto p : {pod_topology::ring, pod_topology::torus_2d, pod_topology::fully_connected}) {
    const topology t(machine(6, {3, 3}, {2, 2}, p));
    for (const sip_link& l : t.sip_links()) {
      const sip_link& back = t.sip_links()[l.index ^ 1U];
      CHECK(back.from == l.to);
      CHECK(back.to == l.from);
      CHECK(test::terminal_at(t, l.from).kind == terminal_kind::sip_port);
      CHECK(test::terminal_at(t, l.from).index == l.index);
      CHECK(t.far_end(l.from) == l.to);
    }
  }
}

TEST_CASE("fully connected ports are spread over the edge cubes") {
  const topology t(machine(7, {3, 3}, {2, 2}, pod_topology::fully_connected));
  std::map<std::uint16_t, int> ports;
  for (const sip_link& l : t.sip_links())
    if (l.from.sip == 0) ++ports[l.from.cube];
  CHECK(ports.size() == 6);
  CHECK(ports.count(4) == 0);  // the middle cube has no outer edge
}

TEST_CASE("the SIP grid is the most nearly square one") {
  const auto grid = [](std::uint64_t sips, std::uint64_t columns = 0) {
    config::pod_block pod;
    pod.sips = sips;
    pod.columns = columns;
    return config::pod_grid_of(pod);
  };
  CHECK(grid(6) == config::pod_grid{3, 2});
  CHECK(grid(64) == config::pod_grid{8, 8});
  CHECK(grid(7) == config::pod_grid{7, 1});
  CHECK(grid(1) == config::pod_grid{1, 1});
  CHECK(grid(6, 2) == config::pod_grid{2, 3});
  CHECK_THROWS_AS(grid(6, 4), user_error);
}

TEST_CASE("link numbers and names are unique and agree with the list") {
  const bool holds = rc::check("unique links", [] {
    const topology t(test::any_machine());
    std::set<std::string> names;
    for (const link& l : t.links()) RC_ASSERT(names.insert(l.name).second);
    std::vector<int> hits(t.links().size());
    const auto hit = [&](std::uint32_t id, link_kind kind, std::uint32_t sip, std::uint32_t cube) {
      RC_ASSERT(id < hits.size());
      ++hits[id];
      RC_ASSERT(t.links()[id].kind == kind);
      RC_ASSERT(t.links()[id].sip == sip);
      RC_ASSERT(t.links()[id].cube == cube);
    };
    for (std::uint32_t i = 0; i < t.shape().cubes(); ++i) {
      const sip_id sip{i / t.shape().cubes_per_sip()};
      const cube_id cube{i % t.shape().cubes_per_sip()};
      const cube_layout& l = t.layout(sip, cube);
      for (router_index r = 0; r < l.routers(); ++r) {
        const bool exists[] = {r / l.columns + 1 < l.rows, r % l.columns + 1 < l.columns, r / l.columns > 0,
                               r % l.columns > 0};
        for (unsigned s = 0; s < sides; ++s) {
          if (exists[s]) {
            hit(t.mesh_link(sip, cube, r, static_cast<side>(s)), link_kind::mesh, sip.value, cube.value);
          } else {
            RC_ASSERT_THROWS_AS(static_cast<void>(t.mesh_link(sip, cube, r, static_cast<side>(s))),
                                std::out_of_range);
          }
        }
      }
      for (terminal_index x = 0; x < l.terminals.size(); ++x) {
        hit(t.inject_link(sip, cube, x), link_kind::inject, sip.value, cube.value);
        hit(t.eject_link(sip, cube, x), link_kind::eject, sip.value, cube.value);
      }
      for (unsigned s = 0; s < sides; ++s) {
        if (!t.neighbor(cube, static_cast<side>(s))) continue;
        hit(t.ucie_link(sip, cube, static_cast<side>(s)), link_kind::ucie, sip.value, cube.value);
      }
    }
    for (const sip_link& l : t.sip_links())
      hit(t.sip_link_id(l.index), link_kind::sip, l.from.sip, l.from.cube);
    for (const int n : hits) RC_ASSERT(n == 1);
  });
  CHECK(holds);
}

TEST_CASE("link names say where the link is") {
  const topology t(config::machine_config{});
  const auto name = [&](std::uint32_t id) { return t.links()[id].name; };
  CHECK(name(t.mesh_link(sip_id{0}, cube_id{9}, 12, side::east)) == "pod.sip0.cube_1_2.router_0_3.east");
  CHECK(name(t.inject_link(sip_id{1}, cube_id{0}, 3)) == "pod.sip1.cube_0_0.pe3.inject");
  CHECK(name(t.eject_link(sip_id{1}, cube_id{0}, 8)) == "pod.sip1.cube_0_0.hbm0.eject");
  CHECK(name(t.ucie_link(sip_id{0}, cube_id{0}, side::north)) == "pod.sip0.cube_0_0.ucie_north");
  CHECK(name(t.sip_link_id(1)) == "pod.sip1.w-sip0.e");
  CHECK_THROWS_AS(t.ucie_link(sip_id{0}, cube_id{0}, side::west), std::out_of_range);
}

TEST_CASE("every address leads to the terminal that answers it") {
  const config::machine_config c;
  const topology t(c);
  const auto at = [&](abi::region r, std::uint32_t unit, std::uint64_t offset = 0, std::uint32_t cube = 6) {
    return t.locate(abi::encode({sip_id{1}, cube_id{cube}, r, unit, offset}));
  };
  const auto kind = [&](const abi::node_address& a) { return test::terminal_at(t, a).kind; };
  for (const auto r : {abi::region::tcm, abi::region::pe_registers, abi::region::ipcq_mailbox,
                       abi::region::launch_mailbox}) {
    CHECK(at(r, 5) == abi::node_address{1, 6, 5});
    CHECK_THROWS_AS(at(r, 8), std::out_of_range);
  }
  CHECK(kind(at(abi::region::hbm, 15)) == terminal_kind::hbm);
  CHECK(test::terminal_at(t, at(abi::region::hbm, 15)).index == 15);
  CHECK_THROWS_AS(at(abi::region::hbm, 16), std::out_of_range);
  CHECK_THROWS_AS(at(abi::region::hbm, 0, c.hbm.port_mib << 20U), std::out_of_range);
  CHECK(kind(at(abi::region::sram, 0)) == terminal_kind::sram);
  CHECK_THROWS_AS(at(abi::region::tcm, 0, c.pe.tcm_kib * 1024), std::out_of_range);
  CHECK(kind(at(abi::region::launch_mailbox, abi::control_cpu_unit)) == terminal_kind::control_cpu);
  CHECK(kind(at(abi::region::host_memory, 0, 0, 0)) == terminal_kind::io_cpu);
  CHECK(kind(at(abi::region::launch_mailbox, abi::io_cpu_unit, 0, 0)) == terminal_kind::io_cpu);
  CHECK_THROWS_AS(at(abi::region::launch_mailbox, abi::io_cpu_unit), std::out_of_range);
  CHECK_THROWS_AS(t.locate(0), std::out_of_range);
  CHECK_THROWS_AS(t.locate(abi::encode({sip_id{2}, cube_id{0}, abi::region::tcm, 0, 0})), std::out_of_range);
}

std::vector<problem> problems_of(const config::machine_config& c) {
  try {
    const topology t(c);
  } catch (const user_error& e) {
    return e.problems();
  }
  return {};
}

TEST_CASE("what cannot be built is refused with every problem") {
  config::machine_config c;
  c.pod.sips = 0;
  c.noc.rows = 0;
  c.cube.pes = 1000;
  const auto p = problems_of(c);
  REQUIRE(p.size() == 3);
  CHECK(p[0].where == "pod.sips");
  CHECK(p[1].where == "cube.pes");
  CHECK(p[2].where == "noc.rows");

  const auto cubes = problems_of(machine(1, {32, 16}, {2, 2}));
  REQUIRE(cubes.size() == 1);
  CHECK(cubes[0].value == "32 x 16");
}

TEST_CASE("SIPs that no path joins are named") {
  config::machine_config c = machine(4, {1, 1}, {2, 2}, pod_topology::list);
  c.pod.links = {{0, 1}, {2, 3}, {1, 1}, {1, 0}, {3, 9}};
  const auto p = problems_of(c);
  REQUIRE(p.size() == 5);
  CHECK(p[0].where == "pod.links[2]");
  CHECK(p[1].where == "pod.links[3]");
  CHECK(p[2].where == "pod.links[4]");
  CHECK(p[3].value == "pod.sip0 and pod.sip2");
  CHECK(p[4].value == "pod.sip0 and pod.sip3");
}

TEST_CASE("a pod whose routes need more than 64 VCs is refused with the numbers") {
  config::machine_config c = machine(6, {1, 1}, {2, 2}, pod_topology::list);
  for (std::uint32_t sip = 0; sip + 1 < 6; ++sip) c.pod.links.push_back({sip, sip + 1});
  const auto p = problems_of(c);
  REQUIRE(p.size() == 1);
  CHECK(p[0].where == "pod.topology");
  CHECK(p[0].value == "5 SIP links: 5 classes x 13 legs = 65 VCs");
  c.noc.leg_vcs = false;
  CHECK(problems_of(c).empty());
}

TEST_CASE("legs follow from the longest route") {
  const auto legs = [](const config::machine_config& c) { return topology(c).legs(); };
  CHECK(legs(machine(1, {1, 1}, {4, 4})) == 1);
  CHECK(legs(machine(1, {4, 4}, {4, 4})) == 3);
  CHECK(legs(machine(2, {4, 4}, {4, 4})) == 5);
  CHECK(legs(machine(2, {1, 1}, {4, 4})) == 5);
  CHECK(legs(machine(6, {4, 4}, {4, 4}, pod_topology::torus_2d)) == 7);
  CHECK(legs(machine(6, {4, 4}, {4, 4}, pod_topology::fully_connected)) == 5);
  CHECK(legs(machine(64, {2, 2}, {2, 2}, pod_topology::ring)) == 9);       // one dateline
  CHECK(legs(machine(64, {2, 2}, {2, 2}, pod_topology::torus_2d)) == 11);  // two
  CHECK(legs(machine(64, {2, 2}, {2, 2}, pod_topology::mesh_2d)) == 7);    // none
  config::machine_config c = machine(6, {4, 4}, {4, 4});
  c.noc.leg_vcs = false;
  CHECK(legs(c) == 1);
}

}  // namespace
}  // namespace diecast::fabric
