// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>

#include "models/analysis/critical_path.hpp"
#include "models/comm/patterns.hpp"
#include "support/machines.hpp"
#include "support/test.hpp"
#include "sw/collectives/levels/intercube.hpp"
#include "sw/collectives/rings/ring.hpp"
#include "unit/models/protocol/ipcq_harness.hpp"

using namespace diecast;
using namespace diecast::comm;
using analysis::critical_hops;
using events::message_phase;

namespace {

/// Publishes the events of messages of several slots, all sent before the first becomes visible.
class traffic {
 public:
  traffic(const install_plan& plan, critical_hops& observer) : plan_(plan), observer_(observer) {}

  void send(pe_coord from, direction dir) {
    for (int slot = 0; slot < 3; ++slot) publish(message_phase::sent, from, dir, sent_[{from, dir}]++);
  }
  void arrive(pe_coord from, direction dir) {
    const auto source = std::find_if(plan_.queue_pairs.begin(), plan_.queue_pairs.end(),
                                     [&](const auto& q) { return q.owner == from && q.dir == dir; });
    REQUIRE(source != plan_.queue_pairs.end());
    const auto target = std::find_if(plan_.queue_pairs.begin(), plan_.queue_pairs.end(), [&](const auto& q) {
      return q.rx && q.rx_base == source->peer_rx_base;
    });
    for (int slot = 0; slot < 3; ++slot)
      publish(message_phase::visible, target->owner, target->dir, seen_[{from, dir}]++);
  }
  void transfer(pe_coord from, direction dir) {
    send(from, dir);
    arrive(from, dir);
  }

 private:
  void publish(message_phase phase, pe_coord pe, direction dir, std::uint32_t sequence) {
    observer_.on(events::message_event{{}, phase, pe, dir, {}, sequence, 8});
  }
  const install_plan& plan_;
  critical_hops& observer_;
  std::map<std::pair<pe_coord, direction>, std::uint32_t> sent_, seen_;
};

/// The flows of the intercube all-reduce in an order that respects every dependency.
void intercube_flows(const config::machine_config& c, traffic& t) {
  const auto shape = c.shape();
  const cube_id root = root_cube(shape, c.ccl.root);
  const std::uint32_t rx = shape.cube_x(root);
  const std::uint32_t ry = shape.cube_y(root);
  const auto pe = [&](std::uint32_t s, std::uint32_t x, std::uint32_t y) {
    return pe_coord{sip_id{s}, shape.cube_at(x, y), pe_id{0}};
  };
  for (std::uint32_t s = 0; s < shape.sips; ++s) {
    for (std::uint32_t y = 0; y < shape.cube_rows; ++y) {
      for (std::uint32_t x = 0; x < rx; ++x) t.transfer(pe(s, x, y), east);
      for (std::uint32_t x = shape.cube_columns - 1; x > rx; --x) t.transfer(pe(s, x, y), west);
    }
    for (std::uint32_t y = 0; y < ry; ++y) t.transfer(pe(s, rx, y), north);
    for (std::uint32_t y = shape.cube_rows - 1; y > ry; --y) t.transfer(pe(s, rx, y), south);
  }
  for (std::uint32_t round = 1; round < shape.sips; ++round) {
    for (std::uint32_t s = 0; s < shape.sips; ++s) t.send(pe(s, rx, ry), global_east);
    for (std::uint32_t s = 0; s < shape.sips; ++s) t.arrive(pe(s, rx, ry), global_east);
  }
  for (std::uint32_t s = 0; s < shape.sips; ++s) {
    for (std::uint32_t y = ry; y > 0; --y) t.transfer(pe(s, rx, y), south);
    for (std::uint32_t y = ry; y + 1 < shape.cube_rows; ++y) t.transfer(pe(s, rx, y), north);
    for (std::uint32_t y = 0; y < shape.cube_rows; ++y) {
      for (std::uint32_t x = rx; x > 0; --x) t.transfer(pe(s, x, y), west);
      for (std::uint32_t x = rx; x + 1 < shape.cube_columns; ++x) t.transfer(pe(s, x, y), east);
    }
  }
}

config::machine_config machine(std::uint32_t sips, std::uint32_t columns, std::uint32_t rows,
                               config::root_place root) {
  config::machine_config c = test::machine_of({sips, columns, rows, 8});
  c.ccl.root = root;
  return c;
}

install_plan intercube_plan(const config::machine_config& c) {
  const group g = map_ranks(c.shape(), rank_set::cube);
  return build_install_plan(intercube({c, c.shape(), g}), options_from(c, 0));
}

}  // namespace

