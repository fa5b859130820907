// SPDX-License-Identifier: Apache-2.0
// Pipelines of slots, copies that they leave to the DMA, and queue pairs that they leave to the next kernel.
//
// held_slots: received slots that the DMA copies to their place, or that messages are sent from. Their
// credits are returned when the slots are not read any more. Each call of stream has its own object, or
// several calls share one that leave copies to the next call: tasks with streams at the same time must not
// return slots that another one waits for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "sw/runtime/pe_context.hpp"
#include "sw/runtime/queue_driver.hpp"
#include "sw/runtime/task_scheduler.hpp"

namespace diecast::sw {

class held_slots {
 public:
  /// A message that is sent from a slot.
  struct passed_on {
    queue_state* queue{};
    std::uint32_t sequence{};
  };

  held_slots(queue_driver& driver, task_scheduler& tasks) : driver_(driver), tasks_(tasks) {}

  /// Slots of a queue pair that are held.
  [[nodiscard]] std::uint32_t count(const queue_state& q) const;
  /// Held slots from the oldest one on whose copy may not be complete.
  [[nodiscard]] std::uint32_t uncopied(const queue_state& q) const;
  /// Address of the oldest message that is not held.
  [[nodiscard]] abi::address next_slot(const queue_state& q) const;

  /// Holds that message's slot. `copy`: the DMA's job that copies it, when it is not copied already.
  void hold(queue_state& q, std::optional<std::uint32_t> copy, std::vector<passed_on> sends);
  /// Whether the DMA has no copies but those of start_copy, so that one that starts now does not wait long.
  [[nodiscard]] bool may_copy();
  /// Starts a copy by the DMA; returns its job.
  [[nodiscard]] std::uint32_t start_copy(abi::address from, abi::address to, std::uint64_t bytes);

  /// A copy by the DMA; finish() waits for it.
  void copy(abi::address from, abi::address to, std::uint64_t bytes);

  /// Returns the credits that are due, in order; true when something changed.
  bool return_due();
  /// Requests the events that return_due() needs. A sleeping task wakes when is_due() is true.
  void arm_events();
  [[nodiscard]] bool is_due() const;
  /// Waits until nothing is held: all copies are complete, and all forwarded slots have been read.
  void finish();

 private:
  struct slot {
    std::optional<std::uint32_t> copy;
    std::vector<passed_on> sends;
  };
  struct line {
    queue_state* queue{};
    std::deque<slot> slots;  ///< oldest first
    std::uint32_t copied{};  ///< slots copied, from the oldest on
  };

  [[nodiscard]] bool has_copied(const slot& s) const { return !s.copy || driver_.has_copied(*s.copy); }
  [[nodiscard]] static const passed_on* unread(const slot& s);
  [[nodiscard]] std::optional<std::uint32_t> next_copy() const;

  queue_driver& driver_;
  task_scheduler& tasks_;
  std::map<comm::direction, line> lines_;   ///< queue pairs with slots held
  std::deque<std::uint32_t> copies_;        ///< copies not known to be done, in order
  std::optional<std::uint32_t> last_copy_;  ///< last copy that copy() has begun
};

// Kernels that follow each other over the same queue pairs of a PE: the next one begins while the previous
// one ends.

/// Queue pairs that the end of a kernel still needs. From its last stream on these are those of this stream;
/// a side of a queue pair that all of its messages have passed belongs to the next kernel. So messages of
/// both follow each other in a queue pair, and its two ends distinguish them only by their order.
class kernel_tail {
 public:
  enum class side : std::uint8_t { send, receive };

  /// The kernel is in its last stream, or has ended.
  [[nodiscard]] bool begun() const { return begun_; }
  [[nodiscard]] bool ended() const { return ended_; }
  /// The next kernel may use this side of a queue pair.
  [[nodiscard]] bool has_left(comm::direction dir, side s) const {
    return ended_ || (begun_ && !needed_.contains({dir, s}));
  }
  /// Grows whenever a side is left: a task that waits for a side checks again when it has grown.
  [[nodiscard]] std::uint64_t departures() const { return departures_; }

