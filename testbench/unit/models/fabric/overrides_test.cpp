// SPDX-License-Identifier: Apache-2.0
// Links with settings of their own, and routes around those that are missing.
#include "models/config/overrides.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <initializer_list>
#include <set>

#include "fabric_test_util.hpp"
#include "models/fabric/link_settings.hpp"
#include "models/fabric/longest_step.hpp"
#include "models/fabric/topology_impl.hpp"
#include "models/timing/link.hpp"
#include "models/types/error.hpp"
#include "support/test.hpp"

namespace diecast::fabric {
namespace {

using test::machine;

std::vector<problem> override_problems(const config::machine_config& c) {
  try {
    const topology t(c);
  } catch (const user_error& e) {
    return e.problems();
  }
  return {};
}

TEST_CASE("overrides: a UCIe link is named by either end and changes in both directions") {
  for (const char* name : {"pod.sip0.cube_0_0.ucie_east", "pod.sip0.cube_0_0.ucie_e",
                           "pod.sip0.cube_1_0.ucie_w*", "pod.sip?.cube_1_0.ucie_west"}) {
    config::machine_config c = machine(2, {2, 2}, {2, 2});
    c.overrides = {{.match = name, .modules = 1, .latency_ns = 30.0}};
    const topology t(c);
    CHECK(t.ucie({}, cube_id{0}, side::east).modules == 1);
    CHECK(t.ucie({}, cube_id{1}, side::west).latency_ns == 30.0);
    CHECK(t.ucie({}, cube_id{2}, side::east) == c.ucie);
    CHECK(t.links()[t.ucie_link({}, cube_id{0}, side::east)].gbytes_s == 128.0);
    CHECK(t.links()[t.ucie_link({}, cube_id{2}, side::east)].gbytes_s == 256.0);
  }
}

TEST_CASE("overrides: a SIP link is named by its port or its own name; later ones win") {
  config::machine_config c = machine(3, {1, 1}, {2, 2});
  c.overrides = {{.match = "pod.sip0.sip_port_e", .gbytes_s = 10.0},
                 {.match = "pod.sip1.w-sip0.e", .latency_ns = 70.0},
                 {.match = "pod.sip1.sip_port_e", .latency_ns = 80.0},
                 {.match = "pod.sip2.sip_port_w", .latency_ns = 90.0}};
  const topology t(c);
  std::set<std::tuple<std::uint16_t, std::uint16_t, double, double>> seen;
  for (const sip_link& l : t.sip_links()) {
    const config::sip_link_block& s = t.sip_link_settings(l.index);
    seen.emplace(l.from.sip, l.to.sip, s.gbytes_s, s.latency_ns);
  }
  CHECK(
      seen ==
      std::set<std::tuple<std::uint16_t, std::uint16_t, double, double>>{
          {0, 1, 10, 70}, {1, 0, 10, 70}, {1, 2, 64, 90}, {2, 1, 64, 90}, {2, 0, 64, 100}, {0, 2, 64, 100}});
}

TEST_CASE("overrides: names that match nothing and keys a link does not have are refused") {
  config::machine_config c = machine(2, {2, 1}, {2, 2});
  c.overrides = {{.match = "pod.sip0.cube_0_0.ucie_north", .enabled = false},
                 {.match = "pod.sip0.cube_0_0.ucie_e", .gbytes_s = 5.0},
                 {.match = "pod.sip0.sip_port_e", .modules = 1},
                 {.match = "pod.sip7.*", .enabled = false}};
  const auto p = override_problems(c);
  REQUIRE(p.size() == 4);
  CHECK(p[0].where == "overrides[0].match");
  CHECK(p[1].where == "overrides[1].set");
  CHECK(p[2].where == "overrides[2].set");
  CHECK(p[3].value == "pod.sip7.*");
}

TEST_CASE("overrides: the longest step is that of the slowest PE, whichever key makes it so") {
  const config::machine_config whole = machine(2, {2, 1}, {2, 2});
  const auto step = [](const config::machine_config& c) { return fabric::longest_step(topology(c), c); };
  for (const config::override_key& k : config::override_keys()) {
    if (!k.is_of(config::instance_kind::pe) || k.row == nullptr) continue;
    const bool cost = k.against_block == config::override_key::limit::no_less;
    const std::uint64_t value = std::get<std::uint64_t>(k.row->get(whole));
    config::machine_config c = whole;
    c.overrides = {{.match = "pod.sip0.cube_0_0.pe1"}, {.match = "pod.sip0.cube_0_0.pe0"}};
    k.set(c.overrides[0], cost ? value + 1000 : value - 1);
    k.set(c.overrides[1], cost ? value + 10 : value);  // a faster one after it changes nothing
    INFO(k.name);
    const sim_time more = timing::noc_clock(c).cycles(cost ? 1000 : 0);
    CHECK(step(c) == step(whole) + more);
  }
}

TEST_CASE("longest step: every time that a machine may spend in silence makes it longer") {
  config::machine_config whole = machine(2, {2, 1}, {2, 2});
  whole.comm.path = config::transfer_path::staged;
  whole.comm.checksum = config::packet_checksum::crc32c;
  whole.noc.multicast = whole.noc.reduce = true;
  config::machine_config simple = whole;
  simple.hbm.model = config::hbm_model::simple;
  using change = std::function<void(config::machine_config&)>;
  struct row {
    const char* key;
    change slower;
    double by_us;
  };
  const auto longer = [](const config::machine_config& base, const row& r) {
    config::machine_config c = base;
    r.slower(c);
    const auto step = [](const config::machine_config& m) { return fabric::longest_step(topology(m), m); };
    INFO(r.key);
    CHECK((step(c) - step(base)).ns() == Approx(r.by_us * 1000));
  };
  // A packet is 17 flits of 64 bytes: at 0.001 GB/s, against the rates of these machines, 1,088 us.
  const auto slow = [](double fast) { return 1088.0 - 1.088 / fast; };
  const config::machine_config& w = whole;
  for (const row& r : std::initializer_list<row>{
           {"host.staging_latency_ns", [](auto& c) { c.host.staging_latency_ns += 5000; }, 5},
           {"host.staging_gbytes_s", [](auto& c) { c.host.staging_gbytes_s = 0.001; },
            2 * slow(w.host.staging_gbytes_s)},
           {"comm.checksum_gbytes_s", [](auto& c) { c.comm.checksum_gbytes_s = 0.001; },
            2 * slow(w.comm.checksum_gbytes_s)},
           {"sram.latency_ns", [](auto& c) { c.sram.latency_ns += 5000; }, 5},
           {"sram.gbytes_s", [](auto& c) { c.sram.gbytes_s = 0.001; }, slow(w.sram.gbytes_s)},
           {"hbm.controller_ns", [](auto& c) { c.hbm.controller_ns += 5000; }, 5},
           {"noc.reduce_cycles", [](auto& c) { c.noc.reduce_cycles += 1000; },
            static_cast<double>(w.cube.pes + sides) * 1000 / w.noc.clock_ghz / 1000}})
    longer(whole, r);
  longer(simple, {"hbm.simple_latency_ns", [](auto& c) { c.hbm.simple_latency_ns += 5000; }, 5});
  longer(simple, {"hbm.simple_gbytes_s", [](auto& c) { c.hbm.simple_gbytes_s = 0.001; },
                  slow(w.hbm.simple_gbytes_s)});
  // What a machine does not have takes no time.
  config::machine_config direct = machine(2, {2, 1}, {2, 2});
  longer(direct, {"host.staging_latency_ns", [](auto& c) { c.host.staging_latency_ns += 5000; }, 0});
  longer(direct, {"comm.checksum_gbytes_s", [](auto& c) { c.comm.checksum_gbytes_s = 0.001; }, 0});
}

TEST_CASE("overrides: PEs and memory channels that are left out answer at no address") {
  config::machine_config c = machine(2, {2, 1}, {2, 2});
  c.overrides = {{.match = "pod.sip0.cube_1_0.pe3", .enabled = false},
                 {.match = "pod.sip1.*.hbm1?", .enabled = false},
                 {.match = "pod.sip1.cube_0_0.hbm11", .enabled = true}};
  const topology t(c);
  CHECK(t.population().missing() == std::vector{pe_coord{sip_id{0}, cube_id{1}, pe_id{3}}});
  CHECK(t.channels().count_of(sip_id{1}, cube_id{0}) == 11);
  CHECK(t.channels().count_of(sip_id{1}, cube_id{1}) == 10);
  const auto answers = [&](std::uint32_t sip, std::uint32_t cube, abi::region kind, std::uint32_t unit) {
    try {
      (void)t.locate(abi::encode({sip_id{sip}, cube_id{cube}, kind, unit, 0}));
      return true;
    } catch (const std::out_of_range&) {
      return false;
    }
  };
  for (const auto kind : {abi::region::tcm, abi::region::pe_registers, abi::region::ipcq_mailbox,
                          abi::region::launch_mailbox}) {
    CHECK_FALSE(answers(0, 1, kind, 3));
    CHECK(answers(0, 1, kind, 2));
    CHECK(answers(1, 1, kind, 3));
  }
  CHECK(answers(1, 0, abi::region::hbm, 11));
  CHECK_FALSE(answers(1, 1, abi::region::hbm, 11));
  CHECK(answers(0, 1, abi::region::hbm, 15));
  CHECK(find_dependency_cycle(t).empty());
}

TEST_CASE("overrides: an override changes what has its keys, and refuses what has some of them") {
  config::machine_config c = machine(1, {2, 1}, {2, 2});
  // Links alone have a rate, PEs alone lanes; both, and channels, are behind the name.
  c.overrides = {{.match = "pod.sip0.cube_0_0.*", .gt_s = 8.0},
                 {.match = "pod.sip0.cube_0_0.*", .vector_lanes = 8},
                 {.match = "pod.sip0.cube_0_0.*", .hop_cycles = 20}};
  CHECK(override_problems(c).empty());
  const topology t(c);
  CHECK(t.hop_cycles({}, cube_id{0}, 9) == 20);
  CHECK(t.hop_cycles({}, cube_id{1}, 9) == 9);
  CHECK(t.most_hop_cycles(9) == 20);
  CHECK(t.population().whole());

  c.overrides = {{.match = "pod.sip0.cube_0_0.*", .enabled = true, .gt_s = 8.0},
                 {.match = "pod.sip0.cube_0_0.pe0", .hop_cycles = 20},
                 {.match = "pod.sip0.cube_0_0.router_1_0", .hop_cycles = 20},
                 {.match = "pod.sip0.cube_0_0.router_0_0.east", .enabled = false},
                 {.match = "pod.sip0.cube_0_0.sram", .enabled = false}};
  const auto p = override_problems(c);
  REQUIRE(p.size() == 6);
  CHECK(p[0].what == "sets gt_s, which PEs do not have");
  CHECK(p[1].what == "sets gt_s, which memory channels do not have");
  CHECK(p[2].what == "sets hop_cycles, which PEs do not have");
  CHECK(p[3].what.find("routers or links within a die") != std::string::npos);
  CHECK(p[4].what.find("routers or links within a die") != std::string::npos);
  CHECK(p[5].what == "names nothing of this machine");
}

TEST_CASE("overrides: a machine without a PE is refused") {
  config::machine_config c = machine(1, {1, 1}, {2, 2});
  c.overrides = {{.match = "*.pe*", .enabled = false}};
  const auto p = override_problems(c);
  REQUIRE(p.size() == 1);
  CHECK(p[0].what == "leave no PE");
}

TEST_CASE("overrides: what a missing link cuts off is named") {
  config::machine_config c = machine(2, {3, 1}, {2, 2});
  c.overrides = {{.match = "pod.sip1.cube_1_0.ucie_e", .enabled = false},
                 {.match = "pod.sip0.sip_port_*", .enabled = false}};
  const auto p = override_problems(c);
  REQUIRE(p.size() == 2);
  CHECK(p[0].value == "pod.sip0 and pod.sip1");
  CHECK(p[1].value == "pod.sip1.cube_0_0 and pod.sip1.cube_2_0");
}

/// Cubes a packet passes, the first included.
std::vector<std::uint16_t> cubes_passed(const topology& t, std::uint16_t from, std::uint16_t to) {
  std::vector<std::uint16_t> cubes;
  for (const route_hop& hop : t.trace({0, from, 0}, {0, to, 0})) {
    const link& l = t.links()[hop.link];
    if (l.kind == link_kind::inject) cubes.push_back(l.cube);
  }
  return cubes;
}

TEST_CASE("detours: routes that are whole stay, others take the shortest remaining route, in a fixed order") {
  config::machine_config c = machine(1, {3, 3}, {2, 2});
  const topology whole(c);
  c.overrides = {{.match = "pod.sip0.cube_1_1.ucie_e", .enabled = false}};
  const topology t(c);
  using path = std::vector<std::uint16_t>;
  CHECK(cubes_passed(whole, 3, 5) == path{3, 4, 5});
  CHECK(cubes_passed(t, 3, 5).size() == 5);  // two more links
  CHECK(cubes_passed(t, 5, 3).size() == 5);
  CHECK(cubes_passed(t, 0, 5) == cubes_passed(whole, 0, 5));
  CHECK(cubes_passed(t, 3, 5) == cubes_passed(topology(c), 3, 5));
  for (std::uint16_t from = 0; from < 9; ++from) {
    for (std::uint16_t to = 0; to < 9; ++to) {
      const path before = cubes_passed(whole, from, to);
      bool broken = false;
      for (std::size_t i = 0; i + 1 < before.size(); ++i)
        broken |= std::min(before[i], before[i + 1]) == 4 && std::max(before[i], before[i + 1]) == 5;
      if (!broken) CHECK(cubes_passed(t, from, to).size() == before.size());
    }
  }
}

/// East and north of every cube are all links of the SIP.
TEST_CASE("detours: with any one link of a SIP of 4 x 4 cubes missing no cycle arises") {
  for (std::uint32_t cube = 0; cube < 16; ++cube) {
    for (const char* s : {"east", "north"}) {
      config::machine_config c = machine(2, {4, 4}, {4, 4});
      const machine_shape shape = c.shape();
      const bool last = s[0] == 'e' ? shape.cube_x(cube_id{cube}) == 3 : shape.cube_y(cube_id{cube}) == 3;
      if (last) continue;
      c.overrides = {{.match = cube_path(shape, {}, cube_id{cube}) + ".ucie_" + s, .enabled = false}};
      INFO(c.overrides[0].match);
      const topology t(c);
      CHECK(find_dependency_cycle(t).empty());
      for (std::uint16_t from = 0; from < 16; ++from) {
        for (std::uint16_t to = 0; to < 16; ++to) {
          for (const route_hop& hop : t.trace({0, from, 0}, {0, to, 0}))
            CHECK(t.links()[hop.link].gbytes_s > 0.0);
        }
      }
    }
  }
}

TEST_CASE("detours: random gaps either route every pair over links that are there or cut something off") {
  std::size_t routed = 0, refused = 0, cyclic = 0;
  CHECK(rc::check("gaps", [&] {
    config::machine_config c = machine(1, {4, 3}, {2, 2});
    const auto gaps = *rc::gen::inRange(1, 6);
    for (int n = 0; n < gaps; ++n) {
      const auto x = *rc::gen::inRange(0, 3);
      const auto y = *rc::gen::inRange(0, 2);
      const auto s = *rc::gen::element('e', 'n');
      c.overrides.push_back({.match = fmt::format("pod.sip0.cube_{}_{}.ucie_{}", x, y, s), .enabled = false});
    }
    try {
      const topology t(c);
      cyclic += find_dependency_cycle(t).empty() ? 0 : 1;
      ++routed;
      for (std::uint16_t from = 0; from < 12; ++from) {
        for (std::uint16_t to = 0; to < 12; ++to) {
          const auto hops = t.trace({0, from, 0}, {0, to, 0});
          RC_ASSERT(hops.size() < 100);
          for (const route_hop& hop : hops) RC_ASSERT(t.links()[hop.link].gbytes_s > 0.0);
        }
      }
    } catch (const user_error& e) {
      ++refused;
      RC_ASSERT(e.problems().front().what == "cubes that no path of UCIe links joins");
    }
  }));
  UNSCOPED_INFO(routed << " routed, " << refused << " refused, " << cyclic << " cyclic");
  CHECK(routed > 50);
  CHECK(cyclic == 0);
}

TEST_CASE("detours: by every rule each cube that is reached is reached without a cycle") {
  CHECK(rc::check("rules", [] {
    machine_shape shape;
    shape.cube_columns = *rc::gen::inRange<std::uint32_t>(1, 6);
    shape.cube_rows = *rc::gen::inRange<std::uint32_t>(1, 6);
    const std::uint32_t cubes = shape.cubes_per_sip();
    std::set<std::pair<std::uint32_t, std::uint32_t>> gaps;
    for (int n = 0; n < 6; ++n) {
      const cube_id cube{*rc::gen::inRange<std::uint32_t>(0, cubes)};
      const auto beside = cube_beside(shape, cube, *rc::gen::element(side::north, side::east));
      if (beside) gaps.emplace(cube.value, beside->value);
    }
    const cube_grid grid{shape, [&](cube_id cube, side s) {
                           const auto beside = cube_beside(shape, cube, s);
                           return beside && !gaps.contains(std::minmax(cube.value, beside->value));
                         }};
    for (const detour_rule rule : detour_rules) {
      std::vector<std::pair<cube_id, cube_id>> cut_off;
      const std::vector<side> next = route_around(grid, rule, cut_off);
      std::set<std::uint32_t> lost;
      for (const auto& [from, to] : cut_off) lost.insert(to.value);
      for (std::uint32_t from = 0; from < cubes; ++from) {
        for (std::uint32_t to = 0; to < cubes; ++to) {
          if (lost.contains(from) || lost.contains(to)) continue;
          std::uint32_t steps = 0;
          for (cube_id at{from}; at.value != to; ++steps) {
            RC_ASSERT(steps < cubes);
            const side s = next[std::size_t{at.value} * cubes + to];
            RC_ASSERT(grid.joined(at, s));
            at = *cube_beside(shape, at, s);
          }
        }
      }
    }
  }));
}

}  // namespace
}  // namespace diecast::fabric
