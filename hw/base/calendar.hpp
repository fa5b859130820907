// SPDX-License-Identifier: Apache-2.0
// A module's calendar of due items, which are numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <systemc>
#include <utility>

#include "hw/base/due_items.hpp"

namespace diecast::hw {

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
