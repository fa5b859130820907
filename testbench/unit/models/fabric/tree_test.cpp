// SPDX-License-Identifier: Apache-2.0
// Trees of routers: one way to every member, the way a packet alone would take, no cycle.
#include <map>
#include <set>

#include "fabric_test_util.hpp"
#include "models/fabric/collective_tree.hpp"
#include "support/test.hpp"

namespace diecast::fabric {
namespace {

using place = std::tuple<sip_id, cube_id, router_index>;

std::vector<abi::node_address> pes(const topology& t) {
  std::vector<abi::node_address> all;
  for (const auto& b : test::blocks(t))
    if (test::terminal_at(t, b).kind == terminal_kind::pe) all.push_back(b);
  return all;
}

/// Walks down from the root; how often each terminal is reached. Checks that parents and children agree.
class walker {
 public:
  walker(const topology& t, const collective_tree& tree) : t_(t) {
    for (const tree_node& n : tree.nodes) nodes_.emplace(place{n.sip, n.cube, n.router}, &n);
    const router_index r = test::terminal_at(t, tree.root).router;
    walk({sip_id{tree.root.sip}, cube_id{tree.root.cube}, r}, {true, tree.root.terminal});
  }
  std::map<abi::node_address, unsigned> reached;
  std::size_t visited{};
  bool right{true};

 private:
  void walk(const place& at, const tree_port& from) {
    const auto found = nodes_.find(at);
    if (found == nodes_.end() || found->second->parent != from || visited > nodes_.size()) {
      right = false;
      return;
    }
    ++visited;
    const tree_node& n = *found->second;
    for (const tree_port& p : n.children) {
      if (!p.terminal) {
        const auto s = static_cast<side>(p.number);
        walk({n.sip, n.cube, t_.next_router(n.router, s)}, {false, static_cast<std::uint16_t>(opposite(s))});
        continue;
      }
      const abi::node_address here{static_cast<std::uint16_t>(n.sip.value),
                                   static_cast<std::uint16_t>(n.cube.value), p.number};
      if (test::is_block(test::terminal_at(t_, here))) {
        ++reached[here];
        continue;
      }
      const abi::node_address far = t_.far_end(here);
      walk({sip_id{far.sip}, cube_id{far.cube}, test::terminal_at(t_, far).router}, {true, far.terminal});
    }
  }

  const topology& t_;
  std::map<place, const tree_node*> nodes_;
};

TEST_CASE("trees reach every member once, by routers of the tree alone, on any machine") {
  CHECK(rc::check("trees", [] {
    const config::machine_config c = test::any_machine();
    const topology t(c);
    const auto all = pes(t);
    const auto root = *rc::gen::elementOf(all);
    std::set<abi::node_address> members;
    for (const auto& m : all)
      if (*rc::gen::inRange(0, 3) != 0) members.insert(m);
    const collective_tree tree = make_tree(t, root, std::vector(members.begin(), members.end()));
    const walker w(t, tree);
    RC_ASSERT(w.right);
    RC_ASSERT(w.visited == tree.nodes.size());
    members.erase(root);
    RC_ASSERT(w.reached.size() == members.size());
    for (const auto& [m, times] : w.reached) RC_ASSERT(members.count(m) == 1 && times == 1);
    RC_ASSERT(find_tree_cycle(t, std::vector{tree}).empty());
  }));
}

TEST_CASE("the path down a tree is the route of a packet alone") {
  const topology t(test::machine(2, {2, 2}, {4, 4}));
  const auto all = pes(t);
  for (const auto& member : all) {
    if (member == all[3]) continue;
    std::uint32_t mesh = 0;
    std::vector<std::uint32_t> outer;
    for (const route_hop& h : t.trace(all[3], member)) {
      const link_kind kind = t.links()[h.link].kind;
      if (kind == link_kind::mesh) ++mesh;
      if (kind == link_kind::ucie || kind == link_kind::sip) outer.push_back(h.link);
    }
    const tree_path way = path_of(t, all[3], member);
    CHECK(way.mesh_links == mesh);
    CHECK(way.outer_links == outer);
    CHECK(way.routers == mesh + 1 + outer.size());
  }
}

TEST_CASE("two trees in opposite directions round a ring can deadlock, and are shown to") {
  // Four routers in a square: each tree takes three sides of it, in the same sense.
  const topology t(test::machine(1, {1, 1}, {2, 2}));
  const auto at = [&](router_index r) { return tree_node{sip_id{0}, cube_id{0}, r, {}, {}}; };
  const auto to = [](side s) { return tree_port{false, static_cast<std::uint16_t>(s)}; };
  const auto chain = [&](std::vector<std::pair<router_index, side>> steps) {
    collective_tree tree;
    tree_port from{true, 0};
    for (const auto& [router, out] : steps) {
      tree_node n = at(router);
      n.parent = from;
      n.children = {to(out)};
      tree.nodes.push_back(n);
      from = to(opposite(out));
    }
    return tree;
  };
  const collective_tree a = chain({{0, side::east}, {1, side::north}, {3, side::west}});
  const collective_tree b = chain({{3, side::west}, {2, side::south}, {0, side::east}});
  CHECK(find_tree_cycle(t, std::vector{a}).empty());
  CHECK(find_tree_cycle(t, std::vector{b}).empty());
  const auto cycle = find_tree_cycle(t, std::vector{a, b});
  REQUIRE(cycle.size() == 4);
  CHECK(cycle.front().find("router") != std::string::npos);
}

TEST_CASE("trees have three VCs of their own, and only where routers copy") {
  config::machine_config c = test::machine(2, {2, 2}, {2, 2});
  const topology without(c);
  CHECK(!without.has_trees());
  CHECK_THROWS_AS(without.locate(abi::tree_address(abi::tree_use::multicast)), std::out_of_range);
  c.noc.multicast = true;
  const topology with(c);
  CHECK(with.vcs() == without.vcs() + 3);
  for (std::uint8_t vc = 0; vc < without.vcs(); ++vc) {
    CHECK(with.class_of(vc) == without.class_of(vc));
    CHECK(!with.is_tree_vc(vc));
  }
  for (const auto f : {abi::tree_flow::down, abi::tree_flow::up, abi::tree_flow::credits}) {
    CHECK(with.is_tree_vc(with.tree_vc(f)));
    CHECK(with.class_of(with.tree_vc(f)) == abi::traffic_class::comm);
  }
  CHECK(abi::is_tree(with.locate(abi::tree_address(abi::tree_use::reduce))));
}

}  // namespace
}  // namespace diecast::fabric
