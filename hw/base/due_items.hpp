// SPDX-License-Identifier: Apache-2.0
// What waits for its instant in a module: one sc_event however many items wait. Items of one instant come
// out in ascending key order, so the order in which they were handed in never shows. calendar and
// timed_queue are made of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <systemc>
#include <utility>
#include <vector>

#include "hw/base/time.hpp"

namespace diecast::hw {

/// `Item` has members `at` (sim_time) and `key` (an unsigned integer).
template <class Item>
class due_items {
 public:
  explicit due_items(const char* name) : due_(name) {}

  /// The event a module's method is sensitive to.
  [[nodiscard]] sc_core::sc_event& due() { return due_; }

  /// Precondition: at >= now. The same (at, key) may be put twice and comes out twice.
  void put(Item item) {
    const sim_time at = item.at;
    heap_.push_back(std::move(item));
    std::push_heap(heap_.begin(), heap_.end(), later);
    if (at < armed_) arm(at);
  }

  /// Takes the next item due at or before now; false when none is left, and the event is armed for the
  /// next instant.
  [[nodiscard]] bool take(Item& item) {
    const sim_time t = now();
    if (armed_ <= t) armed_ = sim_time::never();
    if (heap_.empty()) return false;
    if (heap_.front().at > t) {
      if (heap_.front().at < armed_) arm(heap_.front().at);
      return false;
    }
    std::pop_heap(heap_.begin(), heap_.end(), later);
    item = std::move(heap_.back());
    heap_.pop_back();
    return true;
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// Those that have not come due, in no particular order.
  [[nodiscard]] const std::vector<Item>& waiting() const { return heap_; }

 private:
  static bool later(const Item& a, const Item& b) { return a.at != b.at ? a.at > b.at : a.key > b.key; }
  void arm(sim_time at) {
    // An item put for this instant while its items are taken leaves a notification behind, which
    // would swallow a later one.
    if (notified_ < at && notified_ >= now()) due_.cancel();
    armed_ = notified_ = at;
    due_.notify(to_sc(at - now()));
  }

  sc_core::sc_event due_;
  std::vector<Item> heap_;
  sim_time armed_{sim_time::never()};
  sim_time notified_;  ///< of the last notification
};

}  // namespace diecast::hw
