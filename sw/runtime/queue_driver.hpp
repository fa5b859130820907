// SPDX-License-Identifier: Apache-2.0
// Register-level driver of a PE's IPCQ engine and of the compute port of its DMA engine. It keeps
// software copies of registers, so that a register is read only when the copy no
// longer allows the next step.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "models/abi/hal.hpp"
#include "models/comm/install_plan.hpp"
#include "models/protocol/queue_pair.hpp"
#include "sw/runtime/options.hpp"
#include "sw/runtime/task_scheduler.hpp"

namespace diecast::sw {

/// The driver's copy of one queue pair. A copy may lag behind the engine, always on the safe side:
/// fewer free slots, fewer messages, fewer sources read.
struct queue_state {
  comm::direction dir{};
  std::uint64_t control{};
  std::uint32_t n_slots{};
  std::uint32_t slot_bytes{};
  std::uint64_t armed{};  ///< abi::arm_* requests whose event has not been popped

  // transmit half
  std::uint32_t free{};
  std::uint32_t sent{};  ///< doorbells rung, modulo 2^32
  std::uint32_t read{};  ///< doorbells whose sources have been read
  struct source_range {
    std::uint32_t sequence{};
    std::uint64_t begin{};
    std::uint64_t end{};
  };
  std::deque<source_range> sources;  ///< places the engine may not have read yet

  // receive half
  protocol::sequence_space space;
  abi::address rx_base{};
  std::uint32_t tail{};
  std::uint32_t available{};
  std::uint32_t oldest_bytes{};
  bool oldest_known{};

  [[nodiscard]] abi::address rx_slot() const {
    return rx_base + std::uint64_t{space.slot(tail)} * slot_bytes;
  }
  [[nodiscard]] bool source_was_read(std::uint32_t sequence) const {
    return static_cast<std::int32_t>(read - sequence) >= 0;
  }
};

class queue_driver {
 public:
  queue_driver(abi::hal& hal, const runtime_options& options, task_scheduler& tasks);

  /// The queue pair's copy; the first use reads its registers. Traps if it is not installed.
  queue_state& queue(comm::direction dir);
  /// queue() that traps when the half is missing: a wait for it would never end.
  queue_state& tx(comm::direction dir);
  queue_state& rx(comm::direction dir);

  // --- transmit ---
  [[nodiscard]] bool has_space(queue_state& q) { return has(q, space); }
  void wait_space(queue_state& q) { wait(q, space); }
  /// Precondition: a free slot. Returns the number of the send, for wait_source.
  /// `check` travels with the message, unless it is 0.
  std::uint32_t ring_doorbell(queue_state& q, std::uint64_t place, std::uint32_t bytes,
                              std::uint32_t check = 0);
  void wait_source(queue_state& q, std::uint32_t sequence);
  /// Reads how many sources have been read.
  void look_at_sources(queue_state& q) { refresh_tx(q); }
  /// Waits until no send still has to read a byte of [offset, offset + bytes) of local TCM.
  void wait_sources_in(std::uint64_t offset, std::uint64_t bytes);

  // --- receive ---
  [[nodiscard]] bool has_message(queue_state& q) { return has(q, message); }
  void wait_message(queue_state& q) { wait(q, message); }
  /// Reads how many messages have arrived. Precondition: no request for the event of one.
  void look_for_messages(queue_state& q) { refresh_rx(q); }
  /// Bytes of the oldest message. Precondition: has_message.
  std::uint32_t message_bytes(queue_state& q);
  /// The `check` that the message's sender gave to ring_doorbell.
  std::uint32_t message_check(const queue_state& q) {
    return static_cast<std::uint32_t>(read(q, abi::qp_rx_check));
  }
  void release(queue_state& q);

  // --- waiting for one of several ---
  void arm(queue_state& q, std::uint64_t bit);
  /// Withdraws a request without a waiter, so that no pointer dump shows it as one.
  void withdraw(queue_state& q, std::uint64_t bit);
  /// Waits for an event, dispatches every queued one. The scheduler calls it when all tasks wait. Returns at
  /// `until` at the latest.
  void sleep(sim_time until = sim_time::never());
  /// Dispatches every queued event. Throws firmware_trap on an error event.
  void drain();
  /// Sets the function to call when the tag-matching unit has an event. It must not wait for anything that a
  /// task or an event brings.
  void on_tag_event(std::function<void()> hook) { tag_event_ = std::move(hook); }

  // --- copies by the DMA's compute port ---
  /// Returns when every byte is written.
  void dma_copy(abi::address from, abi::address to, std::uint64_t bytes);
  /// dma_copy() in two steps, so that copies may overlap. They end in the order of their starts.
  [[nodiscard]] std::uint32_t start_copy(abi::address from, abi::address to, std::uint64_t bytes);
  void wait_copy(std::uint32_t job);
  /// Requests the event of a job, or of an earlier one that another task waits for.
  void arm_copy(std::uint32_t job);
  /// Whether a job is done, as far as events have shown.
  [[nodiscard]] bool has_copied(std::uint32_t job) const;
  /// Reads how many are done, if any is in flight.
  void look_at_copies();
  [[nodiscard]] bool awaits_copy() const { return dma_armed_.has_value(); }
  [[nodiscard]] std::uint32_t copies_under_way() const { return dma_started_ - dma_done_; }

  /// Waits for every source of this queue pair still to be read; nothing to do for one never used.
  void wait_sources(comm::direction dir);
  /// Waits for every source still to be read and checks for a last refusal.
  void finish();

 private:
  void refresh_tx(queue_state& q);
  void refresh_rx(queue_state& q);
  void forget_sources(queue_state& q);
  void dispatch(const abi::ipcq_event_word& event);
  /// A count of a queue pair that grows: free slots, messages.
  struct awaited_count {
    std::uint32_t queue_state::*count;
    std::uint64_t arm;
    void (queue_driver::*refresh)(queue_state&);
  };
  static constexpr awaited_count space{&queue_state::free, abi::arm_send_space, &queue_driver::refresh_tx};
  static constexpr awaited_count message{&queue_state::available, abi::arm_receive,
                                         &queue_driver::refresh_rx};
  [[nodiscard]] bool has(queue_state& q, const awaited_count& what);
  void wait(queue_state& q, const awaited_count& what);
  std::uint64_t read(const queue_state& q, abi::register_offset field);
  void write(const queue_state& q, abi::register_offset field, std::uint64_t value);

  abi::hal& hal_;
  const runtime_options& options_;
  task_scheduler& tasks_;
  std::vector<std::unique_ptr<queue_state>> queues_;  ///< by direction; null until used
  bool dma_known_{};
  std::optional<std::uint32_t> dma_armed_;  ///< job whose event is requested and has not been popped
  std::uint32_t dma_started_{};
  std::uint32_t dma_done_{};
  std::function<void()> tag_event_;
};

}  // namespace diecast::sw
