// SPDX-License-Identifier: Apache-2.0
// What is due when, without a simulator. Events of one instant come in the order they were put, which
// depends on nothing but the events before them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/types/time.hpp"

namespace diecast::timing {

struct timed_event {
  sim_time at;
  std::uint64_t sequence{};
  std::uint32_t kind{};
  std::uint32_t index{};
};

class event_queue {
 public:
  /// What lies in the past is due now.
  void put(sim_time at, std::uint32_t kind, std::uint32_t index) {
    heap_.push_back({std::max(at, now_), sequence_++, kind, index});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] sim_time next() const { return heap_.empty() ? sim_time::never() : heap_.front().at; }
  [[nodiscard]] sim_time now() const { return now_; }
  /// Whether time may go on to `t` without an event: none is due before, and no poll is requested before.
  [[nodiscard]] bool free_until(sim_time t) const { return next() > t && t <= look_; }
  void look_at(sim_time t) { look_ = t; }
  /// Time goes on without an event. Precondition: free_until(t).
  void proceed_to(sim_time t) { now_ = std::max(now_, t); }
  /// Precondition: not empty.
  timed_event take() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const timed_event e = heap_.back();
    heap_.pop_back();
    now_ = e.at;
    return e;
  }

 private:
  static bool later(const timed_event& a, const timed_event& b) {
    return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
  }
  std::vector<timed_event> heap_;
  sim_time now_, look_{sim_time::never()};
  std::uint64_t sequence_{};
};

}  // namespace diecast::timing
