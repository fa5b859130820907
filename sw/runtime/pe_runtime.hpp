// SPDX-License-Identifier: Apache-2.0
// State that all activities of one PE share: the machine, the task scheduler, the driver of the queue pairs
// (there is one event register), and libraries that keep state from one activity to the next.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <typeindex>

#include "models/abi/dispatch_table.hpp"
#include "models/abi/hal.hpp"
#include "models/types/immovable.hpp"
#include "sw/runtime/options.hpp"
#include "sw/runtime/queue_driver.hpp"
#include "sw/runtime/task_scheduler.hpp"

namespace diecast::sw {

/// Lives as long as a launch. Kernels run on it through a pe_context each; several at a time when each is
/// in a task of its own and has queue pairs of its own, or follows another over the same (kernel_tail).
class pe_runtime : immovable {
 public:
  pe_runtime(abi::hal& hal, const runtime_options& options);

  [[nodiscard]] abi::hal& hal() { return hal_; }
  [[nodiscard]] const runtime_options& options() const { return options_; }
  [[nodiscard]] task_scheduler& tasks() { return tasks_; }
  [[nodiscard]] queue_driver& driver() { return driver_; }

  /// Enters a kernel through the dispatch table. Throws firmware_trap when its entry leads nowhere; never
  /// returns when it leads to another routine.
  void enter(abi::entry_point e);

  /// Charges a call of the runtime (runtime_options::call_cycles).
  void charge_call() {
    if (options_.call_cycles > 0) hal_.compute(options_.call_cycles);
  }

  /// One-call send-receives of this PE so far: the history by which a defective one picks its pages.
  [[nodiscard]] std::uint64_t& one_call_sends() { return one_call_sends_; }

  /// Charges the registration of a message's memory, which comm.mr_cache_monitor = disabled makes necessary.
  void charge_registration() {
    if (options_.registration_cycles > 0) hal_.compute(options_.registration_cycles);
  }

  /// First thing of a launch: a straggler waits for its start delay.
  void begin();
  /// Charges the launch of a collective over a number of ranks, and its end.
  void enter_collective(std::uint32_t ranks);
  void leave_collective();

  /// Straight-line work of the core. With other tasks it is divided into pieces of
  /// runtime_options::quantum_cycles, and after each piece the tasks that can run do.
  void work(std::uint64_t cycles);
  /// Between two reads of a flag that is not set: runs the other tasks, or pauses the core for
  /// `cycles` when none can run. While a task only polls and no other can run or waits for an instant,
  /// hal::watch gets `word`, which it polls.
  void between_looks(const abi::signal_watch& word, std::uint64_t cycles);
  /// Returns when the PE's clock has reached `when`; other tasks run until then.
  void sleep_until(sim_time when) { tasks_.sleep_until(when); }

  /// Sets the only callback that runs before the core sleeps or pauses because no task can run, to update
  /// what reports show of waits. Throws std::logic_error at a second call.
  void before_idle(std::function<void()> update);

  /// The PE's only object of a library class T, made by `make` (returns std::shared_ptr<T>) at the first
  /// use: state that outlives the op that made it, e.g. a messaging library's open requests.
  template <class T, class Make>
  [[nodiscard]] T& service(Make make) {
    std::shared_ptr<void>& held = services_[std::type_index(typeid(T))];
    if (held == nullptr) held = std::shared_ptr<T>(make());
    return *static_cast<T*>(held.get());
  }

 private:
  void call_before_idle() {
    if (before_idle_) before_idle_();
  }

  abi::hal& hal_;
  runtime_options options_;
  task_scheduler tasks_;
  queue_driver driver_;
  std::uint64_t one_call_sends_{};
  std::function<void()> before_idle_;
  std::map<std::type_index, std::shared_ptr<void>> services_;
};

}  // namespace diecast::sw
