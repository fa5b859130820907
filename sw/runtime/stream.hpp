// SPDX-License-Identifier: Apache-2.0
// Streams of slots, what they leave to the DMA, and what they leave to the next kernel.
//
// Received slots that the core has left to others: the DMA copies them to their place, messages leave from
// where they lie. Their credits go back when the slots are not read any more. Each call of stream
// has its own, or a row of calls that leave copies to the next: tasks that stream side by side must not
// return, and so hide, what another waits for.
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
  /// A message on its way out of a slot.
  struct passed_on {
    queue_state* queue{};
    std::uint32_t sequence{};
  };

  held_slots(queue_driver& driver, task_scheduler& tasks) : driver_(driver), tasks_(tasks) {}

  /// Slots of a queue pair that are held.
  [[nodiscard]] std::uint32_t count(const queue_state& q) const;
  /// Held slots from the oldest one on whose copy is not known to be complete.
  [[nodiscard]] std::uint32_t uncopied(const queue_state& q) const;
  /// Where the oldest message that is not held lies.
  [[nodiscard]] abi::address next_slot(const queue_state& q) const;

  /// Holds that message's slot. `copy`: the DMA's job that copies it, when it is not copied already.
  void hold(queue_state& q, std::optional<std::uint32_t> copy, std::vector<passed_on> sends);
  /// No copies but those of start_copy are in the DMA: one that starts now does not wait for long.
  [[nodiscard]] bool may_copy();
  /// By the DMA; returns its job.
  [[nodiscard]] std::uint32_t start_copy(abi::address from, abi::address to, std::uint64_t bytes);

  /// By the DMA; finish() waits for it.
  void copy(abi::address from, abi::address to, std::uint64_t bytes);

  /// Returns the credits that are due, in order; true when something changed.
  bool return_due();
  /// Requests the events that return_due() needs. A task that sleeps then wakes when stirred() holds.
  void ask();
  [[nodiscard]] bool stirred() const;
  /// Waits until nothing is held: all is copied then, and all that was sent on has been read.
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
  std::deque<std::uint32_t> copies_;        ///< not known to be done, in order
  std::optional<std::uint32_t> last_copy_;  ///< last copy that copy() has begun
};

// Kernels that follow each other over the same queue pairs of a PE: the next one begins while the one before
// ends.

/// What the end of a kernel still needs. From its last stream on that is what goes over the queue pairs of
/// this stream; a side of a queue pair through which all has gone is the next kernel's. So messages of both
/// are in a queue pair one after the other, and its two ends distinguish them only by their order.
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
  /// Grows whenever something is left: a task that has found a side needed checks again when it has grown.
  [[nodiscard]] std::uint64_t departures() const { return departures_; }

  /// A pipeline goes over this side; as often as there are pipelines that do.
  void need(comm::direction dir, side s) { ++needed_[{dir, s}]; }
  /// All that is needed has been named.
  void begin() {
    begun_ = true;
    ++departures_;
  }
  /// A pipeline that needed this side is through with it.
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

// The loop behind pe_context::stream: pipelines of slots that arrive and are passed on, all in one task.

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
  /// Number of the slot within the current range, and all slots of the range.
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
  bool left{};  ///< left to the next kernel
};
using stream_out = stream_end<send_cursor>;
using stream_in = stream_end<stage_cursor>;

/// State of a pipeline that overlaps: slots before `next` are held or behind stream_end::at.
struct begun_slots {
  stage_cursor next;
  std::uint32_t open{};  ///< between the two
};

/// One pipeline as it runs.
struct stream_pipeline {
  std::int32_t own{};  ///< number of the pipeline
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

/// What the pipelines need of the context they run in.
struct stream_context {
  queue_driver& driver;
  task_scheduler& tasks;
  std::function<void(queue_state&, const send_cursor&)> put;    ///< sends a slot
  std::function<void(queue_state&, const stage_cursor&)> take;  ///< stores or reduces a slot, and keeps it
  std::function<void()> charge;  ///< for a slot that is sent and was not received
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

/// Runs the pipelines to their end, at which slots may still be held: in turn a slot each, so that none uses
/// up its credits in a burst while another waits.
void run_pipelines(const stream_context& c, std::vector<stream_pipeline>& pipelines);

}  // namespace diecast::sw
