// SPDX-License-Identifier: Apache-2.0
// What each task of a PE's firmware is doing: its step, and the queue pairs it uses. For the flight recorder
// and reports of hangs; nothing of the machine depends on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diecast::abi {

using task_id = std::uint32_t;
/// The kernel itself, outside of the tasks it runs.
inline constexpr task_id kernel_task = 0;

enum class task_phase : std::uint8_t {
  begun,    ///< a task of the one that runs; it is in the same step until it marks one
  resumed,  ///< it runs from here on
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
};

/// The tasks that used a queue pair last.
struct queue_pair_use {
  std::optional<task_id> sender, receiver;
  std::array<task_id, 3> armed{};  ///< who armed each bit of qp_arm, the lowest first
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
  /// No task can run, so the one that ran last waits as the others do.
  [[nodiscard]] bool idle() const { return idle_; }
  [[nodiscard]] bool has_children(task_id id) const;
  [[nodiscard]] queue_pair_use use_of(std::uint32_t qp) const {
    return qp < uses_.size() ? uses_[qp] : queue_pair_use{};
  }
  [[nodiscard]] task_id copier() const { return copier_; }
  [[nodiscard]] task_id watcher() const { return watcher_.value_or(kernel_task); }

 private:
  std::vector<firmware_task> live_{1};
  std::size_t at_{};
  bool idle_{};
  std::vector<queue_pair_use> uses_;
  task_id copier_{kernel_task};
  std::optional<task_id> watcher_;
};

}  // namespace diecast::abi
