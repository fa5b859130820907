// SPDX-License-Identifier: Apache-2.0
// Barriers on the mock machine: nobody leaves early, nobody waits for ever, whatever the order of events.
#include <fmt/format.h>

#include "support/test.hpp"
#include "unit/sw/barrier_bench.hpp"

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
  const comm::barrier_work work = comm::work_of(c.how, ranks, c.radix);
  CHECK(r.signals_set == work.signals_set * ranks * c.repeats);
  CHECK(r.flags_checked == work.flags_checked * ranks * c.repeats);
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

}  // namespace diecast::test
