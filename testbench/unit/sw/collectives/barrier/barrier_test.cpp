// SPDX-License-Identifier: Apache-2.0
// Barriers on the mock machine: nobody leaves early, nobody waits for ever, whatever the order of events.
#include <fmt/format.h>

#include "support/test.hpp"
#include "unit/sw/collectives/barrier/barrier_bench.hpp"

namespace diecast::test {
namespace {

using comm::barrier_algorithm;

constexpr barrier_algorithm all_algorithms[] = {barrier_algorithm::centralized_pull,
                                                barrier_algorithm::dissemination,
                                                barrier_algorithm::group_dissemination};

std::string describe(const barrier_case& c) {
  return fmt::format("{} of team {} in {} ranks of {} cores, radix {}, start {}, {} barriers, {} seed {}",
                     comm::to_string(c.how), comm::to_text(c.team), c.world, c.cores, c.radix, c.start,
                     c.repeats, sw::to_string(c.order), c.seed);
}

void check_good(const barrier_case& c) {
  INFO(describe(c));
  const barrier_result r = barrier_machine(c).run();
  INFO(r.outcome.deadlock);
  REQUIRE(r.trap.empty());
  CHECK(r.outcome.finished);
  CHECK(r.escapes == 0);
  const auto ranks = static_cast<std::uint32_t>(comm::ranks_of(c.team).size());
  const auto work = comm::work_of(c.how, ranks, c.radix);
  REQUIRE(work);
  CHECK(r.signals_set == work->signals_set * ranks * c.repeats);
  CHECK(r.flags_checked == work->flags_checked * ranks * c.repeats);
  CHECK(r.polls >= r.flags_checked + r.core_flags_checked);
}

}  // namespace

TEST_CASE("a barrier holds every rank until the last has come") {
  for (const auto how : all_algorithms) {
    for (const auto order : {sw::schedule::round_robin, sw::schedule::random, sw::schedule::adversarial}) {
      for (const std::uint32_t cores : {1U, 3U, 8U}) {
        for (const std::uint32_t ranks : {1U, 2U, 3U, 8U, 9U}) {
          barrier_case c;
          c.how = how;
          c.order = order;
          c.cores = cores;
          c.world = ranks;
          c.team = {0, 1, ranks, {}};
          c.radix = 3;
          c.repeats = 5;
          c.seed = ranks * 10 + cores;
          check_good(c);
        }
      }
    }
  }
}

TEST_CASE("a team of ranks that the parent has not, or has once, is refused") {
  const auto trap_of = [](const std::vector<std::uint32_t>& ranks) {
    barrier_case c;
    c.world = 4;
    c.team = {0, 1, 4, {}};
    return barrier_machine(c)
        .run([&](sw::barrier_runtime& b, abi::hal&) {
          (void)b.barriers.create(b.world, ranks, 0, barrier_algorithm::dissemination);
        })
        .trap;
  };
  CHECK(trap_of({0, 4}).find("member 1 of a new team is rank 4 of its parent (expected less than 4)") !=
        std::string::npos);
  CHECK(trap_of({2, 1, 2}).find("member 2 of a new team is rank 2 of its parent, as one before it is") !=
        std::string::npos);
  CHECK(trap_of({3, 0}).empty());
}

TEST_CASE("algorithms may take turns in one team") {
  // A late signal of the one must not be written over an early signal of the other into the same flag.
  for (const auto one : all_algorithms) {
    for (const auto other : all_algorithms) {
      for (const auto order : {sw::schedule::random, sw::schedule::adversarial}) {
        barrier_case c;
        c.world = 7;
        c.team = {0, 1, 7, {}};
        c.cores = 2;
        c.radix = 4;
        c.order = order;
        c.start = UINT32_MAX - 3;
        for (c.seed = 1; c.seed <= 20; ++c.seed) {
          const barrier_result r = barrier_machine(c).run([&](sw::barrier_runtime& b, abi::hal& hal) {
            for (std::uint32_t i = 0; i < 20; ++i) {
              hal.mark_step({analysis::barrier_checker::enter, i});
              b.barriers.barrier(b.world, i % 2 == 0 ? one : other);
              hal.mark_step({analysis::barrier_checker::left, i});
            }
          });
          INFO(comm::to_string(one) << " and " << comm::to_string(other) << ": " << describe(c));
          INFO(r.outcome.deadlock);
          REQUIRE(r.outcome.finished);
          REQUIRE(r.escapes == 0);
        }
      }
    }
  }
}

TEST_CASE("2,047 teams beside the world's: one more has no slot, until one is given back") {
  std::uint32_t again = 0, last = 0;
  barrier_case c;
  c.world = 2;
  c.team = {0, 1, 2, {}};
  const barrier_result r = barrier_machine(c).run([&](sw::barrier_runtime& b, abi::hal&) {
    const auto how = barrier_algorithm::dissemination;
    std::vector<sw::team> teams;
    // Rank 0's teams and rank 1's: a slot is free only where it is free at every rank of the parent.
    for (std::uint32_t i = 1; i < comm::max_teams; ++i)
      teams.push_back(b.barriers.create(b.world, {i % 2}, 0, how));
    if (b.world.me == 0) last = teams[comm::max_teams - 3].slot;  // the team of i = 2046
    const sw::team& given_back = teams[999];                      // the team that rank 0 created at i = 1000
    const std::uint32_t slot = given_back.slot;
    if (!given_back.members.empty()) b.barriers.destroy(given_back, how);
    const sw::team next = b.barriers.create(b.world, {1, 0}, 0, how);
    b.barriers.barrier(next, how);
    if (next.slot == slot) ++again;
    static_cast<void>(b.barriers.create(b.world, {0}, 0, how));
  });
  CHECK(last == 2046);
  CHECK(again == 2);
  CHECK(r.escapes == 0);
  CHECK(r.trap.find(
            "no team slot is free at all 2 ranks of the parent team (expected fewer than 2048 teams)") !=
        std::string::npos);
}

TEST_CASE("a team that reuses a slot without clearing it fails") {
  std::string deadlock;
  for (std::uint64_t seed = 1; seed <= 20 && deadlock.empty(); ++seed) {
    barrier_case c;
    c.world = 4;
    c.team = {0, 1, 4, {}};
    c.errata = "reused_team_state";
    c.seed = seed;
    const auto how = barrier_algorithm::dissemination;
    const barrier_result r = barrier_machine(c).run([&](sw::barrier_runtime& b, abi::hal&) {
      const sw::team first = b.barriers.create(b.world, {0, 1}, 0, how);
      if (!first.members.empty()) {
        for (int i = 0; i < 5; ++i) b.barriers.barrier(first, how);
        b.barriers.destroy(first, how);
      }
      const sw::team second = b.barriers.create(b.world, {1, 2}, 0, how);
      if (!second.members.empty()) b.barriers.barrier(second, how);
    });
    if (!r.outcome.finished) deadlock = r.outcome.deadlock;
  }
  CAPTURE(deadlock);
  CHECK(deadlock.find("disagree") != std::string::npos);
}

TEST_CASE("signal_add is atomic, comparisons are those of words modulo 2^32") {
  barrier_case c;
  c.world = 4;
  c.cores = 2;
  c.team = {0, 1, 4, {}};
  const barrier_result r = barrier_machine(c).run([&](sw::barrier_runtime& b, abi::hal& hal) {
    // A word behind the flags of the core barrier of rank 0's first PE.
    const abi::address sum = comm::core_flag(b.world.members[0].home, 40);
    if (b.world.me == 0 && b.cores.me() == 0) b.signals.set(sum, 0);
    b.barriers.barrier_all(b.world, barrier_algorithm::dissemination);
    for (int i = 0; i < 10; ++i) static_cast<void>(b.signals.add(sum, 1));
    b.signals.wait_until(sum, abi::compare::ge, 80, hal.self());
    b.signals.wait_until(sum, abi::compare::eq, 80, hal.self());
    b.signals.wait_until(sum, abi::compare::ne, 79, hal.self());
    b.signals.wait_until(sum, abi::compare::le, 80, hal.self());
    b.signals.wait_until(sum, abi::compare::lt, 81, hal.self());
    b.signals.wait_until(sum, abi::compare::gt, 79, hal.self());
  });
  INFO(r.outcome.deadlock);
  CHECK(r.outcome.finished);
}

}  // namespace diecast::test
