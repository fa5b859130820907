// SPDX-License-Identifier: Apache-2.0
// Blocks where the config lists them.
#include "models/fabric/placement.hpp"

#include <functional>

#include "fabric_test_util.hpp"
#include "models/types/error.hpp"
#include "support/test.hpp"

namespace diecast::fabric {
namespace {

using config::pod_topology;
using test::machine;

router_index router_of(const topology& t, std::uint32_t cube, const std::string& name) {
  for (const terminal& x : t.layout(sip_id{0}, cube_id{cube}).terminals)
    if (x.name == name) return x.router;
  FAIL("no terminal " << name << " in cube " << cube);
  return {};
}

std::uint32_t mesh_hops(const topology& t, abi::node_address from, abi::node_address to) {
  std::uint32_t n = 0;
  for (const route_hop& h : t.trace(from, to)) n += t.links()[h.link].kind == link_kind::mesh ? 1 : 0;
  return n;
}

TEST_CASE("listed blocks sit on their routers, in every cube") {
  config::machine_config c = machine(1, {2, 2}, {4, 3});
  c.cube.pes = 3;
  c.hbm.ports = 2;
  c.placement.pes = "3_2,0_0,3_2";
  c.placement.hbm_ports = "1_0,2_2";
  c.placement.sram = "0_2";
  c.placement.control_cpu = "3_0";
  const topology t(c);
  for (std::uint32_t cube = 0; cube < 4; ++cube) {
    CHECK(router_of(t, cube, "pe0") == 2 * 4 + 3);
    CHECK(router_of(t, cube, "pe1") == 0);
    CHECK(router_of(t, cube, "pe2") == 2 * 4 + 3);
    CHECK(router_of(t, cube, "hbm0") == 1);
    CHECK(router_of(t, cube, "hbm1") == 2 * 4 + 2);
    CHECK(router_of(t, cube, "sram") == 2 * 4);
    CHECK(router_of(t, cube, "control_cpu") == 3);
  }
  CHECK(mesh_hops(t, {0, 0, 0}, {0, 0, 2}) == 0);
  CHECK(mesh_hops(t, {0, 0, 0}, {0, 0, 1}) == 5);
}

TEST_CASE("packets cross to the next cube by the nearest listed edge port") {
  config::machine_config c = machine(1, {2, 2}, {4, 4});
  c.cube.pes = 4;
  c.placement.pes = "3_0,3_1,3_2,3_3";
  c.placement.ucie_rows = "3,0";  // in any order
  c.placement.ucie_columns = "1";
  const topology t(c);
  CHECK(router_of(t, 0, "ucie_e.port0") == 3);
  CHECK(router_of(t, 0, "ucie_e.port1") == 3 * 4 + 3);
  CHECK(router_of(t, 0, "ucie_n.port0") == 3 * 4 + 1);
  CHECK(router_of(t, 2, "ucie_s.port0") == 1);
  const std::uint16_t rows_away[] = {0, 1, 1, 0};  // rows between the port and the PEs of rows 0 to 3
  for (std::uint16_t pe = 0; pe < 4; ++pe) {
    // Out by the edge column, back in at column 0 of the same row, three columns and the rows to the PE.
    CHECK(mesh_hops(t, {0, 0, pe}, {0, 1, pe}) == rows_away[pe] + 3U + rows_away[pe]);
  }
  const std::uint32_t there = mesh_hops(t, {0, 0, 0}, {0, 2, 0});
  CHECK(there == (2 + 3) + (2 + 0));  // to column 1 and up, from column 1 to the PE
}

TEST_CASE("a tie goes to the lower edge port, and a crossbar has as many edge ports as are listed") {
  config::machine_config c = machine(1, {2, 1}, {3, 3});
  c.placement.ucie_rows = "0,2";
  const auto ports = place_cube(c, {false, true, false, false}).port_for[1];
  REQUIRE(ports.size() == 3);
  CHECK(ports[1] == ports[0]);
  CHECK(ports[2] == ports[0] + 1);
  c.noc.topology = config::noc_topology::crossbar;
  CHECK(place_cube(c, {false, true, false, false}).port_for[1].size() == 2);
}

TEST_CASE("the IO cube answers for the host's memory") {
  config::machine_config c = machine(2, {3, 2}, {2, 2});
  c.placement.io_cube = "2_1";
  c.placement.io_cpu = "1_0";
  const topology t(c);
  CHECK(t.io_cube(sip_id{1}) == cube_id{5});
  CHECK(router_of(t, 5, "io_cpu") == 1);
  const auto host = abi::encode({sip_id{1}, cube_id{5}, abi::region::host_memory, 0, 0});
  CHECK(t.locate(host).cube == 5);
  CHECK_THROWS_AS(t.locate(abi::encode({sip_id{1}, cube_id{0}, abi::region::host_memory, 0, 0})),
                  std::out_of_range);
}

TEST_CASE("SIP ports are at the listed cubes, those not listed where they were") {
  config::machine_config c = machine(3, {4, 4}, {2, 2});
  c.placement.sip_ports = "e=3_0";
  const topology ring(c);
  for (const sip_link& l : ring.sip_links()) {
    const bool east = test::terminal_at(ring, l.from).name == "sip_port_e";
    CHECK(l.from.cube == (east ? 3 : 2 * 4));
  }
  config::machine_config full = machine(4, {4, 4}, {2, 2}, pod_topology::fully_connected);
  full.placement.sip_ports = "p1=0_2,p2=3_3";
  const topology t(full);
  for (const sip_link& l : t.sip_links()) {
    const terminal& port = test::terminal_at(t, l.from);
    if (port.name == "sip_port_p0") CHECK(l.from.cube == 0);
    if (port.name == "sip_port_p1") CHECK((l.from.cube == 2 * 4 && port.edge == side::west));
    if (port.name == "sip_port_p2") CHECK((l.from.cube == 15 && port.edge == side::east));
  }
}

TEST_CASE("ports without a direction leave corners to the south, east or north") {
  const auto sides_of = [](std::uint32_t columns, std::uint32_t rows) {
    std::string letters;  // row by row; '.' inside
    const machine_shape shape{1, columns, rows, 1};
    for (std::uint32_t y = 0; y < rows; ++y) {
      for (std::uint32_t x = 0; x < columns; ++x) {
        const bool inside = x > 0 && x + 1 < columns && y > 0 && y + 1 < rows;
        letters += inside ? '.' : to_string(outer_side(shape, shape.cube_at(x, y)))[0];
      }
      letters += ' ';
    }
    return letters;
  };
  CHECK(sides_of(3, 3) == "sss w.e nne ");
  CHECK(sides_of(1, 3) == "s e e ");
  CHECK(sides_of(3, 1) == "sss ");
  CHECK(sides_of(2, 2) == "ss ne ");
}

struct refused {
  const char* key;
  const char* value;
  std::function<void(config::placement_block&)> list;
};

TEST_CASE("what is listed amiss is refused by the topology, too") {
  const refused rows[]{
      {"placement.pes", "7 routers", [](auto& p) { p.pes = "0_0,0_0,0_0,0_0,0_0,0_0,0_0"; }},
      {"placement.sram", "4_0", [](auto& p) { p.sram = "4_0"; }},
      {"placement.sip_ports", "n", [](auto& p) { p.sip_ports = "n=0_3"; }},
      {"placement.sip_ports", "p0", [](auto& p) { p.sip_ports = "p0=0_3"; }},
  };
  for (const refused& r : rows) {
    config::machine_config c = machine(2, {4, 4}, {4, 4});
    r.list(c.placement);
    try {
      const topology t(c);
      FAIL("accepted " << r.key << " " << r.value);
    } catch (const user_error& e) {
      REQUIRE(e.problems().size() == 1);
      CHECK(e.problems()[0].where == r.key);
      CHECK(e.problems()[0].value == r.value);
    }
  }
}

}  // namespace
}  // namespace diecast::fabric
