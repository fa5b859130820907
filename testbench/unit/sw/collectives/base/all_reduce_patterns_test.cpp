// SPDX-License-Identifier: Apache-2.0
// Patterns of the all-reduce algorithms: edges lead where they should, and every pattern becomes a plan.
#include <algorithm>
#include <map>
#include <set>

#include "models/comm/install_plan.hpp"
#include "models/comm/patterns.hpp"
#include "models/config/population.hpp"
#include "models/types/error.hpp"
#include "support/machines.hpp"
#include "support/part.hpp"
#include "support/test.hpp"
#include "sw/collectives/base/kernel_table.hpp"
#include "sw/collectives/partners/partner_steps.hpp"
#include "sw/collectives/rings/ring.hpp"
#include "sw/collectives/trees/trees.hpp"

using namespace diecast;
using namespace diecast::comm;

namespace {

config::machine_config machine(const machine_shape& s) {
  config::machine_config c = test::machine_with_trees(s);
  c.ipcq.queue_pairs = 64;
  c.ipcq.slot_bytes = 64;
  return c;
}

std::vector<edge> build(const config::machine_config& c, rank_set set, const std::string& name) {
  const group g = map_ranks(config::population(c), set);
  for (const pattern_entry& p : sw::builtin_patterns()) {
    if (p.name == name) return p.build({c, c.shape(), g});
  }
  FAIL("no pattern " << name);
  return {};
}

bool inside_cube(const edge& e) { return e.from.sip == e.to.sip && e.from.cube == e.to.cube; }
bool inside_sip(const edge& e) { return e.from.sip == e.to.sip; }

}  // namespace

TEST_CASE("hierarchical_3level: edges are symmetric") {
  const std::vector<edge> edges = build(machine({3, 3, 2, 4}), rank_set::pe, "hierarchical_3level");
  std::map<std::pair<pe_coord, direction>, pe_coord> leads;
  for (const edge& e : edges) CHECK(leads.emplace(std::pair{e.from, e.dir}, e.to).second);
  for (const edge& e : edges) {
    const auto back = leads.find({e.to, opposite(e.dir)});
    REQUIRE(back != leads.end());
    CHECK(back->second == e.from);
  }
  CHECK(edges.size() == 3 * 6 * 4 * 2 + 3 * 6 * 2 + 3 * 2);
}

TEST_CASE("hierarchical_3level: only pe0 has edges between cubes, only cube 0 pe 0 between SIPs") {
  std::size_t between_cubes = 0;
  std::size_t between_sips = 0;
  for (const edge& e : build(machine({2, 2, 2, 4}), rank_set::pe, "hierarchical_3level")) {
    if (inside_cube(e)) {
      CHECK((e.dir == east || e.dir == west));
    } else if (inside_sip(e)) {
      CHECK((e.from.pe.value == 0 && e.to.pe.value == 0));
      CHECK((e.dir == north || e.dir == south));
      ++between_cubes;
    } else {
      CHECK((e.from.cube.value == 0 && e.from.pe.value == 0 && e.to.cube.value == 0 && e.to.pe.value == 0));
      CHECK((e.dir == global_east || e.dir == global_west));
      ++between_sips;
    }
  }
  CHECK(between_cubes == 2 * 4 * 2);
  CHECK(between_sips == 2 * 2);
}

TEST_CASE("hierarchical_3level: levels of one have no edges; other sets of ranks are refused") {
  CHECK(build(machine({1, 1, 1, 1}), rank_set::pe, "hierarchical_3level").empty());
  for (const edge& e : build(machine({1, 2, 3, 5}), rank_set::pe, "hierarchical_3level"))
    CHECK(inside_sip(e));
  for (const edge& e : build(machine({4, 1, 1, 1}), rank_set::pe, "hierarchical_3level"))
    CHECK_FALSE(inside_sip(e));
  CHECK_THROWS_WITH(build(machine({2, 2, 2, 4}), rank_set::cube, "hierarchical_3level"),
                    Catch::Contains("all PEs of their SIPs"));
}

