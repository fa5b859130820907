// SPDX-License-Identifier: Apache-2.0
// Work a module has to do at later instants. Items of one instant come out by ascending key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <systemc>
#include <utility>
#include <vector>

#include "hw/base/agenda.hpp"
#include "hw/base/time.hpp"

namespace diecast::hw {

// Due items of a module, with one alarm for all of them. Items of one instant are taken in ascending order of
// keys, so the order of the calls of put() changes nothing. calendar and timed_queue are built on it.

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

/// Key of an item: a class of work first, then a sequence number within that class.
[[nodiscard]] constexpr std::uint64_t work_key(unsigned kind, std::uint64_t sequence) {
  return std::uint64_t{kind} << 56 | (sequence & ((std::uint64_t{1} << 56) - 1));
}

template <class Work>
class timed_queue {
 public:
  /// `act` of the module takes what is due.
  timed_queue(const sc_core::sc_module& module, std::function<void()> act) : items_(module, std::move(act)) {}

  /// Precondition: at >= now, and > now when another module calls: the work of an instant is known before it.
  void put(sim_time at, std::uint64_t key, Work work) { items_.put({at, key, std::move(work)}); }

  /// Takes the next item due now; false when there is none, and the alarm is set for the next.
  [[nodiscard]] bool take(Work& work) {
    item next;
    if (!items_.take(next)) return false;
    work = std::move(next.work);
    return true;
  }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  /// Every item that has not come due, in no particular order.
  template <class Visit>
  void visit(Visit visit) const {
    for (const item& i : items_.waiting()) visit(i.work);
  }

 private:
  struct item {
    sim_time at;
    std::uint64_t key{};
    Work work;
  };
  due_items<item> items_;
};

/// A module's calendar of due items, which are numbers.
class calendar {
 public:
  /// `act` of the module takes what is due.
  calendar(const sc_core::sc_module& module, std::function<void()> act) : items_(module, std::move(act)) {}

  /// Precondition: at >= now. The same (at, key) may be put twice and comes out twice.
  void put(sim_time at, std::uint64_t key) { items_.put({at, key}); }
  /// Takes the next item due at or before now into `key`; false when none is left, and the alarm
  /// is set for the next instant.
  [[nodiscard]] bool take(std::uint64_t& key) {
    item next;
    if (!items_.take(next)) return false;
    key = next.key;
    return true;
  }
  [[nodiscard]] bool empty() const { return items_.empty(); }

 private:
  struct item {
    sim_time at;
    std::uint64_t key{};
  };
  due_items<item> items_;
};

}  // namespace diecast::hw
