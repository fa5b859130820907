// SPDX-License-Identifier: Apache-2.0
#include "models/analysis/waited_time.hpp"

#include "support/test.hpp"

using namespace diecast;
using events::core_state;

TEST_CASE("waited time: sums by cause, polls, and what has not ended") {
  const pe_coord a{sip_id{0}, cube_id{0}, pe_id{0}}, b{sip_id{0}, cube_id{0}, pe_id{1}};
  const auto ns = [](std::uint64_t n) { return nanoseconds(static_cast<double>(n)); };
  analysis::waited_time w;
  w.on(events::core_waited{ns(10), ns(14), ns(14), a, events::wait_cause::data, 0, 0});
  w.on(events::core_waited{ns(20), ns(23), ns(23), a, events::wait_cause::data, 1, 0});
  w.on(events::core_waited{ns(30), ns(35), ns(35), a, events::wait_cause::message, 0, 0});
  w.on(events::core_worked{ns(40), ns(41), a, events::core_work::vector});
  w.on(events::core_worked{ns(41), ns(43), a, events::core_work::pause});
  w.on(events::core_state_changed{ns(50), a, core_state::asleep});
  w.on(events::core_state_changed{ns(52), a, core_state::running});
  w.on(events::core_state_changed{ns(60), b, core_state::asleep});

  const auto cause = [&](pe_coord pe, events::wait_cause c) {
    return w.of(pe).by_cause[static_cast<std::size_t>(c)];
  };
  CHECK(cause(a, events::wait_cause::data) == ns(7));
  CHECK(cause(a, events::wait_cause::message) == ns(5));
  CHECK(cause(a, events::wait_cause::credit) == sim_time{});
  CHECK(w.of(a).poll == ns(2));
  CHECK_FALSE(w.of(a).asleep_since);
  CHECK(w.of(b).asleep_since == ns(60));
  CHECK(cause(b, events::wait_cause::data) == sim_time{});
  CHECK(w.of({sip_id{1}, cube_id{0}, pe_id{0}}).poll == sim_time{});
}