TEST_CASE("patterns: every one becomes a plan for any number of ranks", "[both]") {
  for (const pattern_entry& p : sw::builtin_patterns()) {
    if (p.name == "intercube") continue;
    const bool one_per_cube = p.name == "neighbors" || p.name == "spanning_trees";
    for (std::uint32_t n = 1; n <= test::in_part(9U, 33); ++n) {
      INFO(p.name << ", " << n << " ranks");
      const config::machine_config c = one_per_cube ? machine({n, 1, 1, 1}) : machine({1, 1, 1, n});
      CHECK_NOTHROW(build_install_plan(build(c, rank_set::pe, p.name), options_from(c, 0)));
    }
    if (p.name == "hierarchical_3level") continue;
    const config::machine_config c = machine({6, 3, 2, 2});
    INFO(p.name);
    CHECK_NOTHROW(build_install_plan(build(c, rank_set::cube, p.name), options_from(c, 0)));
  }
}

TEST_CASE("patterns of partners use as many queue pairs as they have partners") {
  for (const auto& [name, ranks, most] : {std::tuple{"recursive_doubling", 256u, 9u},
                                          {"swing", 200u, 9u},
                                          {"swing", 255u, 9u},
                                          {"binomial_tree", 256u, 9u},
                                          {"recursive_doubling", 300u, 9u},
                                          {"double_binary_tree", 100u, 14u}}) {
    INFO(name << " of " << ranks);
    for (const edge& e : build(machine({1, 1, 1, ranks}), rank_set::pe, name)) CHECK(e.dir < most);
  }
}

TEST_CASE("patterns of partners fold neighbors: at most one pair meets over the links of a SIP") {
  config::machine_config c = machine({2, 2, 2, 4});
  config::instance_override& dead = c.overrides.emplace_back();
  dead.match = "pod.sip0.cube_1_0.pe2";
  dead.enabled = false;
  for (const char* name : {"recursive_doubling", "swing"}) {
    INFO(name);
    unsigned folds = 0, between_sips = 0;
    for (const edge& e : build(c, rank_set::pe, name)) {
      if (e.dir != fold_partner) continue;
      ++folds;
      between_sips += e.from.sip == e.to.sip ? 0 : 1;
    }
    CHECK(folds == (std::string(name) == "swing" ? 2 : 2 * 15));  // both ways
    CHECK(between_sips <= 2);
  }
}

TEST_CASE("tree_binary: parent (r-1)/2, children 2r+1 and 2r+2") {
  for (const edge& e : build(machine({1, 1, 1, 11}), rank_set::pe, "tree_binary")) {
    const std::uint32_t from = e.from.pe.value;
    const std::uint32_t to = e.to.pe.value;
    if (e.dir == parent) CHECK(to == (from - 1) / 2);
    if (e.dir == child_left) CHECK(to == 2 * from + 1);
    if (e.dir == child_right) CHECK(to == 2 * from + 2);
    CHECK((e.dir == parent || e.dir == child_left || e.dir == child_right));
  }
}

TEST_CASE("mesh_2d and torus_2d: rows join equal PEs of neighboring cubes; the torus closes them") {
  const config::machine_config c = machine({1, 3, 2, 2});
  const auto mesh = build(c, rank_set::pe, "mesh_2d");
  const auto torus = build(c, rank_set::pe, "torus_2d");
  CHECK(mesh.size() == 2 * (4 * 2 + 3 * 3));  // 4 rows of 3, 3 columns of 4
  CHECK(torus.size() == 2 * (4 * 3 + 3 * 4));
  for (const edge& e : mesh) {
    if (e.dir == east || e.dir == west) CHECK(e.from.pe == e.to.pe);
  }
  CHECK(build(c, rank_set::pe, "mesh_2d_no_wrap").size() == mesh.size());
}

TEST_CASE("all_to_all: too few queue pairs name their key") {
  config::machine_config c = machine({1, 1, 1, 18});
  c.ipcq.queue_pairs = 16;
  CHECK_THROWS_WITH(build(c, rank_set::pe, "all_to_all"),
                    Catch::Contains("ipcq.queue_pairs") && Catch::Contains("at least 17"));
  c.ipcq.queue_pairs = 17;
  CHECK(build(c, rank_set::pe, "all_to_all").size() == 18 * 17);
}

TEST_CASE("patterns name their directions") {
  for (const pattern_entry& p : sw::builtin_patterns()) {
    if (p.name == "recursive_doubling") {
      CHECK(direction_name(p, fold_partner) == "fold");
      CHECK(direction_name(p, partner(3)) == "step3");
    }
    if (p.name == "double_binary_tree") {
      CHECK(direction_name(p, parent) == "parent");
      CHECK(direction_name(p, second_tree) == "parent2");
    }
    if (p.name == "ring_1d") CHECK(direction_name(p, 200) == "custom200");
  }
}
