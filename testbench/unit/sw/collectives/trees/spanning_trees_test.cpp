// SPDX-License-Identifier: Apache-2.0
// Spanning trees of neighbors: each reaches every rank, and together they use links as evenly as can be.
#include <algorithm>
#include <map>
#include <utility>

#include "support/machines.hpp"
#include "support/test.hpp"
#include "sw/collectives/trees/packed_trees.hpp"

namespace diecast::comm {
namespace {

using machine = test::ranked_machine;

/// Trees that use each pair of neighbors.
std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> uses(const spanning_trees& plan) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> found;
  for (std::uint32_t t = 0; t < plan.trees(); ++t) {
    for (std::uint32_t r = 0; r < plan.tree(t).size(); ++r) {
      if (const auto up = plan.tree(t)[r].parent) ++found[std::minmax(r, *up)];
    }
  }
  return found;
}

TEST_CASE("spanning trees reach every rank over neighbors, no deeper than they say") {
  for (const machine& m :
       {machine{machine_shape{1, 1, 1, 1}}, machine{machine_shape{1, 1, 2, 1}},
        machine{machine_shape{1, 2, 2, 2}}, machine{machine_shape{1, 3, 3, 1}},
        machine{machine_shape{1, 9, 1, 1}}, machine{machine_shape{2, 3, 2, 1}},
        machine{machine_shape{4, 4, 4, 1}}, machine{machine_shape{6, 1, 1, 1}, rank_set::sip}}) {
    CAPTURE(m.shape.sips, m.shape.cube_columns, m.shape.cube_rows);
    const spanning_trees plan(m.context());
    const neighbor_graph g(m.context());
    for (std::uint32_t t = 0; t < plan.trees(); ++t) {
      std::uint32_t roots = 0;
      for (std::uint32_t r = 0; r < g.ranks(); ++r) {
        std::uint32_t up = r, steps = 0;
        for (; plan.tree(t)[up].parent && steps <= plan.depth(); ++steps) {
          const std::uint32_t above = *plan.tree(t)[up].parent;
          const auto& links = g.leaving(up);
          CHECK(std::any_of(links.begin(), links.end(), [&](auto l) { return g.links()[l].to == above; }));
          const auto& children = plan.tree(t)[above].children;
          CHECK(std::count(children.begin(), children.end(), up) == 1);
          up = above;
        }
        CHECK(steps <= plan.depth());
        roots += plan.tree(t)[r].parent ? 0 : 1;
      }
      CHECK(roots == 1);
    }
  }
}

// Each tree takes a link of all but one rank: the shares of the vector on all pairs add up to ranks - 1.
TEST_CASE("spanning trees use all pairs of neighbors of a grid alike") {
  struct row {
    machine_shape shape;
    double busiest;
  };
  for (const row& r : {row{{1, 2, 2, 1}, 3.0 / 4}, row{{1, 3, 3, 1}, 8.0 / 12}}) {
    const machine m(r.shape);
    const spanning_trees plan(m.context());
    CAPTURE(r.shape.cube_columns);
    CHECK(plan.busiest() == r.busiest);
    for (const auto& [pair, trees] : uses(plan)) CHECK(trees == r.busiest * plan.trees());
  }
  for (const machine_shape& shape : {machine_shape{1, 4, 4, 1}, {1, 5, 5, 1}, {1, 6, 4, 1}}) {
    CAPTURE(shape.cube_columns, shape.cube_rows);
    const spanning_trees plan(machine(shape).context());
    CHECK(plan.busiest() == 2.0 / 3);
    for (const auto& [pair, trees] : uses(plan)) CHECK(trees <= 2);
  }
  const spanning_trees line(machine(machine_shape{1, 5, 1, 1}).context());
  CHECK(line.trees() == 1);
  CHECK(line.busiest() == 1);
  CHECK(line.depth() == 2);
}

TEST_CASE("spanning trees: fewer attempts for more members, one at least") {
  CHECK(spanning_trees::attempts_for(1) == 64);
  CHECK(spanning_trees::attempts_for(16) == 16);
  CHECK(spanning_trees::attempts_for(40) == 1);
  for (const std::uint64_t members : {1625U, 2048U, 4096U, 1U << 20}) {  // cubes that wrap in 32 bits
    CHECK(spanning_trees::attempts_for(members) == 1);
  }
}

TEST_CASE("spanning trees: a link may be slower than the others by any factor") {
  machine m(machine_shape{2, 2, 2, 1});
  m.config.sip_link.gbytes_s = 1e-6;
  const neighbor_graph g(m.context());
  const spanning_trees plan(m.context());
  // All of the vector goes over the link between the SIPs, if in several trees.
  CHECK(plan.busiest() == Approx(g.fastest() / 1e-6));
}

TEST_CASE("spanning trees are the same every time") {
  const machine m(machine_shape{2, 4, 4, 1});
  const spanning_trees a(m.context()), b(m.context());
  REQUIRE(a.trees() == b.trees());
  for (std::uint32_t t = 0; t < a.trees(); ++t) {
    for (std::uint32_t r = 0; r < 32; ++r) CHECK(a.tree(t)[r].children == b.tree(t)[r].children);
  }
}

TEST_CASE("tree directions: parents before children, tree after tree") {
  const tree_node top{std::nullopt, {3, 4}}, inner{1, {5}}, leaf{1, {}};
  const tree_directions d({&top, &inner, &leaf});
  CHECK(d.child(0, 0) == 0);
  CHECK(d.child(0, 1) == 1);
  CHECK(d.parent(1) == 2);
  CHECK(d.child(1, 0) == 3);
  CHECK(d.parent(2) == 4);
}

}  // namespace
}  // namespace diecast::comm
