// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/pe_runtime.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "models/abi/firmware_tasks.hpp"
#include "sw/runtime/firmware_trap.hpp"

namespace diecast::sw {

pe_runtime::pe_runtime(abi::hal& hal, const runtime_options& options)
    : hal_(hal),
      options_(options),
      tasks_(hal, options.task_switch_cycles, options.task_stack_bytes,
             [this](sim_time until) {
               call_before_idle();
               driver_.sleep(until);
             }),
      driver_(hal, options_, tasks_) {}

void pe_runtime::begin() {
  if (options_.start_delay == sim_time{}) return;
  hal_.mark_step({"start delay"});
  sleep_until(hal_.now() + options_.start_delay);
}

void pe_runtime::enter(abi::entry_point e) {
  const auto index = static_cast<unsigned>(e);
  const std::uint64_t entry = hal_.dispatch_word(index);
  const std::uint64_t target =
      entry == abi::stub_of(e) ? hal_.dispatch_word(abi::entry_points + index) : entry;
  if (target == abi::routine_of(e)) return;
  hal_.count(abi::firmware_count::corrupted_calls, 1);
  if (target != abi::sleep_routine) {
    fault_record r{fault_kind::bad_call};
    r.sequence = index;
    r.text = abi::to_string(e);
    r.value = target;
    r.expected = abi::routine_of(e);
    r.address = abi::stub_of(e);
    throw firmware_trap(hal_.self(), std::move(r));
  }
  const std::string step = abi::sleep_step(e);
  hal_.mark_step({step, abi::no_step_index});
  for (;;) {  // like a core without work
    hal_.wait_for_event();
    driver_.drain();
  }
}

void pe_runtime::enter_collective(std::uint32_t ranks) {
  const sim_time launch = options_.connect + options_.entry_signal * (ranks - 1);
  if (launch == sim_time{}) return;
  hal_.mark_step({"launch"});
  sleep_until(hal_.now() + launch);
}

void pe_runtime::leave_collective() {
  if (options_.exit != sim_time{}) sleep_until(hal_.now() + options_.exit);
}

void pe_runtime::before_idle(std::function<void()> update) {
  if (before_idle_) throw std::logic_error("pe_runtime::before_idle is called a second time");
  before_idle_ = std::move(update);
}

void pe_runtime::work(std::uint64_t cycles) {
  if (!tasks_.running()) return hal_.compute(cycles);
  for (std::uint64_t done = 0; done < cycles;) {
    const std::uint64_t piece = std::min(options_.quantum_cycles, cycles - done);
    hal_.compute(piece);
    done += piece;
    driver_.drain();  // an event that has arrived meanwhile may end the wait of another task
    tasks_.yield();
  }
}

void pe_runtime::between_looks(const abi::signal_watch& word, std::uint64_t cycles) {
  driver_.drain();  // no task sleeps meanwhile, so events for other tasks are taken here
  const bool others = tasks_.others_can_run();
  if (others || tasks_.others_await_time()) hal_.watch({});
  if (!others) {
    call_before_idle();
    hal_.pause(cycles);
  }
  tasks_.yield_looking();
  if (!tasks_.others_await_time()) hal_.watch(word);
}

}  // namespace diecast::sw
