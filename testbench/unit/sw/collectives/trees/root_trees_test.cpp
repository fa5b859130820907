// SPDX-License-Identifier: Apache-2.0
// The two trees below one root: each reaches every rank once, and no other rank is an inner node of both.
#include <algorithm>
#include <bit>
#include <set>

#include "support/test.hpp"
#include "sw/collectives/base/peer_patterns.hpp"
#include "sw/collectives/trees/trees.hpp"

namespace diecast::comm {
namespace {

/// Edges from the root to `rank`; fails the test when the way does not end there.
std::uint32_t depth_of(std::uint32_t rank, std::uint32_t ranks, std::uint32_t root, std::uint32_t which) {
  std::uint32_t depth = 0;
  while (rank != root && depth <= ranks) {
    const tree_node n = root_tree(rank, ranks, root, which);
    REQUIRE(n.parent.has_value());
    const tree_node up = root_tree(*n.parent, ranks, root, which);
    CHECK(std::count(up.children.begin(), up.children.end(), rank) == 1);
    rank = *n.parent;
    ++depth;
  }
  CHECK(rank == root);
  return depth;
}

TEST_CASE("a root that the group does not have is refused") {
  const config::machine_config c;
  const machine_shape shape = c.shape();
  const group four{rank_set::pe, {shape.pe_at(0), shape.pe_at(1), shape.pe_at(2), shape.pe_at(3)}};
  CHECK_NOTHROW(root_trees({c, shape, four, 3}));
  CHECK_THROWS_WITH(root_trees({c, shape, four, 4}),
                    Catch::Contains("ccl.root_rank: the root is no member of the group"));
  CHECK_THROWS_WITH(packed_tree_edges({c, shape, four, 4}),
                    Catch::Contains("ccl.root_rank: the root is no member of the group"));
  CHECK_NOTHROW(star({c, shape, four, 3}));
  CHECK_THROWS_WITH(star({c, shape, four, 4}), Catch::Contains("(value 4; expected 0 to 3)"));
}

TEST_CASE("both trees reach every rank from any root") {
  for (std::uint32_t n = 1; n <= 33; ++n) {
    for (const std::uint32_t root : {0U, n / 2, n - 1}) {
      for (std::uint32_t which = 0; which < 2; ++which) {
        CAPTURE(n, root, which);
        CHECK_FALSE(root_tree(root, n, root, which).parent.has_value());
        std::size_t edges = 0;
        for (std::uint32_t r = 0; r < n; ++r) {
          CHECK(depth_of(r, n, root, which) <= static_cast<std::uint32_t>(std::bit_width(n)) + 1);
          edges += root_tree(r, n, root, which).children.size();
        }
        CHECK(edges == n - 1);
      }
    }
  }
}

TEST_CASE("no rank but the root sends in both trees") {
  for (std::uint32_t n = 2; n <= 40; ++n) {
    CAPTURE(n);
    for (std::uint32_t r = 0; r < n; ++r) {
      if (r == 1) continue;
      CHECK((root_tree(r, n, 1, 0).children.empty() || root_tree(r, n, 1, 1).children.empty()));
    }
  }
}

}  // namespace
}  // namespace diecast::comm
