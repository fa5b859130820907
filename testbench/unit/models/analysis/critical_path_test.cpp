// SPDX-License-Identifier: Apache-2.0
#include "models/analysis/critical_path.hpp"

#include "models/analysis/usage_bins.hpp"
#include "support/test.hpp"

using namespace diecast;
using analysis::path_cause;

namespace {

const pe_coord a{sip_id{0}, cube_id{0}, pe_id{0}}, b{sip_id{0}, cube_id{0}, pe_id{1}};
constexpr sim_time period = nanoseconds(1);

sim_time ns(double t) { return nanoseconds(t); }

/// a and b send to each other: directions east and west.
comm::install_plan plan_of_two() {
  comm::install_plan p;
  p.queue_pairs = {{a, comm::east, true, true, b, 0x1000, 0x2000, 0, 4, 256},
                   {b, comm::west, true, true, a, 0x2000, 0x1000, 0, 4, 256}};
  return p;
}

void run_core(analysis::path_events& e, pe_coord pe, double done) {
  e.on(events::core_state_changed{ns(0.5), pe, events::core_state::running});
  e.on(events::core_state_changed{ns(done), pe, events::core_state::done});
}

void send(analysis::path_events& e, double at) {
  e.on(events::message_event{ns(at), events::message_phase::sent, a, comm::east, b, 0, 64});
  using phase = events::transfer_phase;
  double t = at + 1.5;
  for (const auto p : {phase::queued, phase::issued, phase::injected, phase::arrived, phase::written}) {
    e.on(events::transfer_event{ns(t), p, a, comm::east});
    t += 2;
  }
  e.on(events::message_event{ns(t), events::message_phase::visible, b, comm::west, a, 0, 64});
}

/// b sleeps from 1.5 until the message, visible at 31, has woken it at 34.5.
void one_message(analysis::path_events& e) {
  run_core(e, a, 25.5);
  run_core(e, b, 50.5);
  send(e, 19.5);
  e.on(events::core_waited{ns(1.5), ns(34.5), ns(31), b, events::wait_cause::data, comm::west, 1});
  e.on(events::core_worked{ns(40.5), ns(45.5), b, events::core_work::vector});
}

sim_time sum_of(const analysis::path& p) {
  sim_time sum;
  for (const auto& edge : p.edges) sum += edge.to - edge.from;
  return sum;
}

}  // namespace

TEST_CASE("a path follows the message that woke the last core") {
  analysis::path_events e(plan_of_two(), 1000);
  one_message(e);
  const auto p = analysis::critical_path(e, period);
  REQUIRE(p);
  CHECK(p->last == b);
  CHECK(p->total() == ns(50));
  CHECK(sum_of(*p) == ns(50));
  CHECK(p->of(path_cause::vector) == ns(5));
  CHECK(p->of(path_cause::interrupt) == ns(3.5));
  CHECK(p->of(path_cause::fabric) == ns(2));
  CHECK(p->of(path_cause::ipcq_check) == ns(1.5));
  CHECK(p->of(path_cause::unexplained) == ns(0));
  CHECK(p->edges.front().pe == a);
  CHECK(p->of(path_cause::firmware) == ns(19 + 6 + 5));
}

TEST_CASE("a wait without an origin is an edge of its own") {
  analysis::path_events e(plan_of_two(), 1000);
  run_core(e, a, 10.5);
  run_core(e, b, 20.5);
  e.on(events::core_waited{ns(5.5), ns(12.5), ns(11), b, events::wait_cause::credit, comm::west, 1});
  const auto p = analysis::critical_path(e, period);
  REQUIRE(p);
  CHECK(p->of(path_cause::unexplained) == ns(5.5));
  CHECK(sum_of(*p) == p->total());
}

