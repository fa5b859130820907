// SPDX-License-Identifier: Apache-2.0
// What each task of a PE's firmware is doing: its step, and the queue pairs it uses. For the flight recorder
// and reports of hangs; nothing of the machine depends on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/types/archive.hpp"
#include "models/types/ids.hpp"

namespace diecast::abi {

using task_id = std::uint32_t;
/// The kernel itself, outside of the tasks it runs.
inline constexpr task_id kernel_task = 0;

enum class task_phase : std::uint8_t {
  begun,    ///< a task of the one that runs; it is in the same step until it marks one
  resumed,  ///< the task runs from here on
  ended,
  idle  ///< no task can run; `id` means nothing
};
struct task_note {
  task_phase phase{};
  task_id id{kernel_task};
};

struct firmware_task {
  task_id id{kernel_task};
  task_id parent{kernel_task};  ///< waits until this one has ended; the kernel's is itself
  std::string step_name{};      ///< empty before the first mark
  std::uint32_t step_index{};

  [[nodiscard]] std::string step() const;
  DIECAST_MEMBERS(id, parent, step_name, step_index)
};

/// The tasks that used a queue pair last.
struct queue_pair_use {
  std::optional<task_id> sender, receiver;
  std::array<task_id, 3> armed{};  ///< the task that armed each bit of qp_arm, the lowest first
};

class firmware_tasks {
 public:
  firmware_tasks() = default;
  /// A kernel without tasks, in this step.
  explicit firmware_tasks(std::string_view step);

  void hear(const task_note& n);
  void mark(std::string_view name, std::uint32_t index);
  struct new_use {
    std::uint16_t qp{};
    bool send{};
  };
  /// A register is written by the task that runs. Reports when it is the first to use a half of a queue pair,
  /// or when another task used it before.
  std::optional<new_use> wrote(std::uint32_t reg, std::uint64_t value);
  /// The task that runs begins (ends) to watch a word in global memory.
  void watches(bool begins) { watcher_ = begins ? std::optional(running()) : std::nullopt; }

  /// The kernel and the tasks that have not ended, parents first.
  [[nodiscard]] const std::vector<firmware_task>& live() const { return live_; }
  [[nodiscard]] const firmware_task* find(task_id id) const;
  [[nodiscard]] task_id running() const { return live_[at_].id; }
  /// No task can run: the one that ran last waits, too.
  [[nodiscard]] bool idle() const { return idle_; }
  [[nodiscard]] bool has_children(task_id id) const;
  [[nodiscard]] queue_pair_use use_of(std::uint32_t qp) const {
    return qp < uses_.size() ? uses_[qp] : queue_pair_use{};
  }
  [[nodiscard]] task_id copier() const { return copier_; }
  [[nodiscard]] task_id watcher() const { return watcher_.value_or(kernel_task); }
  DIECAST_MEMBERS(live_, at_, idle_, uses_, copier_, watcher_)

 private:
  std::vector<firmware_task> live_{1};
  std::size_t at_{};
  bool idle_{};
  std::vector<queue_pair_use> uses_;
  task_id copier_{kernel_task};
  std::optional<task_id> watcher_;
};

// Operations of firmware with other PEs that use no queue pairs: tag-matched messages and barriers. Announced
// by firmware for the flight recorder and reports of hangs; nothing in the machine depends on them.

/// receipt: a wait at the end of a program, until a peer has taken the messages that were sent to it.
enum class operation_kind : std::uint8_t { send, receive, probe, receipt, barrier };
[[nodiscard]] const char* to_string(operation_kind k);

enum class operation_phase : std::uint8_t {
  posted,     ///< firmware has requested it
  started,    ///< a send is with the unit; a receive has its message: peer, tag and bytes are that message's
  awaited,    ///< a task of the PE waits for its end
  resumed,    ///< the task continues, with or without its end
  completed,  ///< ended
  cancelled   ///< ended by a cancel
};

struct operation_note {
  operation_kind kind{};
  operation_phase phase{};
  std::uint32_t id{};              ///< unique among the open operations of a kind at a PE
  std::optional<pe_coord> peer{};  ///< the other PE; for a barrier the PE whose flag is awaited. None: any PE
  std::uint32_t group{};           ///< communicator; team slot of a barrier
  /// Every core of every member of a barrier, by rank. With `posted` only, valid during the call only.
  std::span<const pe_coord> members{};
  std::optional<std::uint32_t> tag{};  ///< tag of the message; none: any tag
  std::uint64_t bytes{};               ///< bytes of the message; for a receive without one, of its buffer
  std::uint32_t count{};               ///< value of the flags of a barrier; messages of a receipt
  std::string_view algorithm{};        ///< algorithm of a barrier; static storage
  std::string_view stage{};            ///< awaited stage of the barrier, like "round"; static storage
  std::uint32_t stage_number{};
  task_id task{kernel_task};  ///< firmware task; the machine adds it

  DIECAST_MEMBERS(kind, phase, id, peer, group, tag, bytes, count, algorithm, stage, stage_number, task)
};

/// "receive from sip0.cube1.pe2, tag 5 of communicator 0", "dissemination of team 0, count 4, round 1".
[[nodiscard]] std::string describe(const operation_note& n);

/// What the activities of one PE wait for, oldest first.
class awaited_operations {
 public:
  void hear(const operation_note& n);
  [[nodiscard]] const std::vector<operation_note>& list() const { return list_; }

 private:
  std::vector<operation_note> list_;
};

// Text of a marked step in reports.

/// step_marker::index of a step that has no number.
inline constexpr std::uint32_t no_step_index = UINT32_MAX;

/// "all_gather 3", or the name alone.
inline std::string step_text(std::string_view name, std::uint32_t index) {
  std::string text{name};
  if (index == no_step_index) return text;
  text += ' ';
  text += std::to_string(index);
  return text;
}

// Text of a message's tag in reports.

/// "tag 5 of communicator 0"; without a tag, "any tag of communicator 0".
inline std::string tag_text(std::optional<std::uint64_t> tag, std::uint64_t communicator) {
  return (tag ? "tag " + std::to_string(*tag) : "any tag") + " of communicator " +
         std::to_string(communicator);
}

}  // namespace diecast::abi
