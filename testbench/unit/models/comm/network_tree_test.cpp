// SPDX-License-Identifier: Apache-2.0
// Plans of the tree in the network: one half per member and use, what the routers are told, what is refused;
// and the arithmetic of a router.
#include "models/comm/network_tree.hpp"

#include <algorithm>

#include <rapidcheck.h>

#include "models/numeric/convert.hpp"
#include "models/types/error.hpp"
#include "support/machines.hpp"
#include "support/test.hpp"
#include "sw/collectives/in_network/in_network.hpp"

namespace diecast::comm {
namespace {

config::machine_config tree_machine() {
  config::machine_config c;
  c.pod.sips = 2;
  c.sip.columns = c.sip.rows = 2;
  c.cube.pes = 2;
  c.noc.multicast = c.noc.reduce = true;
  return c;
}

install_plan plan_of(const config::machine_config& c) {
  const group g = map_ranks(c.shape(), rank_set::pe);
  return build_install_plan(in_network({c, c.shape(), g}), options_from(c, 0));
}

TEST_CASE("tree plan: every member has a half per use, and routers know every ring") {
  const config::machine_config c = tree_machine();
  const install_plan plan = plan_of(c);
  REQUIRE(plan.tree);
  const tree_install& t = *plan.tree;
  CHECK(t.members.size() == 16);
  CHECK(plan.queue_pairs.size() == 2 * 16);
  CHECK(t.n_slots == c.ipcq.n_slots);
  for (const queue_pair_install& q : plan.queue_pairs) {
    const bool root = q.owner == t.root;
    INFO(owner_name(q.owner) << " " << q.dir);
    if (q.dir == tree_multicast) {
      CHECK(q.tx == root);
      CHECK(q.rx != root);
      CHECK(q.peer_ipcq == abi::tree_address(abi::tree_use::multicast));
    } else {
      CHECK(q.tx != root);
      CHECK(q.rx == root);
      CHECK(q.peer_ipcq == abi::tree_address(abi::tree_use::reduce));
    }
    CHECK(q.peer != q.owner);
    CHECK((root || q.peer == t.root));
  }
  for (const tree_install::member& m : t.members) {
    CHECK((m.ring == 0) == (m.pe == t.root));
    CHECK(m.contributes == (m.pe != t.root));
  }
  CHECK(t.root_ring != 0);
}

TEST_CASE("tree plan: what routers know and members have must agree") {
  const auto refused = [](auto&& spoil, const std::string& why) {
    install_plan plan = plan_of(tree_machine());
    REQUIRE_NOTHROW(prove_install_plan(plan));
    spoil(plan);
    CHECK_THROWS_WITH(prove_install_plan(plan), Catch::Contains(why));
  };
  refused([](install_plan& p) { p.tree->members[13].ring += 64; }, "write its multicasts elsewhere");
  refused([](install_plan& p) { p.tree->root_ring += 64; }, "write its sums elsewhere");
  refused([](install_plan& p) { p.tree->members[12].contributes = false; }, "wait for no contribution");
  refused([](install_plan& p) { p.tree->members.push_back(p.tree->members[13]); },
          "members that the plan lacks");
  refused([](install_plan& p) { p.tree.reset(); }, "a tree that is not in the plan");
  refused([](install_plan& p) { p.tree->n_slots = 2; }, "differ from those of its tree");
  refused([](install_plan& p) { p.queue_pairs.back().peer_rx_base += 64; }, "leads elsewhere");
  refused(
      [](install_plan& p) {  // the rings of the last two members
        const std::size_t last = p.queue_pairs.size() - 2;
        p.queue_pairs[last].rx_base = p.queue_pairs[last - 2].rx_base;
      },
      "rings overlap");
}

TEST_CASE("tree plan: a machine whose routers do nothing is refused by the key") {
  const auto refused = [](auto&& set, const std::string& why) {
    config::machine_config c = tree_machine();
    set(c);
    const group g = map_ranks(c.shape(), rank_set::pe);
    CHECK_THROWS_WITH(in_network({c, c.shape(), g}), Catch::Contains(why));
  };
  refused([](auto& c) { c.noc.multicast = false; }, "noc.multicast");
  refused([](auto& c) { c.noc.reduce = false; }, "noc.reduce");
  refused([](auto& c) { c.comm.path = config::transfer_path::staged; }, "comm.path");
  refused([](auto& c) { c.comm.checksum = config::packet_checksum::crc32c; }, "comm.checksum");
  refused([](auto& c) { c.ipcq.match = config::match_policy::sender; }, "ipcq.match");
  refused([](auto& c) { c.ccl.install = config::install_kind::timed; }, "ccl.install");
  config::machine_config c = tree_machine();
  c.noc.reduce = false;
  const group g = map_ranks(c.shape(), rank_set::pe);
  CHECK(multicast_tree({c, c.shape(), g, 5}).size() == 15);  // broadcasts need no sums
}

TEST_CASE("tree plan: two roots, or one direction for two uses, are refused") {
  const config::machine_config c = tree_machine();
  const group g = map_ranks(c.shape(), rank_set::pe);
  auto edges = multicast_tree({c, c.shape(), g, 0});
  for (const edge& e : reduction_tree({c, c.shape(), g, 1})) edges.push_back(e);
  CHECK_THROWS_WITH(build_install_plan(edges, options_from(c, 0)), Catch::Contains("one root"));
  edges = multicast_tree({c, c.shape(), g, 0});
  edges.push_back({g.members[0], tree_multicast, g.members[1], false, 7});
  CHECK_THROWS_WITH(build_install_plan(edges, options_from(c, 0)), Catch::Contains("and by another edge"));
}

TEST_CASE("the middle of a machine") {
  const auto rank = [](std::uint32_t sips, std::uint32_t columns, std::uint32_t rows) {
    config::machine_config c = test::machine_of({sips, columns, rows, 1});
    return central_rank(c.shape(), map_ranks(c.shape(), rank_set::pe));
  };
  CHECK(rank(1, 1, 1) == 0);
  CHECK(rank(1, 3, 3) == 4);
  CHECK(rank(3, 1, 1) == 1);
  CHECK(rank(3, 3, 1) == 4);
  CHECK(rank(2, 2, 2) == 0);
}

std::vector<std::byte> elements(numeric::dtype t, const std::vector<double>& values) {
  std::vector<std::byte> out(values.size() * numeric::size_of(t));
  numeric::from_double(t, values, out);
  return out;
}

TEST_CASE("a router's sum: rounded at each addition, or once") {
  const auto sum = [](bool in_f32) {
    tree_sum s({numeric::dtype::f16, numeric::reduction::sum, in_f32});
    for (const double v : {2048.0, 1.0, 1.0, 1.0, 1.0}) s.add(elements(numeric::dtype::f16, {v}));
    return numeric::element(numeric::dtype::f16, s.result(), 0);
  };
  CHECK(sum(false) == 2048);  // 2049 is no f16 and rounds to even each time
  CHECK(sum(true) == 2052);
  tree_sum one({numeric::dtype::i32, numeric::reduction::max, false});
  one.add(elements(numeric::dtype::i32, {7, -3}));
  CHECK(one.result() == elements(numeric::dtype::i32, {7, -3}));
  CHECK_THROWS_AS(one.add(elements(numeric::dtype::i32, {7})), std::invalid_argument);
}

}  // namespace
}  // namespace diecast::comm
