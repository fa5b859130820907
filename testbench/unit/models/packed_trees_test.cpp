// SPDX-License-Identifier: Apache-2.0
// Two trees below one root: each reaches every member once, within what members and links carry.
#include "models/comm/packed_trees.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "models/abi/address.hpp"
#include "models/comm/fitted_trees.hpp"
#include "models/comm/peer_patterns.hpp"
#include "models/cost/message_cost.hpp"
#include "models/fabric/topology.hpp"
#include "support/machines.hpp"
#include "support/test.hpp"

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

std::uint32_t depth_of(const machine& m, const packed_trees& plan, std::uint32_t tree) {
  std::vector<tree_node> nodes;
  for (std::uint32_t r = 0; r < m.ranks(); ++r) nodes.push_back(plan.node(tree, r));
  return comm::depth_of(nodes);
}

/// The most senders whose ways take one link of the machine, of those that carry no more than a network
/// interface. Links of a way's own ends do not count.
std::size_t most_senders(const machine& m, const packed_trees& plan) {
  const fabric::topology topology(m.config);
  const auto& members = m.members.members;
  const auto terminal = [&](std::uint32_t rank) { return cost::terminal_of(topology, members[rank]); };
  const double interface = static_cast<double>(m.config.noc.flit_bytes) * m.config.noc.clock_ghz;
  std::map<std::uint32_t, std::set<std::uint32_t>> senders;
  std::size_t most = 0;
  for (std::uint32_t t = 0; t < packed_trees::trees; ++t) {
    for (std::uint32_t r = 0; r < members.size(); ++r) {
      for (const std::uint32_t below : plan.node(t, r).children) {
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

TEST_CASE("packed trees reach every member once") {
  for (const machine_shape& shape :
       {machine_shape{1, 1, 1, 1}, machine_shape{1, 2, 1, 1}, machine_shape{1, 3, 1, 1},
        machine_shape{1, 2, 2, 1}, machine_shape{2, 3, 2, 1}, machine_shape{3, 1, 1, 1},
        machine_shape{1, 5, 5, 1}, machine_shape{6, 4, 4, 1}}) {
    const machine m(shape);
    const auto n = static_cast<std::uint32_t>(m.members.members.size());
    for (const std::uint32_t root : {0U, n / 2, n - 1}) {
      CAPTURE(shape.sips, shape.cube_columns, shape.cube_rows, root);
      const packed_trees plan(m.context(root));
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
  }
}

TEST_CASE("packed trees on 4 x 4 cubes: nobody sends more than the vector, no two senders share a link") {
  const machine m(machine_shape{1, 4, 4, 1});
  for (std::uint32_t root = 0; root < 16; ++root) {
    CAPTURE(root);
    const packed_trees plan(m.context(root));
    for (std::uint32_t r = 0; r < 16; ++r) {
      CHECK(plan.node(0, r).children.size() + plan.node(1, r).children.size() <= 2);
    }
    CHECK(most_senders(m, plan) == 1);
    CHECK(std::max(depth_of(m, plan, 0), depth_of(m, plan, 1)) <= 6);
  }
}

TEST_CASE("packed trees on 3 x 3 and 4 x 4 cubes: no two flows share a way towards the root either") {
  for (const std::uint32_t side : {3U, 4U}) {
    const machine m(machine_shape{1, side, side, 1});
    for (std::uint32_t root = 0; root < side * side; ++root) {
      CAPTURE(side, root);
      for (const auto& [step, halves] : loads(m, packed_tree_edges_up(m.context(root)))) CHECK(halves == 1);
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

TEST_CASE("fitted trees on 3 x 3 cubes are shallow and share no link") {
  const machine m(machine_shape{1, 3, 3, 1});
  constexpr std::uint32_t root = 4;
  const tree_task task = task_of_all(m.context(root));
  const auto fitted = fitted_trees(m.context(root));
  REQUIRE(fitted.has_value());
  const tree_cost cost = cost_of(task, *fitted);
  CHECK(cost.farthest_ns > 0);
  CHECK(cost.shared_ns == 0);
  CHECK(cost.total_ns > cost.farthest_ns);
  // A chain down both trees shares nothing and is deep; a star is more than the root can send.
  tree_pair chain, star;
  for (std::uint32_t t = 0; t < chain.size(); ++t) {
    chain[t].resize(9);
    star[t].resize(9);
    std::uint32_t above = root;
    for (std::uint32_t r = 0; r < 9; ++r) {
      if (r == root) continue;
      chain[t][above].children = {r};
      chain[t][r].parent = above;
      above = r;
      star[t][root].children.push_back(r);
      star[t][r].parent = root;
    }
  }
  CHECK(cost_of(task, chain).farthest_ns > 2 * cost.farthest_ns);
  CHECK(std::isinf(cost_of(task, star).total_ns));
}

TEST_CASE("links that the same ways take are one to the search, and count as often as they are") {
  const machine m(machine_shape{1, 3, 3, 1});
  const tree_task task = task_of_all(m.context(0));
  std::set<std::tuple<std::vector<std::size_t>, std::uint32_t, bool, bool>> known;
  std::vector<std::vector<std::size_t>> ways(task.link_of.size());
  for (std::size_t edge = 0; edge < task.links.size(); ++edge) {
    for (const std::uint16_t l : task.links[edge]) ways[l].push_back(edge);
  }
  std::uint32_t most_alike = 0;
  for (std::size_t l = 0; l < ways.size(); ++l) {
    const tree_task::link& link = task.link_of[l];
    CHECK(known.insert({ways[l], link.fit, link.between_sips, link.narrow}).second);
    most_alike = std::max(most_alike, link.alike);
  }
  CHECK(most_alike > 1);
  const fabric::topology t(m.config);
  const auto terminal = [&](std::uint32_t rank) { return cost::terminal_of(t, m.members.members[rank]); };
  for (std::uint32_t a = 0; a < task.members; ++a) {
    for (std::uint32_t b = 0; b < task.members; ++b) {
      if (a == b) continue;
      std::size_t links = 2;  // those of the ends are nobody else's
      for (const std::uint16_t l : task.links[a * task.members + b]) links += task.link_of[l].alike;
      CHECK(links == t.trace(terminal(a), terminal(b)).size());
    }
  }
}

TEST_CASE("a link that stands for three costs what three cost") {
  // 0 sends to 1 and 1 to 2, down both trees, all over one link.
  tree_task task;
  task.members = 3;
  task.links.resize(9);
  task.edge_ns.assign(9, 100.0);
  task.slot_ns = 10;
  task.links[0 * 3 + 1] = task.links[1 * 3 + 2] = {0};
  tree_pair chain;
  for (auto& tree : chain) {
    tree.resize(3);
    tree[0].children = {1};
    tree[1] = {0, {2}};
    tree[2].parent = 1;
  }
  task.link_of = {{1, false, false, 1}};
  const tree_cost one = cost_of(task, chain);
  task.link_of = {{1, false, false, 3}};
  const tree_cost three = cost_of(task, chain);
  CHECK(one.shared_ns > 0);
  CHECK(three.shared_ns == 3 * one.shared_ns);
  CHECK(three.farthest_ns == one.farthest_ns);
  // Flows of one sender and of two take turns alike where a link is slower than a sender: three beside one.
  task.link_of = {{1, false, true, 1}};
  CHECK(cost_of(task, chain).shared_ns > one.shared_ns);
}

TEST_CASE(
    "two flows over one link cost more where they are the root's, and most where they are of two senders") {
  // In the one tree 0 sends to 1, and that to 2 and 3; in the other 0 sends to 3, and that to 1 and 2.
  tree_task task;
  task.members = 4;
  task.edge_ns.assign(16, 100.0);
  task.slot_ns = 10;
  task.link_of = {{}};
  tree_pair trees;
  for (auto& tree : trees) tree.resize(4);
  trees[0] = {{{}, {1}}, {0, {2, 3}}, {1, {}}, {1, {}}};
  trees[1] = {{{}, {3}}, {3, {}}, {3, {}}, {0, {1, 2}}};
  const auto cost = [&](std::size_t one, std::size_t other) {
    task.links.assign(16, {});
    task.links[one] = task.links[other] = {0};
    return cost_of(task, trees).shared_ns;
  };
  const double roots = cost(0 * 4 + 1, 0 * 4 + 3), members = cost(1 * 4 + 2, 1 * 4 + 3),
               both = cost(0 * 4 + 1, 3 * 4 + 2);
  CHECK(members > 0);
  CHECK(roots > members);
  CHECK(both > roots);
}

TEST_CASE("there are no fitted trees where members share cubes, of three SIPs, or beside other patterns") {
  CHECK_FALSE(fitted_trees(machine(machine_shape{1, 2, 2, 2}, rank_set::pe).context(0)).has_value());
  CHECK_FALSE(fitted_trees(machine(machine_shape{3, 2, 2, 1}).context(0)).has_value());
  CHECK_FALSE(fitted_trees(machine(machine_shape{1, 3, 1, 1}).context(0)).has_value());
  CHECK_FALSE(fitted_trees(machine(machine_shape{1, 9, 8, 1}).context(0)).has_value());
  machine m(machine_shape{1, 2, 2, 1});
  CHECK(fitted_trees(m.context(0)).has_value());
  pattern_context shared = m.context(0);
  shared.shares_queue_pairs = true;
  CHECK_FALSE(fitted_trees(shared).has_value());
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

TEST_CASE("packed trees of PEs reach every member once, and on one SIP nobody sends more than the vector") {
  for (const machine_shape& shape :
       {machine_shape{1, 1, 1, 2}, machine_shape{1, 1, 1, 8}, machine_shape{1, 2, 1, 3},
        machine_shape{1, 3, 3, 5}, machine_shape{2, 2, 2, 7}, machine_shape{3, 2, 2, 4},
        machine_shape{1, 4, 4, 8}}) {
    const machine m(shape, rank_set::pe);
    const auto n = static_cast<std::uint32_t>(m.members.members.size());
    for (const std::uint32_t root : {0U, n / 2, n - 1}) {
      for (const auto way : {packed_trees::flow::down, packed_trees::flow::up}) {
        CAPTURE(shape.sips, shape.cube_columns, shape.cube_rows, shape.pes_per_cube, root);
        const packed_trees plan(m.context(root), way);
        for (std::uint32_t r = 0; r < n; ++r) {
          // A tree of cubes may ask more of a cube than its members can give where SIPs follow each other.
          const std::size_t most = shape.sips == 1 ? 2 : 3;
          CHECK(plan.node(0, r).children.size() + plan.node(1, r).children.size() <= most);
        }
        for (std::uint32_t t = 0; t < packed_trees::trees; ++t) {
          CHECK_FALSE(plan.node(t, root).parent.has_value());
          CHECK(plan.node(t, root).children.size() == 1);
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
    CHECK(std::max(depth_of(m, plan, 0), depth_of(m, plan, 1)) <= 15);
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
  CHECK(shared <= 8);
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