TEST_CASE("an event the core asked for when it was there already keeps the path") {
  analysis::path_events e(plan_of_two(), 1000);
  one_message(e);
  // Armed between two edges: the message had been visible for long.
  e.on(events::core_waited{ns(47.5), ns(49.5), ns(46.5), b, events::wait_cause::data, comm::west, 1});
  const auto p = analysis::critical_path(e, period);
  REQUIRE(p);
  CHECK(p->of(path_cause::interrupt) == ns(3 + 3.5));
  CHECK(sum_of(*p) == ns(50));
}

TEST_CASE("there is no path of a launch that has not ended, is too long or unexpected") {
  analysis::path_events running(plan_of_two(), 1000);
  running.on(events::core_state_changed{ns(0.5), a, events::core_state::running});
  CHECK_FALSE(analysis::critical_path(running, period));
  analysis::path_events small(plan_of_two(), 3);
  one_message(small);
  CHECK(small.incomplete());
  CHECK_FALSE(analysis::critical_path(small, period));
  analysis::path_events stray(plan_of_two(), 1000);
  run_core(stray, a, 5.5);
  stray.on(events::message_event{ns(1), events::message_phase::visible, b, comm::west, a, 0, 64});
  CHECK_FALSE(analysis::critical_path(stray, period));
}

TEST_CASE("a launch starts with what the one before left under way") {
  analysis::path_events e(plan_of_two(), 1000);
  one_message(e);
  e.on(events::message_event{ns(49.5), events::message_phase::released, b, comm::west, a, 1, 0});
  e.reset();
  e.on(events::message_event{ns(60), events::message_phase::credited, a, comm::east, b, 1, 0});
  CHECK_FALSE(e.incomplete());
  REQUIRE(e.credits_of({a, comm::east}) != nullptr);
  CHECK(e.credits_of({a, comm::east})->items().front().credited == ns(60));
  CHECK(e.messages_of({a, comm::east})->items().empty());
}

TEST_CASE("a message may be visible before it is written, and a launch may end between") {
  using phase = events::transfer_phase;
  analysis::path_events e(plan_of_two(), 1000);
  const auto pass = [&e](phase p, double t) { e.on(events::transfer_event{ns(t), p, a, comm::east}); };
  e.on(events::message_event{ns(1), events::message_phase::sent, a, comm::east, b, 0, 64});
  for (const auto p : {phase::queued, phase::issued, phase::injected, phase::arrived}) pass(p, 2);
  e.on(events::message_event{ns(3), events::message_phase::visible, b, comm::west, a, 0, 64});
  e.reset();
  const auto* queue = e.messages_of({a, comm::east});
  REQUIRE(queue != nullptr);
  CHECK(queue->complete() == 0);
  CHECK(queue->items().size() == 1);
  pass(phase::written, 4);
  CHECK(queue->complete() == 1);
  e.reset();
  CHECK(queue->items().empty());
  one_message(e);
  CHECK(queue->items().size() == 1);
  CHECK_FALSE(e.incomplete());
}

TEST_CASE("of a launch that is too long only what is under way is kept") {
  analysis::path_events e(plan_of_two(), 3);
  for (int i = 0; i < 100; ++i) {
    send(e, 100.0 * i);
    e.on(events::copy_started{ns(100.0 * i), a});
  }
  CHECK(e.incomplete());
  CHECK(e.messages_of({a, comm::east})->items().size() <= 1);
  e.reset();
  e.on(events::copy_started{ns(10'001), a});
  CHECK(e.copy_start(a, 100) == ns(10'001));
  CHECK(e.copy_start(a, 99) == sim_time::never());
}

TEST_CASE("busy time lies in bins that widen") {
  analysis::usage_bins bins(2, 4, ns(10));
  bins.add(0, ns(5), ns(25));
  CHECK(bins.sums(0) == std::vector{ns(5), ns(10), ns(5), ns(0)});
  bins.add(1, ns(70), ns(75));
  CHECK(bins.width() == ns(20));
  CHECK(bins.sums(0) == std::vector{ns(15), ns(5), ns(0), ns(0)});
  CHECK(bins.sums(1) == std::vector{ns(0), ns(0), ns(0), ns(5)});
}
