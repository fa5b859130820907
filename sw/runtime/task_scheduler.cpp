// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/task_scheduler.hpp"

#include <algorithm>
#include <utility>

#include "models/types/immovable.hpp"

namespace diecast::sw {
namespace {

/// A machine that runs firmware on fibers may destroy a PE while one of its tasks is inside a HAL
/// call. It then unwinds the task's stack, and the kernel's own stack, which holds everything
/// else of this PE, is reachable through the task alone: it is unwound after the task's frames.
class unwind_kernel_too : immovable {
 public:
  explicit unwind_kernel_too(coroutine& kernel) : kernel_(&kernel) {}
  ~unwind_kernel_too() {
    if (kernel_ != nullptr) const coroutine kernel = std::move(*kernel_);
  }
  void dismiss() { kernel_ = nullptr; }

 private:
  coroutine* kernel_;
};

}  // namespace

task_scheduler::task_scheduler(abi::hal& hal, std::uint64_t switch_cycles, std::size_t stack_bytes,
                               std::function<void(sim_time)> sleep)
    : hal_(hal), switch_cycles_(switch_cycles), stack_bytes_(stack_bytes), sleep_(std::move(sleep)) {}

void task_scheduler::block(const std::function<bool()>& ready) {
  if (!running()) {
    while (!ready()) sleep_(sim_time::never());
    return;
  }
  current_->ready = &ready;
  main_ = std::move(main_).resume();
}

void task_scheduler::sleep_until(sim_time when) {
  if (!running()) {
    while (hal_.now() < when) sleep_(when);
    return;
  }
  if (hal_.now() >= when) return;
  task& self = *current_;
  self.alarm = when;
  block([this, when] { return hal_.now() >= when; });
  self.alarm = sim_time::never();
}

void task_scheduler::yield() {
  if (!running()) return;
  current_->ready = nullptr;
  main_ = std::move(main_).resume();
}

void task_scheduler::yield_looking() {
  if (!running()) return;
  task& self = *current_;
  self.looking = true;
  yield();
  self.looking = false;
}

bool task_scheduler::others_can_run() const {
  return std::ranges::any_of(tasks_, [this](const auto& t) {
    return t.get() != current_ && !t->done && !t->looking && (t->ready == nullptr || (*t->ready)());
  });
}

bool task_scheduler::others_await_time() const {
  return std::ranges::any_of(tasks_, [this](const auto& t) {
    return t.get() != current_ && !t->done && t->alarm != sim_time::never();
  });
}

void task_scheduler::run(const std::vector<std::function<void()>>& bodies) {
  if (bodies.empty()) return;
  if (bodies.size() == 1) return bodies.front()();
  if (running()) return run_nested(bodies);

  struct clear_at_end {
    task_scheduler& scheduler;
    ~clear_at_end() { scheduler.clear(); }
  } clear{*this};
  for (const auto& body : bodies) (void)launch(body);
  current_ = tasks_.back().get();

  while (!all_done()) {
    task* const next = next_ready();
    if (next == nullptr) {
      hal_.task({abi::task_phase::idle});
      sleep_(next_alarm());
    } else {
      resume(*next);
    }
  }
  hal_.task({abi::task_phase::resumed, abi::kernel_task});
}

/// Called on the stack of a task; the loop of run() resumes the new ones.
void task_scheduler::run_nested(const std::vector<std::function<void()>>& bodies) {
  std::vector<const task*> own;
  own.reserve(bodies.size());
  for (const auto& body : bodies) own.push_back(&launch(body));
  block([&own] { return std::ranges::all_of(own, [](const task* t) { return t->done; }); });
  std::erase_if(tasks_, [&own](const auto& t) { return std::ranges::find(own, t.get()) != own.end(); });
}

/// A task's own tasks refer to its stack, so they are destroyed first.
void task_scheduler::clear() {
  while (!tasks_.empty()) tasks_.pop_back();
  current_ = nullptr;
}

bool task_scheduler::all_done() const {
  return std::ranges::all_of(tasks_, [](const auto& t) { return t->done; });
}

task_scheduler::task* task_scheduler::next_ready() const {
  const auto at = std::ranges::find_if(tasks_, [this](const auto& t) { return t.get() == current_; });
  const auto from = static_cast<std::size_t>(at - tasks_.begin());
  for (std::size_t step = 1; step <= tasks_.size(); ++step) {
    task& t = *tasks_[(from + step) % tasks_.size()];
    if (!t.done && (t.ready == nullptr || (*t.ready)())) return &t;
  }
  return nullptr;
}

sim_time task_scheduler::next_alarm() const {
  sim_time next = sim_time::never();
  for (const auto& t : tasks_)
    if (!t->done) next = std::min(next, t->alarm);
  return next;
}

void task_scheduler::resume(task& t) {
  if (&t != current_ && switch_cycles_ > 0) {
    // A repeated poll is no progress: a run in which PEs only poll must be found to be a deadlock.
    t.looking ? hal_.pause(switch_cycles_) : hal_.compute(switch_cycles_);
  }
  current_ = &t;
  t.ready = nullptr;
  hal_.task({abi::task_phase::resumed, t.id});
  t.context = std::move(t.context).resume();
  if (t.done) hal_.task({abi::task_phase::ended, t.id});
  if (t.error) std::rethrow_exception(std::exchange(t.error, nullptr));
}

task_scheduler::task& task_scheduler::launch(const std::function<void()>& body) {
  tasks_.push_back(std::make_unique<task>());
  task& t = *tasks_.back();
  t.id = ++last_id_;
  hal_.task({abi::task_phase::begun, t.id});
  const auto entry = [this, &t, &body](coroutine&& kernel) {
    main_ = std::move(kernel);
    unwind_kernel_too guard{main_};
    try {
      body();
    } catch (const coroutine::unwind&) {
      throw;
    } catch (...) {
      // Whatever it is (a trap, or the machine taking the PE down) belongs to the kernel's context.
      t.error = std::current_exception();
    }
    guard.dismiss();
    t.done = true;
    return std::move(main_);
  };
  t.context = coroutine{stack_bytes_, entry};
  return t;
}

}  // namespace diecast::sw
