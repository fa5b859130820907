// SPDX-License-Identifier: Apache-2.0
// The calendar of due items, and the queue of work: nothing put into them is lost or late, whenever it was
// put.
#include <Random123/philox.h>
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "hw/base/timed_queue.hpp"
#include "support/sc_fixture.hpp"
#include "support/test.hpp"

using namespace diecast;

namespace {

using taken_items = std::vector<std::pair<sim_time, std::uint64_t>>;

/// A queue whose work is its key.
class queue_of_keys {
 public:
  queue_of_keys(const sc_core::sc_module& module, std::function<void()> act)
      : work_(module, std::move(act)) {}
  void put(sim_time at, std::uint64_t key) { work_.put(at, key, key); }
  [[nodiscard]] bool take(std::uint64_t& key) { return work_.take(key); }
  [[nodiscard]] bool empty() const { return work_.empty(); }

 private:
  hw::timed_queue<std::uint64_t> work_;
};

/// Empties a calendar or queue whenever it is due, and lets a test put more while it does.
template <class Items>
class keeper : public sc_core::sc_module {
 public:
  explicit keeper(sc_core::sc_module_name module_name) : sc_module(module_name) {}

  Items items{*this, [this] { empty(); }};
  std::function<void(std::uint64_t key)> on_item;
  taken_items taken;
  std::uint64_t wakes{};

 private:
  void empty() {
    ++wakes;
    std::uint64_t key = 0;
    while (items.take(key)) {
      taken.emplace_back(hw::now(), key);
      if (on_item) on_item(key);
    }
  }
};

}  // namespace

TEMPLATE_TEST_CASE("calendar: an item put for the present instant does not swallow the next wake-up", "",
                   hw::calendar, queue_of_keys) {
  keeper<TestType> k("keeper");
  k.items.put(nanoseconds(10), 1);
  k.items.put(nanoseconds(20), 3);
  k.on_item = [&k](std::uint64_t key) {
    if (key == 1) k.items.put(nanoseconds(10), 2);
  };
  test::run_to_starvation();
  CHECK(k.taken == taken_items{{nanoseconds(10), 1}, {nanoseconds(10), 2}, {nanoseconds(20), 3}});
  CHECK(k.items.empty());
}

TEMPLATE_TEST_CASE("calendar: items of one instant come in the order of their keys, one wake-up for all", "",
                   hw::calendar, queue_of_keys) {
  keeper<TestType> k("keeper");
  for (const std::uint64_t key : {5U, 1U, 4U, 1U}) k.items.put(nanoseconds(7), key);
  k.items.put(nanoseconds(3), 9);
  test::run_to_starvation();
  CHECK(k.taken == taken_items{{nanoseconds(3), 9},
                               {nanoseconds(7), 1},
                               {nanoseconds(7), 1},
                               {nanoseconds(7), 4},
                               {nanoseconds(7), 5}});
  CHECK(k.wakes == 2);
}

TEMPLATE_TEST_CASE("calendar: whatever is put while it is emptied comes out at its time", "", hw::calendar,
                   queue_of_keys) {
  keeper<TestType> k("keeper");
  const r123::Philox4x32 rng;
  constexpr std::uint32_t items = 5000;
  std::uint32_t made = 0;
  taken_items expected;
  const auto put = [&](std::uint64_t delay_ns) {
    const sim_time at = hw::now() + nanoseconds(static_cast<double>(delay_ns));
    expected.emplace_back(at, made);
    k.items.put(at, made++);
  };
  k.on_item = [&](std::uint64_t key) {
    const auto d = rng({{static_cast<std::uint32_t>(key), 0, 0, 0}}, {{42, 0}});
    // Half of the delays are zero; one item puts zero to three others, a lone one at least one.
    for (std::uint32_t i = 0; i < std::max<std::uint32_t>(d[0] % 4, k.items.empty() ? 1 : 0); ++i)
      if (made < items) put(d[1 + i] % 2 == 0 ? 0 : d[1 + i] / 2 % 100);
  };
  put(1);
  test::run_to_starvation();
  CHECK(made == items);
  CHECK(k.items.empty());
  CHECK(std::ranges::is_sorted(k.taken, {}, &taken_items::value_type::first));
  std::ranges::sort(k.taken);
  std::ranges::sort(expected);
  CHECK(k.taken == expected);
}
