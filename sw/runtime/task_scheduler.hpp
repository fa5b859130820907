// SPDX-License-Identifier: Apache-2.0
// Cooperative tasks of one PE. A PE has one core: tasks interleave at waits only, and a HAL call
// that takes time holds up all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "models/abi/hal.hpp"
#include "sw/runtime/coroutine.hpp"

namespace diecast::sw {

class task_scheduler {
 public:
  /// `sleep` is called when nothing can run; it returns after something may have changed.
  task_scheduler(abi::hal& hal, std::uint64_t switch_cycles, std::size_t stack_bytes,
                 std::function<void()> sleep);
  task_scheduler(const task_scheduler&) = delete;
  task_scheduler& operator=(const task_scheduler&) = delete;

  /// Suspends the caller (a task, or the kernel itself outside run) until `ready()` holds.
  void block(const std::function<bool()>& ready);

  /// Runs all tasks to their end, round-robin at every block. The first exception that leaves a
  /// task unwinds the others and is rethrown here.
  void run(const std::vector<std::function<void()>>& bodies);

  [[nodiscard]] bool running() const { return !tasks_.empty(); }

 private:
  struct task {
    coroutine context;
    const std::function<bool()>* ready{};  ///< null: runnable
    std::exception_ptr error;
    bool done{};
  };

  void launch(std::size_t index, const std::function<void()>& body);
  [[nodiscard]] std::size_t next_ready() const;
  void resume(std::size_t index);

  abi::hal& hal_;
  std::uint64_t switch_cycles_;
  std::size_t stack_bytes_;
  std::function<void()> sleep_;
  std::vector<task> tasks_;
  std::size_t current_{};
  coroutine main_;  ///< the kernel's own context while a task runs
};

}  // namespace diecast::sw
