// SPDX-License-Identifier: Apache-2.0
// Properties of every route on machines of any shape.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "fabric_test_util.hpp"
#include "models/fabric/topology.hpp"
#include "support/test.hpp"

namespace diecast::fabric {
namespace {

using config::pod_topology;
using test::machine;

std::uint32_t distance(std::uint32_t a, std::uint32_t b) { return a > b ? a - b : b - a; }

std::uint32_t count(const topology& t, const std::vector<route_hop>& hops, link_kind kind) {
  return static_cast<std::uint32_t>(std::count_if(
      hops.begin(), hops.end(), [&](const route_hop& h) { return t.links()[h.link].kind == kind; }));
}

std::uint32_t cube_distance(const topology& t, std::uint32_t a, std::uint32_t b) {
  const machine_shape& s = t.shape();
  return distance(s.cube_x(cube_id{a}), s.cube_x(cube_id{b})) +
         distance(s.cube_y(cube_id{a}), s.cube_y(cube_id{b}));
}

/// UCIe crossings that a route over these SIP links cannot do without.
std::uint32_t least_crossings(const topology& t, const std::vector<route_hop>& hops, abi::node_address from,
                              const abi::node_address& to) {
  std::uint32_t n = 0;
  for (const route_hop& h : hops) {
    const link& l = t.links()[h.link];
    if (l.kind != link_kind::sip) continue;
    n += cube_distance(t, from.cube, l.cube);
    from = t.sip_links()[l.from].to;
  }
  return n + cube_distance(t, from.cube, to.cube);
}

/// Within a cube: no turn from Y to X, no way back, as many links as the routers are apart.
void check_inside_cubes(const topology& t, const std::vector<route_hop>& hops) {
  std::vector<link> cube;
  for (const route_hop& h : hops) {
    const link& l = t.links()[h.link];
    if (l.kind == link_kind::inject) cube.clear();
    cube.push_back(l);
    if (l.kind != link_kind::eject) continue;
    RC_ASSERT(cube.front().kind == link_kind::inject);
    const cube_layout& layout = t.layout(sip_id{l.sip}, cube_id{l.cube});
    std::uint32_t at = cube.front().port;
    bool in_y = false;
    for (std::size_t i = 1; i + 1 < cube.size(); ++i) {
      RC_ASSERT(cube[i].kind == link_kind::mesh);
      RC_ASSERT(cube[i].from == at);
      const auto s = static_cast<side>(cube[i].port);
      const bool y = s == side::north || s == side::south;
      RC_ASSERT(y || !in_y);
      in_y = y;
      at = t.next_router(static_cast<router_index>(at), s);
    }
    RC_ASSERT(l.from == at);
    const std::uint32_t start = cube.front().port;
    const auto apart = distance(start % layout.columns, at % layout.columns) +
                       distance(start / layout.columns, at / layout.columns);
    RC_ASSERT(cube.size() == apart + 2);
  }
}

unsigned group_of(leg l) { return l == 0 ? 0U : (l - 1U) / 2; }

/// Legs never decrease within a SIP, groups of legs nowhere; each SIP link starts a new group where
/// there are VCs for that, which is always so up to 4 links in a row.
void check_legs(const topology& t, const std::vector<route_hop>& hops) {
  leg before = 0;
  bool crossed = false;
  for (const route_hop& h : hops) {
    if (crossed) {
      RC_ASSERT(group_of(h.at) >= group_of(before));
      if (t.shape().sips <= 5) RC_ASSERT(group_of(h.at) == group_of(before) + 1);
    } else {
      RC_ASSERT(h.at >= before);
    }
    before = h.at;
    crossed = t.links()[h.link].kind == link_kind::sip;
  }
}

void check_route(const topology& t, const abi::node_address& from, const abi::node_address& to) {
  const auto hops = t.trace(from, to);
  RC_ASSERT(hops.front().link == t.inject_link(sip_id{from.sip}, cube_id{from.cube}, from.terminal));
  RC_ASSERT(hops.back().link == t.eject_link(sip_id{to.sip}, cube_id{to.cube}, to.terminal));
  check_legs(t, hops);
  RC_ASSERT(hops.front().at == 0);
  RC_ASSERT(hops.back().at < t.legs());
  RC_ASSERT(count(t, hops, link_kind::ucie) == least_crossings(t, hops, from, to));
  check_inside_cubes(t, hops);
}

TEST_CASE("every pair is reachable by a minimal XY route on legs that go up") {
  const bool holds = rc::check("routes", [] {
    const topology t(test::any_machine());
    const auto all = test::blocks(t);
    for (int i = 0; i < 200; ++i)
      check_route(t, all[*rc::gen::inRange<std::size_t>(0, all.size())],
                  all[*rc::gen::inRange<std::size_t>(0, all.size())]);
  });
  CHECK(holds);
}

TEST_CASE("SIP routes take the shorter direction round, X first, ties positive") {
  const auto sips = [](const topology& t, std::uint16_t from, std::uint16_t to) {
    std::vector<std::uint32_t> visited{from};
    for (const route_hop& h : t.trace({from, 0, 0}, {to, 0, 0})) {
      const link& l = t.links()[h.link];
      if (l.kind == link_kind::sip) visited.push_back(t.sip_links()[l.from].to.sip);
    }
    return visited;
  };
  using path = std::vector<std::uint32_t>;
  const topology ring(machine(6, {2, 2}, {2, 2}));
  CHECK(sips(ring, 0, 2) == path{0, 1, 2});
  CHECK(sips(ring, 0, 4) == path{0, 5, 4});
  CHECK(sips(ring, 0, 3) == path{0, 1, 2, 3});
  CHECK(sips(ring, 4, 1) == path{4, 5, 0, 1});
  const topology torus(machine(12, {2, 2}, {2, 2}, pod_topology::torus_2d));  // 4 x 3
  CHECK(sips(torus, 0, 10) == path{0, 1, 2, 10});
  CHECK(sips(torus, 0, 11) == path{0, 3, 11});
  const topology mesh(machine(12, {2, 2}, {2, 2}, pod_topology::mesh_2d));
  CHECK(sips(mesh, 0, 11) == path{0, 1, 2, 3, 7, 11});
  const topology full(machine(5, {2, 2}, {2, 2}, pod_topology::fully_connected));
  CHECK(sips(full, 4, 1) == path{4, 1});
  config::machine_config c = machine(5, {2, 2}, {2, 2}, pod_topology::list);
  c.pod.links = {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}};
  CHECK(sips(topology(c), 0, 4) == path{0, 1, 3, 4});
  CHECK(sips(topology(c), 4, 0) == path{4, 3, 1, 0});
}

TEST_CASE("a straight crossing keeps its row or column") {
  const topology t(machine(1, {4, 4}, {4, 4}));
  for (std::uint16_t pe = 0; pe < 8; ++pe) {
    const std::uint32_t row = test::terminal_at(t, {0, 0, pe}).router / 4U;
    std::map<std::uint32_t, int> rows;
    for (const route_hop& h : t.trace({0, 0, pe}, {0, 3, pe})) {
      const link& l = t.links()[h.link];
      if (l.kind == link_kind::mesh) ++rows[l.from / 4U];
    }
    CHECK(rows.size() == 1);
    CHECK(rows.begin()->first == row);
  }
}

TEST_CASE("legs: 0 at the source, odd where a packet passes, even where it ends or leaves the SIP") {
  const topology t(machine(3, {3, 1}, {2, 2}));
  const auto legs = [&](abi::node_address from, abi::node_address to) {
    std::vector<int> found;
    for (const route_hop& h : t.trace(from, to))
      if (t.links()[h.link].kind == link_kind::inject) found.push_back(h.at);
    return found;
  };
  using list = std::vector<int>;
  CHECK(legs({0, 0, 0}, {0, 0, 1}) == list{0});
  CHECK(legs({0, 0, 0}, {0, 1, 0}) == list{0, 2});
  CHECK(legs({0, 0, 0}, {0, 2, 0}) == list{0, 1, 2});
  CHECK(legs({0, 0, 0}, {1, 1, 0}) == list{0, 1, 2, 3, 4});  // gateways: cube 2 east, cube 0 west
  CHECK(legs({0, 2, 0}, {1, 0, 0}) == list{0, 4});
  CHECK(legs({0, 0, 0}, {2, 2, 0}) == list{0, 4});
}

TEST_CASE("without leg VCs everything travels on leg 0") {
  config::machine_config c = machine(4, {2, 2}, {2, 2});
  c.noc.leg_vcs = false;
  const topology t(c);
  for (const route_hop& h : t.trace({0, 0, 0}, {2, 3, 0})) CHECK(h.at == 0);
  CHECK(t.vcs() == abi::traffic_classes);
}

TEST_CASE("entering a cube again with the leg it gave changes nothing between cubes of a SIP") {
  const topology t(machine(1, {3, 3}, {2, 2}));
  const abi::node_address to{0, 8, 0};
  const cube_step first = t.enter(sip_id{0}, cube_id{1}, 0, entry::from_cube, 0, to);
  const cube_step again = t.enter(sip_id{0}, cube_id{1}, 0, entry::from_cube, first.next, to);
  CHECK(again.exit == first.exit);
  CHECK(again.next == first.next);
  CHECK(t.exit(sip_id{0}, cube_id{1}, 0, to) == first.exit);
}

TEST_CASE("VC numbers hold class and leg") {
  const topology t(machine(2, {2, 2}, {2, 2}));
  for (unsigned c = 0; c < abi::traffic_classes; ++c) {
    for (leg l = 0; l < t.legs(); ++l) {
      const auto vc = t.vc(static_cast<abi::traffic_class>(c), l);
      CHECK(vc < t.vcs());
      CHECK(t.leg_of(vc) == l);
      CHECK(t.class_of(vc) == static_cast<abi::traffic_class>(c));
    }
  }
}

}  // namespace
}  // namespace diecast::fabric
