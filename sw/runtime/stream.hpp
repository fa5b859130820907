// SPDX-License-Identifier: Apache-2.0
// The loop behind pe_context::stream: lanes of slots that arrive and are passed on, all in one task.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sw/runtime/held_slots.hpp"
#include "sw/runtime/kernel_tail.hpp"
#include "sw/runtime/pe_context.hpp"
#include "sw/runtime/queue_driver.hpp"
#include "sw/runtime/task_scheduler.hpp"

namespace diecast::sw {

/// Goes over the slots of a list of ranges, which outlives it; empty ranges are skipped. `Range` has an
/// offset in TCM and bytes.
template <class Range>
class slot_cursor {
 public:
  /// `payload`: bytes of a full slot.
  slot_cursor(const std::vector<Range>& ranges, std::uint64_t payload) : ranges_(ranges), payload_(payload) {
    skip_empty();
  }
  slot_cursor(std::vector<Range>&&, std::uint64_t) = delete;  // would not outlive it

  [[nodiscard]] bool more() const { return index_ < ranges_.size(); }
  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] const Range& range() const { return ranges_[index_]; }
  [[nodiscard]] std::uint64_t at() const { return range().offset + done_; }
  [[nodiscard]] std::uint32_t piece() const {
    return static_cast<std::uint32_t>(std::min(payload_, range().bytes - done_));
  }
  /// Of the current range: slots before this one, slots in all.
  [[nodiscard]] std::uint64_t slot() const { return done_ / payload_; }
  [[nodiscard]] std::uint64_t slots() const { return (range().bytes + payload_ - 1) / payload_; }
  [[nodiscard]] std::uint64_t piece_end() const { return done_ + piece(); }
  /// All before byte `end` of range `index` lies behind the cursor.
  [[nodiscard]] bool has_passed(std::size_t index, std::uint64_t end) const {
    return index < index_ || (index == index_ && end <= done_);
  }
  /// Bytes of all slots behind the cursor.
  [[nodiscard]] std::uint64_t passed() const { return passed_; }
  void advance() {
    passed_ += piece();
    done_ += piece();
    if (done_ < range().bytes) return;
    done_ = 0;
    ++index_;
    skip_empty();
  }

 private:
  void skip_empty() {
    while (more() && range().bytes == 0) ++index_;
  }

  std::span<const Range> ranges_;
  std::uint64_t payload_;
  std::size_t index_{};
  std::uint64_t done_{};
  std::uint64_t passed_{};
};
using send_cursor = slot_cursor<pe_context::outgoing>;
using stage_cursor = slot_cursor<pe_context::stage>;

/// A queue pair and how far it is.
template <class Cursor>
struct stream_end {
  queue_state* queue{};
  Cursor at;    ///< before it all has been sent, or has arrived
  bool left{};  ///< to the next kernel
};
using stream_out = stream_end<send_cursor>;
using stream_in = stream_end<stage_cursor>;

/// Of a lane that overlaps: slots before `next` are held or behind stream_end::at.
struct begun_slots {
  stage_cursor next;
  std::uint32_t open{};  ///< between the two
};

/// One lane as it runs.
struct stream_lane {
  std::int32_t own{};  ///< its number
  std::vector<stream_out> outs;
  std::vector<stream_in> ins;
  std::optional<begun_slots> begun;  ///< it overlaps: ins is one, and its slots are held

  [[nodiscard]] bool more() const;
  /// Byte `end` of a stage has arrived from all of `ins`.
  [[nodiscard]] bool has_arrived(std::size_t stage, std::uint64_t end) const;
  /// As many bytes have arrived from each of `ins`.
  [[nodiscard]] bool has_received(std::uint64_t bytes) const;
  /// All of `ins` before number `index` have contributed what this one brings next.
  [[nodiscard]] bool may_take(std::size_t index) const;
};

/// What the lanes need of the context they run in.
struct stream_context {
  queue_driver& driver;
  task_scheduler& tasks;
  std::function<void(queue_state&, const send_cursor&)> put;    ///< sends a slot
  std::function<void(queue_state&, const stage_cursor&)> take;  ///< stores or reduces a slot, and keeps it
  std::function<void()> charge;  ///< for a slot that is sent and was not received
  held_slots& held;              ///< slots held by lanes that overlap
  std::function<void(queue_state&, abi::address, std::uint32_t)> put_slot;  ///< sends what lies in a slot
  /// Traps when the oldest message is known to be of another length.
  std::function<void(const queue_state&, const stage_cursor&)> check;
  /// Copies the oldest slot that is not held; the job that still does so.
  std::function<std::optional<std::uint32_t>(queue_state&, const stage_cursor&)> begin_copy;
  std::function<void(std::size_t)> mark;  ///< a lane begins to send this stage
  const kernel_tail* before{};            ///< only what this kernel has left is used; null: there is none
  kernel_tail* own{};                     ///< who is told what is left; null: nobody
};

/// Runs the lanes to their end, at which slots may still be held: in turn a slot each, so that none uses up
/// its credits in a burst while another waits.
void run_lanes(const stream_context& c, std::vector<stream_lane>& lanes);

}  // namespace diecast::sw
