// SPDX-License-Identifier: Apache-2.0
// Work a module has to do at later instants. Items of one instant come out by ascending key.
#pragma once

#include <cstdint>
#include <functional>
#include <systemc>
#include <utility>

#include "hw/base/due_items.hpp"

namespace diecast::hw {

/// Key of an item: a class of work first, then a sequence number within that class.
[[nodiscard]] constexpr std::uint64_t work_key(unsigned kind, std::uint64_t sequence) {
  return std::uint64_t{kind} << 56 | (sequence & ((std::uint64_t{1} << 56) - 1));
}

template <class Work>
class timed_queue {
 public:
  /// `act` of the module takes what is due.
  timed_queue(const sc_core::sc_module& module, std::function<void()> act) : items_(module, std::move(act)) {}

  /// Precondition: at >= now, and > now for what another module hands in: what is done at an instant was
  /// known before it.
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

}  // namespace diecast::hw
