// SPDX-License-Identifier: Apache-2.0
// Two trees below one root: each reaches every member once, within what members and links carry.
#include "sw/collectives/trees/packed_trees.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "models/abi/address.hpp"
#include "models/cost/message_cost.hpp"
#include "models/fabric/topology.hpp"
#include "support/machines.hpp"
#include "support/part.hpp"
#include "support/test.hpp"
#include "sw/collectives/base/peer_patterns.hpp"
#include "sw/collectives/trees/trees.hpp"

namespace diecast::comm {
namespace {

using machine = test::ranked_machine;

/// Not the first of the queue pairs that an edge of a tree has.
bool is_further(const edge& e) { return e.reverse > static_cast<std::int32_t>(packed_parent(1)); }

/// Flows that cross each step between cubes, when packets go along x first.
std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> loads(
    const machine& m, const std::vector<edge>& edges) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> found;
  for (const edge& e : edges) {
    if (e.from.sip != e.to.sip || is_further(e)) continue;
    std::uint32_t x = m.shape.cube_x(e.from.cube), y = m.shape.cube_y(e.from.cube);
    const std::uint32_t to_x = m.shape.cube_x(e.to.cube), to_y = m.shape.cube_y(e.to.cube);
    while (x != to_x || y != to_y) {
      const std::uint32_t from = m.shape.cube_at(x, y).value;
      if (x != to_x) {
        x += x < to_x ? 1 : -1;
      } else {
        y += y < to_y ? 1 : -1;
      }
      ++found[{e.from.sip.value, from, m.shape.cube_at(x, y).value}];
    }
  }
  return found;
}

tree_pair nodes_of(const machine& m, const packed_trees& plan) {
  tree_pair nodes;
  for (std::uint32_t t = 0; t < packed_trees::trees; ++t) {
    for (std::uint32_t r = 0; r < m.ranks(); ++r) nodes[t].push_back(plan.node(t, r));
  }
  return nodes;
}
std::uint32_t depth_of(const machine& m, const packed_trees& plan) {
  const tree_pair nodes = nodes_of(m, plan);
  return std::max(comm::depth_of(nodes[0]), comm::depth_of(nodes[1]));
}

/// The most senders whose ways take one link of the machine, of those that carry no more than a network
/// interface. Links of a way's own ends do not count.
std::size_t most_senders(const machine& m, const tree_pair& trees) {
  const fabric::topology topology(m.config);
  const auto& members = m.members.members;
  const auto terminal = [&](std::uint32_t rank) { return cost::terminal_of(topology, members[rank]); };
  const double interface = static_cast<double>(m.config.noc.flit_bytes) * m.config.noc.clock_ghz;
  std::map<std::uint32_t, std::set<std::uint32_t>> senders;
  std::size_t most = 0;
  for (const std::vector<tree_node>& tree : trees) {
    for (std::uint32_t r = 0; r < members.size(); ++r) {
      for (const std::uint32_t below : tree[r].children) {
        const auto way = topology.trace(terminal(r), terminal(below));
        for (std::size_t i = 1; i + 1 < way.size(); ++i) {
          if (topology.links()[way[i].link].gbytes_s >= 2 * interface) continue;
          senders[way[i].link].insert(r);
          most = std::max(most, senders[way[i].link].size());
        }
      }
    }
  }
  return most;
}

/// Every member but the root has one way up to it.
void check_ways_up(const packed_trees& plan, std::uint32_t n, std::uint32_t root) {
  for (std::uint32_t t = 0; t < packed_trees::trees; ++t) {
    CHECK_FALSE(plan.node(t, root).parent.has_value());
    for (std::uint32_t r = 0; r < n; ++r) {
      std::uint32_t up = r, steps = 0;
      for (; up != root && steps < n; ++steps) {
        REQUIRE(plan.node(t, up).parent.has_value());
        const std::uint32_t above = *plan.node(t, up).parent;
        const auto& children = plan.node(t, above).children;
        CHECK(std::count(children.begin(), children.end(), up) == 1);
        up = above;
      }
      CHECK(up == root);
    }
  }
}

TEST_CASE("packed trees reach every member once", "[both]") {
  for (const machine_shape& shape :
       {machine_shape{1, 1, 1, 1}, machine_shape{1, 2, 1, 1}, machine_shape{1, 3, 1, 1},
        machine_shape{1, 2, 2, 1}, machine_shape{2, 3, 2, 1}, machine_shape{3, 1, 1, 1},
        machine_shape{1, 5, 5, 1}, machine_shape{6, 4, 4, 1}}) {
    const machine m(shape);
    const auto n = static_cast<std::uint32_t>(m.members.members.size());
    for (const std::uint32_t root : test::in_part(std::vector{n / 2}, {0U, n / 2, n - 1})) {
      CAPTURE(shape.sips, shape.cube_columns, shape.cube_rows, root);
      check_ways_up(packed_trees(m.context(root)), n, root);
    }
  }
}

TEST_CASE("packed trees on 4 x 4 cubes: nobody sends more than the vector, no two senders share a link",
          "[both]") {
  const machine m(machine_shape{1, 4, 4, 1});
  for (std::uint32_t root = 0; root < 16; root += test::in_part(5U, 1)) {
    CAPTURE(root);
    const packed_trees plan(m.context(root));
    for (std::uint32_t r = 0; r < 16; ++r) {
      CHECK(plan.node(0, r).children.size() + plan.node(1, r).children.size() <= 2);
    }
    CHECK(most_senders(m, nodes_of(m, plan)) == 1);
    CHECK(depth_of(m, plan) <= 6);
  }
}

TEST_CASE("packed trees on 3 x 3 and 4 x 4 cubes: flows hardly share a way towards the root either",
          "[both]") {
  for (const std::uint32_t side : {3U, 4U}) {
    const machine m(machine_shape{1, side, side, 1});
    for (std::uint32_t root = 0; root < side * side; root += test::in_part(5U, 1)) {
      CAPTURE(side, root);
      std::uint32_t shared = 0;  // by the two flows of one sender
      for (const auto& [step, halves] : loads(m, packed_tree_edges_up(m.context(root)))) {
        CHECK(halves <= 2);
        shared += halves - 1;
      }
      CHECK(shared <= 2);
    }
  }
}

TEST_CASE("packed trees enter every SIP once") {
  const machine m(machine_shape{4, 2, 2, 2}, rank_set::pe);
  std::map<std::pair<std::uint32_t, bool>, std::uint32_t> entered;  // by SIP and tree
  for (const edge& e : packed_tree_edges(m.context(5))) {
    if (e.from.sip == e.to.sip || is_further(e)) continue;
    ++entered[{e.to.sip.value, e.reverse == packed_parent(1)}];
  }
  CHECK(entered.size() == 6);
  for (const auto& [where, times] : entered) CHECK(times == 1);
}

TEST_CASE("edges of packed trees have queue pairs side by side, all of them different") {
  struct sample {
    machine_shape shape;
    std::uint64_t queue_pairs;
    std::uint32_t within, crossing;
  };
  for (const sample& s : {sample{{1, 4, 4, 1}, 16, 2, 1}, sample{{2, 4, 4, 1}, 16, 2, 4},
                          sample{{2, 4, 4, 1}, 12, 2, 2}, sample{{2, 4, 4, 1}, 8, 1, 1}}) {
    machine m(s.shape);
    m.config.ipcq.queue_pairs = s.queue_pairs;
    CAPTURE(s.shape.sips, s.queue_pairs);
    const packed_trees plan(m.context(5));
    std::map<std::pair<pe_coord, pe_coord>, std::uint32_t> widths;
    std::set<std::pair<pe_coord, direction>> used;
    for (const edge& e : packed_tree_edges(m.context(5))) {
      ++widths[{e.from, e.to}];
      CHECK(used.insert({e.from, e.dir}).second);
      REQUIRE(e.reverse >= 0);
      const auto reverse = static_cast<direction>(e.reverse);
      CHECK(used.insert({e.to, reverse}).second);
      CHECK(std::max(e.dir, reverse) < s.queue_pairs);
    }
    for (const auto& [ends, width] : widths) {
      CHECK(width == (ends.first.sip == ends.second.sip ? s.within : s.crossing));
    }
  }
}

TEST_CASE(
    "packed trees of two SIPs: each enters the other once, at a member of its own; nobody sends too much") {
  const machine m(machine_shape{2, 4, 4, 1});
  for (const std::uint32_t root : {0U, 5U, 11U, 31U}) {
    CAPTURE(root);
    const packed_trees plan(m.context(root));
    std::set<std::uint32_t> entered;
    std::uint32_t crossings = 0;
    for (std::uint32_t r = 0; r < 32; ++r) {
      CHECK(plan.node(0, r).children.size() + plan.node(1, r).children.size() <= 2);
      for (std::uint32_t t = 0; t < packed_trees::trees; ++t) {
        for (const std::uint32_t below : plan.node(t, r).children) {
          if (!plan.crosses(r, below)) continue;
          CHECK(below == plan.node(t, r).children.front());
          ++crossings;
          entered.insert(below);
        }
      }
    }
    CHECK(crossings == 2);
    CHECK(entered.size() == 2);
  }
}

TEST_CASE(
    "the search makes trees of cubes shallow and leaves no link to two senders, whatever it begins with") {
  const machine m(machine_shape{1, 3, 3, 1});
  tree_pair chain;
  for (auto& tree : chain) {
    tree.resize(9);
    for (std::uint32_t r = 1; r < 9; ++r) {
      tree[r - 1].children = {r};
      tree[r].parent = r - 1;
    }
  }
  improve_trees(m.context(0), false, chain);
  CHECK(std::max(comm::depth_of(chain[0]), comm::depth_of(chain[1])) <= 5);
  CHECK(most_senders(m, chain) == 1);
  for (std::uint32_t r = 0; r < 9; ++r) CHECK(chain[0][r].children.size() + chain[1][r].children.size() <= 2);
}

TEST_CASE("packed trees enter a SIP where packets come that go around a missing link") {
  config::machine_config c;
  c.pod.sips = 4;
  c.pod.topology = config::pod_topology::ring;
  const auto entries = [&c](std::uint32_t into) {
    const group members = map_ranks(c.shape(), rank_set::cube);
    std::set<std::uint32_t> cubes;
    for (const edge& e : packed_tree_edges({c, c.shape(), members, 0})) {
      if (e.from.sip != e.to.sip && e.to.sip.value == into) cubes.insert(e.to.cube.value);
    }
    return cubes;
  };
  const auto whole = entries(1);
  REQUIRE_FALSE(whole.empty());
  c.overrides = {{.match = "pod.sip0.sip_port_e", .enabled = false}};
  CHECK(entries(1) != whole);  // from the other side of the ring
}

TEST_CASE("packed trees are the same every time") {
  const machine m(machine_shape{2, 4, 4, 1});
  const packed_trees a(m.context(3)), b(m.context(3));
  for (std::uint32_t t = 0; t < packed_trees::trees; ++t) {
    for (std::uint32_t r = 0; r < 32; ++r) CHECK(a.node(t, r).children == b.node(t, r).children);
  }
}

// --- several members on a cube ---

TEST_CASE("packed trees of PEs reach every member once, and on one SIP nobody sends more than the vector",
          "[both]") {
  for (const machine_shape& shape :
       {machine_shape{1, 1, 1, 2}, machine_shape{1, 1, 1, 8}, machine_shape{1, 2, 1, 3},
        machine_shape{1, 3, 3, 5}, machine_shape{2, 2, 2, 7}, machine_shape{3, 2, 2, 4},
        machine_shape{1, 4, 4, 8}}) {
    const machine m(shape, rank_set::pe);
    const auto n = static_cast<std::uint32_t>(m.members.members.size());
    for (const std::uint32_t root : test::in_part(std::vector{n / 2}, {0U, n / 2, n - 1})) {
      for (const auto way : {packed_trees::flow::down, packed_trees::flow::up}) {
        CAPTURE(shape.sips, shape.cube_columns, shape.cube_rows, shape.pes_per_cube, root);
        const packed_trees plan(m.context(root), way);
        for (std::uint32_t r = 0; r < n; ++r) {
          // A tree of cubes may ask more of a cube than its members can give where SIPs follow each other.
          const std::size_t most = shape.sips == 1 ? 2 : 3;
          CHECK(plan.node(0, r).children.size() + plan.node(1, r).children.size() <= most);
        }
        for (std::uint32_t t = 0; t < packed_trees::trees; ++t)
          CHECK(plan.node(t, root).children.size() == 1);
        check_ways_up(plan, n, root);
      }
    }
  }
}

TEST_CASE("packed trees of PEs enter every cube once, and are shallow") {
  const machine m(machine_shape{1, 4, 4, 8}, rank_set::pe);
  for (const std::uint32_t root : {0U, 77U}) {
    CAPTURE(root);
    std::map<std::pair<std::uint32_t, bool>, std::uint32_t> entered;  // by cube and tree
    for (const edge& e : packed_tree_edges(m.context(root))) {
      if (e.from.cube == e.to.cube || is_further(e)) continue;
      ++entered[{e.to.cube.value, e.reverse == packed_parent(1)}];
    }
    CHECK(entered.size() == 30);
    for (const auto& [where, times] : entered) CHECK(times == 1);
    const packed_trees plan(m.context(root));
    CHECK(depth_of(m, plan) <= 17);
  }
}

TEST_CASE("links that ways of packed trees of PEs share: few") {
  const machine m(machine_shape{1, 4, 4, 8}, rank_set::pe);
  const fabric::topology topology(m.config);
  const auto terminal = [&](pe_coord p) {
    return topology.locate(abi::encode({p.sip, p.cube, abi::region::tcm, p.pe.value, 0}));
  };
  std::map<std::uint32_t, std::set<pe_coord>> senders;  // by link
  for (const edge& e : packed_tree_edges(m.context(0))) {
    for (const fabric::route_hop& h : topology.trace(terminal(e.from), terminal(e.to))) {
      if (topology.links()[h.link].kind != fabric::link_kind::eject) senders[h.link].insert(e.from);
    }
  }
  const auto shared =
      std::count_if(senders.begin(), senders.end(), [](const auto& l) { return l.second.size() > 1; });
  CHECK(shared <= 12);  // some 700 are there
}

TEST_CASE("packed trees of PEs are the same every time") {
  const machine m(machine_shape{2, 2, 2, 8}, rank_set::pe);
  const packed_trees a(m.context(3)), b(m.context(3));
  for (std::uint32_t t = 0; t < packed_trees::trees; ++t) {
    for (std::uint32_t r = 0; r < 64; ++r) CHECK(a.node(t, r).children == b.node(t, r).children);
  }
}

}  // namespace
}  // namespace diecast::comm
