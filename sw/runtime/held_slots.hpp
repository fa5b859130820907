// SPDX-License-Identifier: Apache-2.0
// Received slots that the core has left to others: the DMA copies them to their place, messages leave from
// where they lie. Their credits go back when nobody reads them any more. Each call of stream
// has its own, or a row of calls that leave copies to the next: tasks that stream side by side must not
// settle, and so hide, what another waits for.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

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
  /// Of these, the slots from the oldest one on whose copy is not known to be there.
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

  /// Returns the credits that are due, in order; true when something went on.
  bool settle();
  /// Asks for the events that settle() needs. Whoever sleeps then wakes when stirred() holds.
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

}  // namespace diecast::sw
