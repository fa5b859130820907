// SPDX-License-Identifier: Apache-2.0
// The account of lost time: complete, and what it charges to a limit comes back without the limit.
#include "lost_time_bench.hpp"

using namespace diecast;
using namespace diecast::test;
using namespace diecast::timing;

namespace {

std::uint64_t sum(const lost_time_report& r) {
  std::uint64_t s = r.busy;
  for (const std::uint64_t l : r.lost) s += l;
  return s;
}

/// The time that the limit's share states is the time its absence saves, within a fifth.
void check_saves(const char* name, config::hbm_block h, const pattern& of, lost_cause cause,
                 const change& without) {
  INFO(name << ", " << to_string(cause));
  const outcome with = serve(h, of);
  without(h);
  const double saved = 1 - serve(h, of).ns / with.ns;
  CHECK(with.share(cause) > 0.05);
  CHECK(with.share(cause) == Approx(saved).epsilon(0.2));
}

}  // namespace

TEST_CASE("lost time: busy and lost ticks are all there are") {
  for (const config::hbm_block& base : {test::hbm2(), test::hbm3(), test::hbm3e(), test::hbm4()}) {
    for (const pattern& of :
         {pattern(sequential), pattern(uniform), half_writes(uniform), pattern(bank_conflict)}) {
      for (const dram_tick interval : {dram_tick{0}, dram_tick{37}, dram_tick{400}}) {
        const outcome o = serve(base, of, 3000, interval);
        CHECK(sum(o.lost) == o.lost.total);
        CHECK(o.lost.busy > 0);
      }
    }
  }
}

TEST_CASE("lost time: a write's recovery is not a turnaround") {
  config::hbm_block h = test::hbm3();
  without_refresh(h);
  const double ns = serve(h, writes(bank_conflict)).ns;
  without_turnaround(h);
  CHECK(serve(h, writes(bank_conflict)).ns == Approx(ns).epsilon(0.001));
}

TEST_CASE("lost time: what is charged to a refresh of single banks is what it adds") {
  config::hbm_block h = test::hbm3();
  h.refresh = config::hbm_refresh::per_bank;
  for (const pattern& of : {pattern(bank_conflict), half_writes(bank_conflict), writes(bank_conflict)})
    check_saves("bank conflict", h, of, lost_cause::refresh, without_refresh);
}

TEST_CASE("lost time: a pseudo-channel that nobody asks is the initiator's while the other moves data") {
  config::hbm_block h = test::hbm3();
  without_refresh(h);
  const outcome o = serve(h, stride(16));  // one pseudo-channel, two stack IDs in turn
  CHECK(o.share(lost_cause::initiator) == Approx(o.lost.busy_share()).epsilon(0.01));
  CHECK(o.share(lost_cause::turnaround) == Approx(o.lost.busy_share()).epsilon(0.01));
}

TEST_CASE("lost time: where the row-command bus is the only limit, it is charged") {
  config::hbm_block h = test::hbm2();
  without_refresh(h);
  // An activation takes the bus for two clocks and a precharge for one, a burst its pseudo-channel's for two.
  for (const pattern& of : {pattern(uniform), pattern(page_stride)})
    CHECK(serve(h, of).share(lost_cause::row_bus) == Approx(2.0 / 3).epsilon(0.02));
}

TEST_CASE("lost time: refresh gives back what is charged to it") {
  for (const config::hbm_block& h : {test::hbm2(), test::hbm3(), test::hbm4()}) {
    check_saves("sequential", h, sequential, lost_cause::refresh, without_refresh);
    check_saves("random", h, uniform, lost_cause::refresh, without_refresh);
    check_saves("bank conflict", h, bank_conflict, lost_cause::refresh, without_refresh);
    check_saves("same bank", h, same_bank_hit, lost_cause::refresh, without_refresh);
  }
}

TEST_CASE("lost time: tFAW and tRRD give back what is charged to them") {
  check_saves("random", test::hbm3(), uniform, lost_cause::activate_window, without_activate_window);
  check_saves("page stride", test::hbm3(), page_stride, lost_cause::activate_window, without_activate_window);
  check_saves("random", test::hbm4(), uniform, lost_cause::activate_window, without_activate_window);
}

TEST_CASE("lost time: without tFAW and tRRD random traffic is lost to the row-command bus") {
  config::hbm_block h = test::hbm3();
  without_refresh(h);
  without_activate_window(h);
  const outcome o = serve(h, uniform);
  CHECK(o.share(lost_cause::activate_window) < 0.01);
  // An activation takes both pseudo-channels' time of a burst, and one of the two is used.
  CHECK(o.share(lost_cause::row_bus) == Approx(0.5).epsilon(0.2));
}

TEST_CASE("lost time: turnarounds give back what is charged to them") {
  check_saves("mixed sequential", test::hbm3(), half_writes(sequential), lost_cause::turnaround,
              without_turnaround);
  check_saves("mixed sequential", test::hbm4(), half_writes(sequential), lost_cause::turnaround,
              without_turnaround);
  CHECK(serve(test::hbm3(), uniform).share(lost_cause::turnaround) < 0.01);
}

TEST_CASE("lost time: bank conflicts give back what is charged to them") {
  check_saves("bank conflict", test::hbm3(), bank_conflict, lost_cause::bank_conflict, without_bank_times);
  check_saves("same bank", test::hbm3(), same_bank_hit, lost_cause::bank_conflict, without_bank_times);
  check_saves("same bank", test::hbm2(), same_bank_hit, lost_cause::bank_conflict, without_bank_times);
}

TEST_CASE("lost time: saturated traffic is not limited by its initiator, sparse traffic is") {
  for (const pattern& of : {pattern(sequential), half_writes(sequential), pattern(uniform),
                            half_writes(uniform), pattern(bank_conflict), pattern(same_bank_hit)})
    CHECK(serve(test::hbm3(), of).share(lost_cause::initiator) < 0.01);
  const outcome sparse = serve(test::hbm3(), sequential, 5000, 200);
  CHECK(sparse.lost.busy_share() == Approx(0.01).epsilon(0.1));
  CHECK(sparse.share(lost_cause::initiator) > 0.8);
  // At 40% of the peak a tenth of the time is refresh, and the rest of what is lost nobody asked for.
  const outcome half = serve(test::hbm3(), sequential, 30'000, 5);
  CHECK(half.lost.busy_share() == Approx(0.4).epsilon(0.05));
  CHECK(half.share(lost_cause::refresh) == Approx(350.0 / 3900).epsilon(0.25));
  CHECK(half.share(lost_cause::initiator) > 0.4);
}
