// SPDX-License-Identifier: Apache-2.0
// The known ways to get a barrier wrong, each switched on and seen caught.
#include <algorithm>
#include <fmt/format.h>

#include "support/test.hpp"
#include "unit/sw/collectives/barrier/barrier_bench.hpp"

namespace diecast::test {
namespace {

using comm::barrier_algorithm;

std::uint64_t escaped(std::uint32_t ranks, std::uint32_t radix, const std::string& errata) {
  barrier_case c;
  c.world = ranks;
  c.cores = 8;
  c.team = {0, 1, ranks, {}};
  c.how = barrier_algorithm::group_dissemination;
  c.radix = radix;
  c.absent = {0};
  c.errata = errata;
  const barrier_result r = barrier_machine(c).run();
  CHECK_FALSE(r.outcome.finished);  // the others wait for the absent rank for ever
  const auto left = static_cast<std::uint64_t>(std::count(r.left.begin(), r.left.end(), true));
  CHECK(r.escaped_ranks == left);
  CHECK(r.escapes == left * c.cores);
  return left;
}

/// Runs with an erratum until it lets a PE escape or hangs the team; the result that did.
barrier_result hunt(barrier_case c, const std::string& erratum, bool escape = false) {
  c.errata = erratum;
  barrier_result r;
  for (c.seed = 1; c.seed <= 50; ++c.seed) {
    r = barrier_machine(c).run();
    if (escape ? r.escapes > 0 : !r.outcome.finished) break;
  }
  return r;
}

barrier_case four_of_four(barrier_algorithm how) {
  barrier_case c;
  c.world = 4;
  c.cores = 4;
  c.team = {0, 1, 4, {}};
  c.how = how;
  c.repeats = 5;
  c.max_steps = 2'000'000;
  return c;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("group dissemination without core barriers between rounds lets ranks escape") {
  CHECK(escaped(6, 3, "no_round_barrier") == 1);
  CHECK(escaped(16, 8, "no_round_barrier") == 3);
  CHECK(escaped(27, 8, "no_round_barrier") == 12);
  CHECK(escaped(6, 3, "none") == 0);
  CHECK(escaped(16, 8, "none") == 0);
  CHECK(escaped(27, 8, "none") == 0);
}

TEST_CASE("a radix of 1 is refused; unchecked it never ends") {
  barrier_case c = four_of_four(barrier_algorithm::group_dissemination);
  c.radix = 1;
  CHECK(contains(barrier_machine(c).run().trap, "radix 1: its rounds would never end (expected 2 or more)"));
  c.errata = "unchecked_radix";
  c.max_steps = 100'000;
  const barrier_result r = barrier_machine(c).run();
  CHECK_FALSE(r.outcome.finished);
  CHECK(r.outcome.steps == 100'000);
  CHECK(contains(r.outcome.deadlock, "livelock: 16 PEs have not finished after 100000 decisions"));
}

TEST_CASE("a counter loaded after the entry core barrier hangs the team") {
  for (const auto how : {barrier_algorithm::centralized_pull, barrier_algorithm::group_dissemination}) {
    CHECK_FALSE(hunt(four_of_four(how), "late_counter").outcome.finished);
    // The cause is named where counts stand against each other; a peer that has gone home holds none.
    barrier_case c = four_of_four(how);
    c.errata = "late_counter";
    c.repeats = 20;
    unsigned hung = 0, named = 0;
    for (c.seed = 1; c.seed <= 30; ++c.seed) {
      const barrier_result r = barrier_machine(c).run();
      if (r.outcome.finished) continue;
      ++hung;
      if (contains(r.outcome.deadlock, "counts apart: pod.sip0.") &&
          contains(r.outcome.deadlock, "a counter was loaded too late"))
        ++named;
    }
    INFO(named << " of " << hung << " hangs");
    CHECK(named > 0);
  }
}

TEST_CASE("without the entry core barrier PEs leave before others of their rank have come") {
  const barrier_result r = hunt(four_of_four(barrier_algorithm::dissemination), "no_entry_barrier", true);
  CHECK(r.escapes > 0);
}

TEST_CASE("a slot numbered by the rank leaves the array of its team") {
  barrier_case c;
  c.world = 48;
  c.team = {0, 1, 48, {}};
  c.how = barrier_algorithm::dissemination;
  c.errata = "slot_by_rank";
  unsigned counter = 0;
  for (c.seed = 1; c.seed <= 40; ++c.seed) {
    const std::string trap = barrier_machine(c).run().trap;
    INFO(trap);
    const bool first = contains(trap, "flag line 40 of rank 41 in team slot 0: ");
    counter += first ? 1 : 0;
    CHECK(contains(trap, "flag line 4"));
    CHECK(contains(trap, first ? "it is the counter of team slot 0 (expected a line below 40)"
                               : "it lies in the array of team slot 1 (expected a line below 40)"));
  }
  CHECK(counter > 0);
  CHECK(counter < 40);
  c.world = 40;
  c.team = {0, 1, 40, {}};
  CHECK(barrier_machine(c).run().outcome.finished);  // 40 lines serve 40 ranks
}

TEST_CASE("two flags in one line lose a signal") {
  barrier_case c = four_of_four(barrier_algorithm::dissemination);
  c.world = 8;
  c.cores = 1;
  c.team = {0, 1, 8, {}};
  c.repeats = 50;
  const barrier_result r = hunt(c, "packed_flags");
  CHECK_FALSE(r.outcome.finished);
  CHECK(contains(r.outcome.deadlock, "lost signal"));
}

TEST_CASE("a signal that stays in the writer's cache is named") {
  const barrier_result r = hunt(four_of_four(barrier_algorithm::dissemination), "set_without_dcci");
  CHECK_FALSE(r.outcome.finished);
  CHECK(contains(r.outcome.deadlock, "unflushed signal: pod.sip0."));
  CHECK(contains(r.outcome.deadlock, "holds 1 (dirty); missing operation: dcci_line(0x"));
  CHECK(contains(r.outcome.deadlock, "memory holds 0"));
}

TEST_CASE("a wait that accepts its own count only overlooks a peer that is ahead") {
  const barrier_result r = hunt(four_of_four(barrier_algorithm::centralized_pull), "exact_count");
  CHECK_FALSE(r.outcome.finished);
  CHECK(contains(r.outcome.deadlock, "overlooked signal: pod.sip0."));
  CHECK(contains(r.outcome.deadlock, "has signaled and is one count ahead"));
}

TEST_CASE("a wait on a stale line is named") {
  const barrier_result r = hunt(four_of_four(barrier_algorithm::dissemination), "wait_without_dcci");
  CHECK_FALSE(r.outcome.finished);
  CHECK(contains(r.outcome.deadlock, "stale line: pod.sip0."));
  CHECK(contains(r.outcome.deadlock,
                 "its data cache holds 0, memory holds 1; missing operation: dcci_line(0x"));
}

}  // namespace diecast::test
