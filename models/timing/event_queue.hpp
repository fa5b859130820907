// SPDX-License-Identifier: Apache-2.0
// A queue of timed events, without a simulator. Events of one time are taken in the order they were added,
// which depends only on the events before them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
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

/// Events of the next quarter of a microsecond are in a wheel of slots, later ones in a heap. A slot is
/// sorted when its first event is requested, after all events of earlier slots have added theirs.
class event_queue {
 public:
  /// An event in the past is due now.
  void put(sim_time at, std::uint32_t kind, std::uint32_t index) {
    const timed_event e{std::max(at, now_), sequence_++, kind, index};
    const std::uint64_t slot = e.at.fs >> slot_bits;
    ++waiting_;
    if (waiting_ == 1) {
      present_.assign(1, e);
      first_ = 0;
      present_slot_ = slot;
    } else if (slot <= present_slot_) {
      forget_taken();
      present_.insert(std::upper_bound(present_.begin() + first_, present_.end(), e, before{}), e);
    } else if (slot - present_slot_ < slots) {
      wheel_[slot % slots].push_back(e);
      occupied_[slot % slots / 64] |= std::uint64_t{1} << slot % 64;
    } else {
      heap_.push_back(e);
      std::push_heap(heap_.begin(), heap_.end(), behind{});
    }
  }
  [[nodiscard]] bool empty() const { return waiting_ == 0; }
  [[nodiscard]] sim_time next() {
    if (empty()) return sim_time::never();
    if (first_ == std::ssize(present_)) open_next_slot();
    return present_[static_cast<std::size_t>(first_)].at;
  }
  [[nodiscard]] sim_time now() const { return now_; }
  /// Whether time may advance to `t` without an event: none is due up to `t`, no poll is requested before.
  [[nodiscard]] bool free_until(sim_time t) { return next() > t && t <= look_; }
  void look_at(sim_time t) { look_ = t; }
  /// Advances time without an event. Precondition: free_until(t).
  void proceed_to(sim_time t) { now_ = std::max(now_, t); }
  /// Precondition: not empty.
  timed_event take() {
    now_ = next();
    --waiting_;
    return present_[static_cast<std::size_t>(first_++)];
  }

 private:
  struct before {
    bool operator()(const timed_event& a, const timed_event& b) const {
      return a.at != b.at ? a.at < b.at : a.sequence < b.sequence;
    }
  };
  struct behind {
    bool operator()(const timed_event& a, const timed_event& b) const { return before{}(b, a); }
  };
  static constexpr unsigned slot_bits = 18;  ///< a slot is 2^18 fs
  static constexpr std::uint64_t slots = 1024, words = slots / 64;

  /// The first slot of the wheel with an event, from the present one on; UINT64_MAX without one.
  [[nodiscard]] std::uint64_t next_in_wheel() const {
    const std::uint64_t begin = present_slot_ % slots;
    for (std::uint64_t k = 0; k <= words; ++k) {
      std::uint64_t bits = occupied_[(begin / 64 + k) % words];
      if (k == 0) bits &= ~std::uint64_t{} << begin % 64;
      if (bits == 0) continue;
      const std::uint64_t found = (begin / 64 + k) * 64 + static_cast<unsigned>(std::countr_zero(bits));
      return present_slot_ + (found - begin) % slots;
    }
    return UINT64_MAX;
  }
  /// Frees the taken events once they are at least half of the present slot.
  void forget_taken() {
    if (2 * first_ < std::ssize(present_)) return;
    present_.erase(present_.begin(), present_.begin() + first_);
    first_ = 0;
  }
  /// Precondition: not empty.
  void open_next_slot() {
    present_.clear();
    first_ = 0;
    const std::uint64_t in_heap = heap_.empty() ? UINT64_MAX : heap_.front().at.fs >> slot_bits;
    const std::uint64_t in_wheel = next_in_wheel();
    present_slot_ = std::min(in_heap, in_wheel);
    if (in_wheel == present_slot_) {
      present_.swap(wheel_[in_wheel % slots]);
      occupied_[in_wheel % slots / 64] &= ~(std::uint64_t{1} << in_wheel % 64);
    }
    for (; !heap_.empty() && heap_.front().at.fs >> slot_bits == present_slot_; heap_.pop_back()) {
      std::pop_heap(heap_.begin(), heap_.end(), behind{});
      present_.push_back(heap_.back());
    }
    std::ranges::sort(present_, before{});
  }

  std::vector<timed_event> present_;  ///< in order; those before first_ are taken
  std::ptrdiff_t first_{};
  std::uint64_t waiting_{};  ///< events that are not taken
  std::uint64_t present_slot_{};
  std::array<std::vector<timed_event>, slots> wheel_;
  std::array<std::uint64_t, words> occupied_{};  ///< a bit per slot
  std::vector<timed_event> heap_;
  sim_time now_, look_{sim_time::never()};
  std::uint64_t sequence_{};
};

}  // namespace diecast::timing
