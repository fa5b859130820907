// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/partners/partner_steps.hpp"

#include <set>

#include "support/test.hpp"

using namespace diecast::comm;

TEST_CASE("swing: partners are mutual, differ per step, and reach every part once") {
  CHECK(swing_peer(0, 0, 16) == 1);
  CHECK(swing_peer(0, 1, 16) == 15);
  CHECK(swing_peer(0, 2, 16) == 3);
  CHECK(swing_peer(0, 3, 16) == 11);
  CHECK(swing_peer(5, 2, 16) == 2);
  for (std::uint32_t n = 2; n <= 130; n += 2) {
    INFO(n << " ranks");
    const fold f = fold_to_even(n);
    CHECK(f.active == n);
    for (std::uint32_t s = 0; s < f.steps; ++s) {
      for (std::uint32_t r = 0; r < n; ++r) {
        CHECK(swing_peer(r, s, n) != r);
        CHECK(swing_peer(swing_peer(r, s, n), s, n) == r);
      }
    }
    // For every part, what ranks pass on in the order of steps gathers all contributions, each once.
    const std::vector<std::uint32_t> tree = swing_tree(n);
    for (std::uint32_t p = 0; p < n; ++p) {
      std::vector<std::uint32_t> held(n, 1);
      for (std::uint32_t s = 0; s < f.steps; ++s) {
        std::vector<std::uint32_t> next = held;
        for (std::uint32_t r = 0; r < n; ++r) {
          if (r == p || swing_send_step(tree, r, p) != s) continue;
          next[swing_peer(r, s, n)] += held[r];
          next[r] -= held[r];
        }
        held = next;
      }
      CHECK(held[p] == n);
    }
  }
}

TEST_CASE("swing: in its steps a rank passes on every part but its own, in order") {
  for (const std::uint32_t n : {2U, 6U, 8U, 12U, 126U}) {
    for (const std::uint32_t rank : {0U, 1U, n - 1}) {
      CAPTURE(n, rank);
      const std::vector<std::uint32_t> tree = swing_tree(n);
      const auto sent = swing_parts(rank, n);
      CHECK(sent.size() == fold_to_even(n).steps);
      std::set<std::uint32_t> parts;
      for (std::uint32_t s = 0; s < sent.size(); ++s) {
        CHECK(std::is_sorted(sent[s].begin(), sent[s].end()));
        for (const std::uint32_t p : sent[s]) {
          CHECK(parts.insert(p).second);
          CHECK(swing_send_step(tree, rank, p) == s);
        }
      }
      CHECK(parts.size() == n - 1);
      CHECK_FALSE(parts.contains(rank));
    }
  }
}

TEST_CASE("swing: with a power of two the halves of a step are kept by one each") {
  for (std::uint32_t n = 2; n <= 256; n *= 2) {
    const std::uint32_t steps = fold_to_even(n).steps;
    std::set<std::vector<bool>> seen;
    for (std::uint32_t r = 0; r < n; ++r) {
      std::vector<bool> kept;
      for (std::uint32_t s = 0; s < steps; ++s) {
        const std::uint32_t peer = swing_peer(r, s, n);
        for (std::uint32_t before = 0; before < s; ++before)
          CHECK(swing_keeps_upper(r, before, n) == swing_keeps_upper(peer, before, n));
        CHECK(swing_keeps_upper(r, s, n) != swing_keeps_upper(peer, s, n));
        kept.push_back(swing_keeps_upper(r, s, n));
      }
      CHECK(seen.insert(kept).second);
    }
  }
}

TEST_CASE("folds: neighbors pair up, and the active ranks are numbered in order") {
  for (std::uint32_t n = 1; n <= 40; ++n) {
    for (const fold f : {fold_to_power_of_two(n), fold_to_even(n)}) {
      INFO(n << " ranks, " << f.active << " active");
      CHECK(f.active + f.pairs == n);
      CHECK((n == 1 ? f.steps == 0 : 1U << f.steps >= f.active));
      std::uint32_t holders = 0, active = 0;
      for (std::uint32_t r = 0; r < n; ++r) {
        holders += f.is_holder(r) ? 1 : 0;
        if (f.is_folded(r)) {
          REQUIRE(r > 0);
          CHECK(f.is_holder(r - 1));
          CHECK(f.number_of(r) == f.number_of(r - 1));
          continue;
        }
        CHECK(f.number_of(r) == active);
        CHECK(f.rank_of(active) == r);
        ++active;
      }
      CHECK(holders == f.pairs);
      CHECK(active == f.active);
      for (std::uint32_t pair = 0; pair < f.pairs; ++pair) CHECK(f.is_holder(f.holder(pair)));
    }
  }
}

TEST_CASE("folds: ranks that need no partner keep their place") {
  const fold seven = fold_to_even(7);
  CHECK(seven.holder(0) == 5);  // the last two
  for (std::uint32_t r = 0; r < 6; ++r) CHECK(seven.number_of(r) == r);
  CHECK(fold_to_power_of_two(8).pairs == 0);
}