  /// A pipeline uses this side; called once for each pipeline that does.
  void need(comm::direction dir, side s) { ++needed_[{dir, s}]; }
  /// All needed sides have been named.
  void begin() {
    begun_ = true;
    ++departures_;
  }
  /// A pipeline that needed this side has finished with it.
  void leave(comm::direction dir, side s) {
    const auto at = needed_.find({dir, s});
    if (--at->second > 0) return;
    needed_.erase(at);
    ++departures_;
  }
  /// The last stream has ended.
  void leave_all() {
    needed_.clear();
    begin();
  }
  void end() {
    ended_ = true;
    leave_all();
  }

 private:
  bool begun_{}, ended_{};
  std::uint64_t departures_{};
  std::map<std::pair<comm::direction, side>, std::uint32_t> needed_;  ///< pipelines
};

// The loop of pe_context::stream: pipelines of slots that arrive and are forwarded, all in one task.

/// Iterates over the slots of a list of ranges, which must outlive it; empty ranges are skipped. `Range` has
/// an offset in TCM and bytes.
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
  /// Number of the slot within the current range, and all slots of the range.
  [[nodiscard]] std::uint64_t slot() const { return done_ / payload_; }
  [[nodiscard]] std::uint64_t slots() const { return (range().bytes + payload_ - 1) / payload_; }
  [[nodiscard]] std::uint64_t piece_end() const { return done_ + piece(); }
  /// Whether the cursor has passed byte `end` of range `index`.
  [[nodiscard]] bool has_passed(std::size_t index, std::uint64_t end) const {
    return index < index_ || (index == index_ && end <= done_);
  }
  /// Bytes of all slots that the cursor has passed.
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

/// A queue pair and its progress.
template <class Cursor>
struct stream_end {
  queue_state* queue{};
  Cursor at;    ///< all before it has been sent, or has arrived
  bool left{};  ///< left to the next kernel
};
using stream_out = stream_end<send_cursor>;
using stream_in = stream_end<stage_cursor>;

/// State of a pipeline that overlaps: slots before `next` are held or before stream_end::at.
struct begun_slots {
  stage_cursor next;
  std::uint32_t open{};  ///< between the two
};

/// One pipeline as it runs.
struct stream_pipeline {
  std::int32_t own{};  ///< number of the pipeline
  std::vector<stream_out> outs;
  std::vector<stream_in> ins;
  std::optional<begun_slots>
      begun;  ///< if the pipeline overlaps: `ins` has one entry, and its slots are held

  [[nodiscard]] bool more() const;
  /// Byte `end` of a stage has arrived from all of `ins`.
  [[nodiscard]] bool has_arrived(std::size_t stage, std::uint64_t end) const;
  /// As many bytes have arrived from each of `ins`.
  [[nodiscard]] bool has_received(std::uint64_t bytes) const;
  /// Whether all of `ins` before number `index` have contributed the slot that this one brings next.
  [[nodiscard]] bool may_take(std::size_t index) const;
};

/// Functions and state of the context that the pipelines run in.
struct stream_context {
  queue_driver& driver;
  task_scheduler& tasks;
  std::function<void(queue_state&, const send_cursor&)> put;    ///< sends a slot
  std::function<void(queue_state&, const stage_cursor&)> take;  ///< stores or reduces a slot, and keeps it
  std::function<void()> charge;  ///< charges a slot that is sent and was not received
  held_slots& held;              ///< slots held by pipelines that overlap
  std::function<void(queue_state&, abi::address, std::uint32_t)> put_slot;  ///< sends what lies in a slot
  /// Traps when the oldest message is known to be of another length.
  std::function<void(const queue_state&, const stage_cursor&)> check;
  /// Copies the oldest slot that is not held; the job that still does so.
  std::function<std::optional<std::uint32_t>(queue_state&, const stage_cursor&)> begin_copy;
  std::function<void(std::size_t)> mark;  ///< a pipeline begins to send this stage
  const kernel_tail* before{};            ///< only what this kernel has left is used; null: there is none
  kernel_tail* own{};                     ///< gets what this kernel leaves; null: none
};

/// Runs the pipelines to their end, when slots may still be held, alternating slot by slot, so that none uses
/// up its credits in a burst while another waits.
void run_pipelines(const stream_context& c, std::vector<stream_pipeline>& pipelines);

}  // namespace diecast::sw
