// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/pe_runtime.hpp"

#include <algorithm>

namespace diecast::sw {

pe_runtime::pe_runtime(abi::hal& hal, const runtime_options& options)
    : hal_(hal),
      options_(options),
      tasks_(hal, options.task_switch_cycles, options.task_stack_bytes,
             [this](sim_time until) { driver_.sleep(until); }),
      driver_(hal, options_, tasks_) {}

void pe_runtime::begin() {
  if (options_.start_delay == sim_time{}) return;
  hal_.mark_step({"start delay"});
  sleep_until(hal_.now() + options_.start_delay);
}

void pe_runtime::work(std::uint64_t cycles) {
  if (!tasks_.running()) return hal_.compute(cycles);
  for (std::uint64_t done = 0; done < cycles;) {
    const std::uint64_t piece = std::min(options_.quantum_cycles, cycles - done);
    hal_.compute(piece);
    done += piece;
    driver_.drain();  // what has arrived meanwhile may be what another task waits for
    tasks_.yield();
  }
}

}  // namespace diecast::sw
