// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/trees/trees.hpp"

#include <algorithm>
#include <bit>

#include "support/test.hpp"
#include "sw/collectives/partners/partner_steps.hpp"

using namespace diecast::comm;

namespace {

using tree = tree_node (*)(std::uint32_t, std::uint32_t);

/// Root, depth; checks that parents and children agree and that every rank is reached.
struct walked {
  std::uint32_t root{}, depth{};
};

walked walk(tree of, std::uint32_t n) {
  walked w;
  std::uint32_t roots = 0;
  for (std::uint32_t r = 0; r < n; ++r) {
    const tree_node node = of(r, n);
    for (const std::uint32_t c : node.children) {
      REQUIRE(c < n);
      CHECK(of(c, n).parent == r);
    }
    if (!node.parent) {
      ++roots;
      w.root = r;
      continue;
    }
    const auto siblings = of(*node.parent, n).children;
    CHECK(std::count(siblings.begin(), siblings.end(), r) == 1);
  }
  CHECK(roots == 1);
  for (std::uint32_t r = 0; r < n; ++r) {
    std::uint32_t hops = 0;
    std::uint32_t at = r;
    while (const auto up = of(at, n).parent) {
      at = *up;
      REQUIRE(++hops <= n);
    }
    CHECK(at == w.root);
    w.depth = std::max(w.depth, hops);
  }
  return w;
}

}  // namespace

TEST_CASE("trees: every rank hangs on one root, at most as deep as said") {
  for (std::uint32_t n = 1; n <= 70; ++n) {
    INFO(n << " ranks");
    const walked binary = walk(binary_tree, n);
    CHECK(binary.root == 0);
    CHECK(binary.depth == depth_of_binary(n));
    const walked binomial = walk(binomial_tree, n);
    CHECK(binomial.root == 0);
    CHECK(binomial.depth == depth_of_binomial(n));
    std::vector<tree_node> nodes;
    for (std::uint32_t r = 0; r < n; ++r) nodes.push_back(binomial_tree(r, n));
    CHECK(depth_of(nodes) == binomial.depth);
    const walked in_order = walk(in_order_tree, n);
    CHECK(in_order.root == 0);
    CHECK(in_order.depth <= static_cast<std::uint32_t>(std::bit_width(n - 1)));
    CHECK(walk(complementary_tree, n).depth == in_order.depth);
  }
}

TEST_CASE("trees: no rank has two children in both of the complementary trees") {
  for (std::uint32_t n = 2; n <= 70; ++n) {
    for (std::uint32_t r = 0; r < n; ++r) {
      INFO(r << " of " << n);
      const std::size_t first = in_order_tree(r, n).children.size();
      const std::size_t second = complementary_tree(r, n).children.size();
      CHECK(std::max(first, second) <= 2);
      // The root of one tree has one child there and is a leaf or, for odd numbers, at most a half of the
      // other.
      CHECK((first == 0 || second == 0 || !in_order_tree(r, n).parent || !complementary_tree(r, n).parent));
    }
  }
}

TEST_CASE("trees: the binomial tree adds in pairs, then pairs of pairs") {
  for (std::uint32_t n = 1; n <= 40; ++n) {
    for (std::uint32_t r = 0; r < n; ++r) {
      std::uint32_t step = 1;
      for (const std::uint32_t c : binomial_tree(r, n).children) {
        CHECK(c == r + step);
        CHECK(1U << binomial_edge(r, c) == step);
        step *= 2;
      }
    }
  }
}

TEST_CASE("trees: no term of a binomial sum, nor of a folded one, goes through more than log2 n additions") {
  for (std::uint32_t n = 1; n <= 600; ++n) {
    const auto most = static_cast<std::uint32_t>(std::bit_width(n - 1));
    std::vector<std::uint32_t> deep(n);
    for (std::uint32_t r = n; r-- > 0;) {  // children have higher numbers
      for (const std::uint32_t c : binomial_tree(r, n).children) deep[r] = std::max(deep[r], deep[c]) + 1;
    }
    CHECK(deep[0] == most);
    const fold f = fold_to_power_of_two(n);
    CHECK(f.steps + (f.pairs > 0 ? 1 : 0) == most);
  }
}

TEST_CASE("chunks of a pipeline follow the slowest link between its members") {
  diecast::config::machine_config c;
  const auto chunks = [&c](std::vector<diecast::pe_coord> members) {
    return chunks_on_pipeline(c, {rank_set::cube, std::move(members)}, 65'536, 32'768, 4);
  };
  using diecast::cube_id, diecast::pe_coord, diecast::pe_id, diecast::sip_id;
  const pe_coord here{sip_id{0}, cube_id{0}, pe_id{0}}, beside{sip_id{0}, cube_id{1}, pe_id{0}};
  const pe_coord beyond{sip_id{1}, cube_id{0}, pe_id{0}};
  const std::uint64_t usual = chunks({here, beyond});
  c.sip_link.gbytes_s = 4;  // a sixteenth of the rate of a router
  CHECK(chunks({here, beside}) == usual);
  CHECK(chunks({here, beyond}) >= 3 * usual);
  c.noc.flit_bytes *= 2;  // no link between the SIPs is faster for it
  CHECK(chunks({here, beyond}) >= 3 * usual);
}
