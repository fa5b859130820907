// SPDX-License-Identifier: Apache-2.0
// Work a module has to do at later instants. Items of one instant come out by ascending key, so the
// order in which other modules handed them in never shows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <systemc>
#include <utility>
#include <vector>

#include "hw/base/time.hpp"

namespace diecast::hw {

/// Key of an item: a class of work first, then a sequence number within that class.
[[nodiscard]] constexpr std::uint64_t work_key(unsigned kind, std::uint64_t sequence) {
  return std::uint64_t{kind} << 56 | (sequence & ((std::uint64_t{1} << 56) - 1));
}

template <class Work>
class timed_queue {
 public:
  explicit timed_queue(const char* name) : due_(name) {}

  [[nodiscard]] sc_core::sc_event& due() { return due_; }

  /// Precondition: at > now, so that what is done at an instant was known before it.
  void put(sim_time at, std::uint64_t key, Work work) {
    heap_.push_back({at, key, std::move(work)});
    std::push_heap(heap_.begin(), heap_.end(), later);
    if (at < armed_) arm(at);
  }

  /// Takes the next item due now; false when there is none, and the event is armed for the next.
  [[nodiscard]] bool take(Work& work) {
    const sim_time t = now();
    if (armed_ <= t) armed_ = sim_time::never();
    if (heap_.empty()) return false;
    if (heap_.front().at > t) {
      if (heap_.front().at < armed_) arm(heap_.front().at);
      return false;
    }
    std::pop_heap(heap_.begin(), heap_.end(), later);
    work = std::move(heap_.back().work);
    heap_.pop_back();
    return true;
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// Every item that has not come due, in no particular order.
  template <class Visit>
  void visit(Visit visit) const {
    for (const item& i : heap_) visit(i.work);
  }

 private:
  struct item {
    sim_time at;
    std::uint64_t key;
    Work work;
  };
  static bool later(const item& a, const item& b) { return a.at != b.at ? a.at > b.at : a.key > b.key; }
  void arm(sim_time at) {
    armed_ = at;
    due_.notify(to_sc(at - now()));
  }

  sc_core::sc_event due_;
  std::vector<item> heap_;
  sim_time armed_{sim_time::never()};
};

}  // namespace diecast::hw
