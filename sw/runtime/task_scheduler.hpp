// SPDX-License-Identifier: Apache-2.0
// Cooperative tasks of one PE. A PE has one core: tasks interleave at waits only, and a HAL call
// that takes time delays all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "models/abi/hal.hpp"
#include "models/types/immovable.hpp"
#include "models/types/time.hpp"
#include "sw/runtime/coroutine.hpp"

namespace diecast::sw {

class task_scheduler : immovable {
 public:
  /// `sleep` is called when nothing can run; it returns after something may have changed, and at the
  /// instant it is given at the latest (sim_time::never(): there is none).
  task_scheduler(abi::hal& hal, std::uint64_t switch_cycles, std::size_t stack_bytes,
                 std::function<void(sim_time)> sleep);

  /// Suspends the caller (a task, or the kernel itself outside run) until `ready()` holds. `ready` is called
  /// any number of times, on the stacks of other tasks too, and must change nothing.
  void block(const std::function<bool()>& ready);
  /// Suspends the caller until the PE's clock has reached `when`.
  void sleep_until(sim_time when);
  /// Runs the other tasks that can run, then the caller. No effect
  /// outside run.
  void yield();
  /// yield() of a task that polls something without an event, has found no change, and will poll again.
  void yield_looking();
  /// A task other than the caller has something to do besides polling.
  [[nodiscard]] bool others_can_run() const;
  /// A task other than the caller waits for a time.
  [[nodiscard]] bool others_await_time() const;

  /// Runs all tasks to their end, round-robin at every block. A task may run tasks of its own: they
  /// are part of the same round, and the task continues when they have ended. The first exception that
  /// leaves a task unwinds all others and is rethrown by the outermost run.
  void run(const std::vector<std::function<void()>>& bodies);

  [[nodiscard]] bool running() const { return !tasks_.empty(); }

 private:
  struct task {
    abi::task_id id{};
    coroutine context;
    const std::function<bool()>* ready{};  ///< null: runnable
    sim_time alarm{sim_time::never()};     ///< time of its next poll
    std::exception_ptr error;
    bool looking{};  ///< the task is in yield_looking()
    bool done{};
  };

  [[nodiscard]] task& launch(const std::function<void()>& body);
  void run_nested(const std::vector<std::function<void()>>& bodies);
  [[nodiscard]] task* next_ready() const;
  [[nodiscard]] sim_time next_alarm() const;
  [[nodiscard]] bool all_done() const;
  void resume(task& t);
  void clear();

  abi::hal& hal_;
  std::uint64_t switch_cycles_;
  std::size_t stack_bytes_;
  std::function<void(sim_time)> sleep_;
  std::vector<std::unique_ptr<task>> tasks_;  ///< tasks in order of launch: each before those that it runs
  task* current_{};
  abi::task_id last_id_{abi::kernel_task};
  coroutine main_;  ///< the kernel's own context while a task runs
};

}  // namespace diecast::sw
