// SPDX-License-Identifier: Apache-2.0
// Alarms behind one agenda: each call at its instant, none lost, in an order that the construction does not
// change.
#include "hw/base/agenda.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/sc_fixture.hpp"
#include "support/test.hpp"

using namespace diecast;

namespace {

using calls = std::vector<std::pair<sim_time, std::string>>;

/// A module that notes when it is called, and then does what a test says.
class worker : public sc_core::sc_module {
 public:
  worker(sc_core::sc_module_name module_name, calls& log) : sc_module(module_name), log_(log) {}
  hw::alarm alarm{*this, [this] { act(); }};
  std::function<void()> then;

 private:
  void act() {
    log_.emplace_back(hw::now(), basename());
    if (then) then();
  }
  calls& log_;
};

class machine : public sc_core::sc_module, public hw::agenda_owner {
 public:
  machine(sc_core::sc_module_name module_name, const std::vector<std::string>& names)
      : sc_module(module_name) {
    for (const std::string& n : names) workers[n] = std::make_unique<worker>(n.c_str(), log);
  }
  [[nodiscard]] hw::agenda& timed_work() override { return agenda_; }
  calls log;
  std::map<std::string, std::unique_ptr<worker>> workers;

 private:
  hw::agenda agenda_{"agenda"};
};

sim_time ns(double t) { return nanoseconds(t); }

}  // namespace

TEST_CASE("agenda: modules of one instant are called by name, whatever the order of construction") {
  machine forward("forward", {"a", "b", "c"});
  machine reverse("reverse", {"c", "b", "a"});
  for (machine* m : {&forward, &reverse}) {
    for (const char* name : {"b", "c", "a"}) m->workers[name]->alarm.set(ns(5));
  }
  test::run_to_starvation();
  CHECK(forward.log == calls{{ns(5), "a"}, {ns(5), "b"}, {ns(5), "c"}});
  CHECK(reverse.log == forward.log);
}

TEST_CASE("agenda: an alarm is called once, at the earliest instant it was set for") {
  machine m("m", {"a"});
  for (const double t : {9e3, 40.0, 70.0, 40.0}) m.workers["a"]->alarm.set(ns(t));
  CHECK(test::run_to_starvation() == ns(40));
  CHECK(m.log == calls{{ns(40), "a"}});
}

TEST_CASE("agenda: what is set for the present instant is called a delta cycle later") {
  machine m("m", {"a", "b"});
  worker& a = *m.workers["a"];
  worker& b = *m.workers["b"];
  std::vector<std::uint64_t> deltas;
  a.then = [&] {
    deltas.push_back(sc_core::sc_delta_count());
    if (deltas.size() == 1) b.alarm.set(hw::now());
  };
  b.then = [&] { deltas.push_back(sc_core::sc_delta_count()); };
  a.alarm.set(ns(3));
  test::run_to_starvation();
  REQUIRE(deltas.size() == 2);
  CHECK(deltas[1] == deltas[0] + 1);
}

TEST_CASE("agenda: a cleared alarm leaves no event behind") {
  machine m("m", {"a", "b"});
  m.workers["a"]->alarm.set(ns(3));
  m.workers["b"]->alarm.set(ns(9e3));  // beyond the wheel
  m.workers["b"]->alarm.clear();
  CHECK(test::run_to_starvation() == ns(3));
  CHECK(m.log == calls{{ns(3), "a"}});
}

TEST_CASE("agenda: a module without an owner above it has one of its own") {
  calls log;
  worker alone("alone", log);
  alone.alarm.set(ns(2));
  test::run_to_starvation();
  CHECK(log == calls{{ns(2), "alone"}});
}

TEST_CASE("agenda: calls come as a list of instants per alarm says, near and far") {
  std::vector<std::string> names;
  for (int n = 0; n < 12; ++n) names.push_back("w" + std::to_string(100 + n));
  machine m("m", names);
  std::map<std::string, sim_time> next;  // the model: of each alarm that is set
  calls expected;
  std::mt19937_64 rng(20261128);
  std::uint64_t left = 20000;
  const auto change = [&](const std::string& name) {
    hw::alarm& alarm = m.workers[name]->alarm;
    if (rng() % 8 == 0) {
      alarm.clear();
      next.erase(name);
      return;
    }
    // Instants of this delta and the next 30 us; most within the wheel.
    const std::uint64_t far = rng() % 6 == 0 ? 30'000'000'000 : 300'000'000;
    const sim_time at = hw::now() + sim_time{1 + rng() % far};
    alarm.set(at);
    const auto [entry, is_new] = next.try_emplace(name, at);
    if (!is_new) entry->second = std::min(entry->second, at);
  };
  for (const std::string& name : names) {
    m.workers[name]->then = [&, name] {
      REQUIRE(next.contains(name));
      expected.emplace_back(next[name], name);
      next.erase(name);
      for (int k = 0; k < 3 && left > 0; ++k, --left) change(names[rng() % names.size()]);
      if (next.empty() && left > 0) {
        m.workers[name]->alarm.set(hw::now() + ns(1));
        next[name] = hw::now() + ns(1);
      }
    };
  }
  m.workers[names[0]]->alarm.set(ns(1));
  next[names[0]] = ns(1);
  test::run_to_starvation();
  CHECK(left == 0);
  CHECK(next.empty());
  CHECK(m.log == expected);
  CHECK(std::ranges::is_sorted(m.log, {}, &calls::value_type::first));
}
