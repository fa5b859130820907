// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/task_scheduler.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "sw/runtime/firmware_trap.hpp"

namespace diecast::sw {
namespace {

/// A machine that runs firmware on fibers may destroy a PE while one of its tasks is inside a HAL
/// call. It then unwinds the task's stack, and the kernel's own stack, on which everything else of
/// this PE lives, is reachable through the task alone: it is unwound when the task's frames are gone.
class unwind_kernel_too {
 public:
  explicit unwind_kernel_too(coroutine& kernel) : kernel_(&kernel) {}
  unwind_kernel_too(const unwind_kernel_too&) = delete;
  unwind_kernel_too& operator=(const unwind_kernel_too&) = delete;
  ~unwind_kernel_too() {
    if (kernel_ != nullptr) const coroutine kernel = std::move(*kernel_);
  }
  void dismiss() { kernel_ = nullptr; }

 private:
  coroutine* kernel_;
};

}  // namespace

task_scheduler::task_scheduler(abi::hal& hal, std::uint64_t switch_cycles, std::size_t stack_bytes,
                               std::function<void()> sleep)
    : hal_(hal), switch_cycles_(switch_cycles), stack_bytes_(stack_bytes), sleep_(std::move(sleep)) {}

void task_scheduler::block(const std::function<bool()>& ready) {
  if (!running()) {
    while (!ready()) sleep_();
    return;
  }
  tasks_[current_].ready = &ready;
  main_ = std::move(main_).resume();
}

void task_scheduler::run(const std::vector<std::function<void()>>& bodies) {
  if (running()) throw firmware_trap(hal_.self(), "run_tasks inside a task; tasks may spawn none");
  if (bodies.empty()) return;
  if (bodies.size() == 1) return bodies.front()();

  struct clear_at_end {
    std::vector<task>& tasks;
    ~clear_at_end() { tasks.clear(); }
  } clear{tasks_};
  tasks_.resize(bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) launch(i, bodies[i]);
  current_ = bodies.size() - 1;

  while (!std::all_of(tasks_.begin(), tasks_.end(), [](const task& t) { return t.done; })) {
    const std::size_t next = next_ready();
    if (next == tasks_.size()) {
      sleep_();
    } else {
      resume(next);
    }
  }
}

std::size_t task_scheduler::next_ready() const {
  for (std::size_t step = 1; step <= tasks_.size(); ++step) {
    const std::size_t i = (current_ + step) % tasks_.size();
    const task& t = tasks_[i];
    if (!t.done && (t.ready == nullptr || (*t.ready)())) return i;
  }
  return tasks_.size();
}

void task_scheduler::resume(std::size_t index) {
  if (index != current_ && switch_cycles_ > 0) hal_.compute(switch_cycles_);
  current_ = index;
  tasks_[index].ready = nullptr;
  tasks_[index].context = std::move(tasks_[index].context).resume();
  if (tasks_[index].error) std::rethrow_exception(std::exchange(tasks_[index].error, nullptr));
}

void task_scheduler::launch(std::size_t index, const std::function<void()>& body) {
  const auto entry = [this, index, &body](coroutine&& kernel) {
    main_ = std::move(kernel);
    unwind_kernel_too guard{main_};
    try {
      body();
    } catch (const coroutine::unwind&) {
      throw;
    } catch (...) {
      // Whatever it is (a trap, or the machine taking the PE down) belongs to the kernel's context.
      tasks_[index].error = std::current_exception();
    }
    guard.dismiss();
    tasks_[index].done = true;
    return std::move(main_);
  };
  tasks_[index].context = coroutine{stack_bytes_, entry};
}

}  // namespace diecast::sw
