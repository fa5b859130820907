// SPDX-License-Identifier: Apache-2.0
// Every order of events of every program of up to four messages and four receives, whatever their sources,
// tags and masks.
#include <fmt/format.h>

#include "support/small_search.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::test;

namespace {

small_bounds bounds(unsigned size, std::uint32_t entries, unsigned cancels) {
  small_bounds b;
  b.messages = b.receives = size;
  b.entries = entries;
  b.cancels = cancels;
  return b;
}

small_result search(const small_bounds& b) {
  small_result r = small_search(b).run();
  fmt::print("{} messages, {} receives, {} cancels, {} entries{}{}: {} states, {} steps, {} states of rest\n",
             b.messages, b.receives, b.cancels, b.entries, b.software ? ", some in software" : "",
             b.reduced ? "" : ", every order of all steps", r.states, r.steps, r.rests.size());
  return r;
}

void check_all_met(const small_events& met, std::uint32_t entries) {
  for (const std::uint64_t n : {met.matched_whole, met.matched_in_parts, met.unexpected, met.hit_at_post,
                                met.hit_on_arrival, met.cancelled_at_once, met.cancelled_by_unit,
                                met.cancelled_too_late, met.refused_for_room, met.told_by_nop}) {
    CAPTURE(entries);
    CHECK(n > 10'000);
  }
}

}  // namespace

// The numbers of states are those of the protocol as it is. A change of the protocol changes them; fewer
// states after another change mean that something is no longer explored.
TEST_CASE("small model: four messages, four receives, any cancels, one entry, some receives in software",
          "[long]") {
  small_bounds b = bounds(4, 1, 4);
  b.software = true;
  const small_result r = search(b);
  CHECK(r.states == 1'520'167);
  CHECK(r.rests.size() == 415);
  check_all_met(r.met, b.entries);
}

// The largest takes ten times as long and far more memory under a sanitizer, and does nothing that others do
// not.
#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("small model: four messages, four receives, a cancel, two entries", "[long]") {
  const small_result r = search(bounds(4, 2, 1));
  CHECK(r.states == 9'279'433);
  CHECK(r.rests.size() == 280);
  check_all_met(r.met, 2);
}
#endif

TEST_CASE(
    "small model: three messages, three receives, any cancels, two entries, some receives in software") {
  small_bounds b = bounds(3, 2, 3);
  b.software = true;
  const small_result r = search(b);
  CHECK(r.states == 589'159);
  CHECK(r.rests.size() == 189);
}

TEST_CASE("small model: one order of steps that commute meets what all orders meet") {
  for (small_bounds b : {bounds(2, 1, 2), bounds(2, 2, 2), bounds(3, 1, 1)}) {
    const small_result one = search(b);
    b.reduced = false;
    b.all_fragments = true;
    const small_result all = search(b);
    CAPTURE(b.messages, b.entries);
    CHECK(one.rests == all.rests);
    CHECK(one.states < all.states);
  }
}

TEST_CASE("small model: a unit without a list, too") {
  const small_result r = search(bounds(4, 0, 4));
  CHECK(r.met.matched_whole + r.met.matched_in_parts == 0);
  CHECK(r.rests.size() > 10);
}

TEST_CASE("small model: a unit that does not wait for firmware's count is found out at once") {
  for (const std::uint32_t entries : {1U, 2U}) {
    for (const unsigned size : {2U, 4U}) {
      CAPTURE(entries, size);
      small_bounds b = bounds(size, entries, 1);
      b.rule = protocol::tag_unit::eligibility::never_wait;
      CHECK_THROWS(small_search(b).run());
    }
  }
}
