// SPDX-License-Identifier: Apache-2.0
// What waits for its instant in a module: one alarm however many items wait. Items of one instant come
// out in ascending key order, so the order in which they were handed in never shows. calendar and
// timed_queue are made of it.
#pragma once

#include <algorithm>
#include <functional>
#include <systemc>
#include <utility>
#include <vector>

#include "hw/base/agenda.hpp"
#include "hw/base/time.hpp"

namespace diecast::hw {

/// `Item` has members `at` (sim_time) and `key` (an unsigned integer).
template <class Item>
class due_items {
 public:
  /// `act` of the module takes what is due.
  due_items(const sc_core::sc_module& module, std::function<void()> act) : alarm_(module, std::move(act)) {}

  /// Precondition: at >= now. The same (at, key) may be put twice and comes out twice.
  void put(Item item) {
    const sim_time at = item.at;
    heap_.push_back(std::move(item));
    std::push_heap(heap_.begin(), heap_.end(), later);
    alarm_.set(at);
  }

  /// Takes the next item due at or before now; false when none is left, and the alarm is set for the next.
  [[nodiscard]] bool take(Item& item) {
    if (heap_.empty()) return false;
    if (heap_.front().at > now()) {
      alarm_.set(heap_.front().at);
      return false;
    }
    std::pop_heap(heap_.begin(), heap_.end(), later);
    item = std::move(heap_.back());
    heap_.pop_back();
    return true;
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// Items that are not due yet, in no particular order.
  [[nodiscard]] const std::vector<Item>& waiting() const { return heap_; }

 private:
  static bool later(const Item& a, const Item& b) { return a.at != b.at ? a.at > b.at : a.key > b.key; }

  alarm alarm_;
  std::vector<Item> heap_;
};

}  // namespace diecast::hw