TEST_CASE("critical_hops: intercube's chain of cube hops depends on the root as published") {
  using config::root_place;
  for (const auto& [columns, rows, center, corner] :
       {std::tuple{4u, 4u, 8u, 12u}, {8u, 8u, 16u, 28u}, {5u, 5u, 8u, 16u}, {3u, 2u, 4u, 6u}}) {
    for (const std::uint32_t sips : {1u, 2u, 6u}) {
      for (const auto root : {root_place::center, root_place::corner}) {
        const auto c = machine(sips, columns, rows, root);
        const auto plan = intercube_plan(c);
        critical_hops hops(plan);
        traffic t(plan, hops);
        intercube_flows(c, t);
        CAPTURE(columns, rows, sips, root == root_place::center);
        CHECK(hops.cube_hops() == (root == root_place::center ? center : corner));
        CHECK(hops.sip_hops() == sips - 1);
        CHECK(hops.unmatched() == 0);
      }
    }
  }
}

TEST_CASE("critical_hops: a message carries its sender's depth at departure, not at arrival") {
  const auto c = machine(1, 3, 1, config::root_place::corner);
  const auto plan = intercube_plan(c);
  critical_hops hops(plan);
  traffic t(plan, hops);
  const auto cube = [](std::uint32_t x) { return pe_coord{sip_id{0}, cube_id{x}, pe_id{0}}; };
  t.send(cube(1), east);  // leaves before anything has reached cube 1
  t.transfer(cube(0), east);
  t.arrive(cube(1), east);
  CHECK(hops.of(cube(2)) == analysis::hop_depth{1, 0});
  t.transfer(cube(1), east);
  CHECK(hops.of(cube(2)) == analysis::hop_depth{2, 0});
  hops.reset();
  CHECK(hops.cube_hops() == 0);
}

TEST_CASE("critical_hops: messages within a cube count at no level, between SIPs at both in a plain ring") {
  config::machine_config c = machine(2, 1, 1, config::root_place::center);
  c.cube.pes = 2;
  const group g = map_ranks(c.shape(), rank_set::pe);
  const auto plan = build_install_plan(ring_1d({c, c.shape(), g}), options_from(c, 0));
  critical_hops hops(plan);
  traffic t(plan, hops);
  t.transfer(g.members[0], east);
  CHECK(hops.of(g.members[1]) == analysis::hop_depth{0, 0});
  t.transfer(g.members[1], east);
  CHECK(hops.of(g.members[2]) == analysis::hop_depth{1, 1});
}

TEST_CASE("critical_hops: a ring of two keeps its two directions apart") {
  const auto plan = build_install_plan(test::ring_edges(2), test::ring_options(2));
  critical_hops hops(plan);
  traffic t(plan, hops);
  const pe_coord zero{sip_id{0}, cube_id{0}, pe_id{0}};
  t.send(zero, east);
  t.arrive(zero, east);
  CHECK(hops.unmatched() == 0);
  hops.on(
      events::message_event{{}, message_phase::visible, {sip_id{0}, cube_id{0}, pe_id{1}}, east, zero, 0, 8});
  CHECK(hops.unmatched() == 1);  // nothing was sent to E's ring
}
