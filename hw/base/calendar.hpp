// SPDX-License-Identifier: Apache-2.0
// A module's calendar of due items: one sc_event however many items wait. Items of one instant
// come out in ascending key order, whatever order they were put in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <systemc>
#include <vector>

#include "hw/base/time.hpp"

namespace diecast::hw {

class calendar {
 public:
  explicit calendar(const char* name) : due_(name) {}

  /// The event a module's method is sensitive to.
  [[nodiscard]] sc_core::sc_event& due() { return due_; }

  /// Precondition: at >= now. The same (at, key) may be put twice and comes out twice.
  void put(sim_time at, std::uint64_t key) {
    heap_.push_back({at, key});
    std::push_heap(heap_.begin(), heap_.end(), later);
    if (at < armed_) arm(at);
  }

  /// Takes the next item due at or before now into `key`; false when none is left, and the event is
  /// armed for the next instant.
  [[nodiscard]] bool take(std::uint64_t& key) {
    const sim_time t = now();
    if (armed_ <= t) armed_ = sim_time::never();
    if (heap_.empty()) return false;
    if (heap_.front().at > t) {
      if (heap_.front().at < armed_) arm(heap_.front().at);
      return false;
    }
    key = heap_.front().key;
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    return true;
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }

 private:
  struct item {
    sim_time at;
    std::uint64_t key;
  };
  static bool later(const item& a, const item& b) { return a.at != b.at ? a.at > b.at : a.key > b.key; }
  void arm(sim_time at) {
    // An item put for this instant while its items are taken leaves a notification behind, which
    // would swallow a later one.
    if (notified_ < at && notified_ >= now()) due_.cancel();
    armed_ = notified_ = at;
    due_.notify(to_sc(at - now()));
  }

  sc_core::sc_event due_;
  std::vector<item> heap_;
  sim_time armed_{sim_time::never()};
  sim_time notified_;  ///< of the last notification
};

}  // namespace diecast::hw
