// SPDX-License-Identifier: Apache-2.0
// Driving the SystemC kernel: set-up, bounded slices, what ended a run. Used by every platform.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <systemc>
#include <utility>

#include "hw/base/fault_sink.hpp"
#include "hw/base/time.hpp"
#include "models/config/machine_config.hpp"
#include "models/config/population.hpp"
#include "models/events/events.hpp"
#include "models/types/error.hpp"
#include "platforms/run/child.hpp"

namespace diecast::platforms {

class stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_{std::chrono::steady_clock::now()};
};

/// Time resolution and report handling; once per process, before any sc_time is made. SystemC's own
/// complaints are faults of the model: a warning is thrown, information is dropped.
void prepare_kernel();

/// The first multiple of sim.slice_us after an event at `next`: limits, signals and faults take effect
/// there, whatever has simulated the slice.
[[nodiscard]] sim_time next_look(const config::sim_block& sim, sim_time next);

enum class end_of_run { finished, starved, fault, interrupted, limit, watchdog };

/// Runs until no event is left, in bounded slices (next_look): between them nothing of the machine moves, so
/// signals are handled there. `finished` distinguishes a complete run from one without events; `stuck`:
/// events continue without progress. `between` is called after each slice.
[[nodiscard]] end_of_run run_slices(
    const config::sim_block& sim, const std::function<bool()>& finished, const hw::fault_sink& faults,
    const std::function<bool()>& stuck = [] { return false; }, const std::function<void()>& between = [] {});

/// How a study of traffic ended. left: "3 packets are under way".
[[nodiscard]] fault_text explain(end_of_run end, const config::sim_block& sim, const hw::fault_sink& faults,
                                 const std::string& left);

template <class Outcome>
void conclude(end_of_run end, const config::sim_block& sim, const hw::fault_sink& faults,
              const std::string& left, Outcome& o) {
  const fault_text f = explain(end, sim, faults, left);
  o.status = f.status;
  o.message = f.message;
}

/// Of this process so far.
[[nodiscard]] double peak_rss_mib();

// Observers, and the end of a file that one writes.

/// An observer of all later events; none unless `wanted`.
template <class Observer, class... Arguments>
std::unique_ptr<Observer> attached(bool wanted, events::hub& events, unsigned interests,
                                   Arguments&&... arguments) {
  if (!wanted) return {};
  auto observer = std::make_unique<Observer>(std::forward<Arguments>(arguments)...);
  events.attach(*observer, interests);
  return observer;
}

/// Closes it. A file that could not be finished costs the run nothing but that file.
template <class Writer, class Outcome>
void finish_file(Writer& writer, Outcome& o) {
  try {
    writer.close(hw::now());
  } catch (const output_error& e) {
    o.output_lost = true;
    o.message += (o.message.empty() ? "" : "\n") + std::string(e.what());
  }
}

/// Ends a waveform where the simulation was stopped, if more was to come.
template <class Writer, class Outcome>
void finish_waveform(Writer& writer, Outcome& o) {
  if (sc_core::sc_pending_activity()) writer.stop_at(hw::now());
  finish_file(writer, o);
}

// Whether the operating system lets a process have the stacks of a machine's firmware. SystemC maps each
// thread a stack and a guard page, and a process has so many mappings at most.

/// How many mappings a process may have (vm.max_map_count); nothing where the system does not say.
[[nodiscard]] std::optional<std::uint64_t> permitted_mappings();

/// What is wrong when `permitted` are too few for the firmware of these PEs and hosts of one process.
[[nodiscard]] std::optional<problem> find_lack_of_stacks(std::uint64_t pes, std::uint64_t hosts,
                                                         std::optional<std::uint64_t> permitted);
/// What is wrong when one process is to simulate all PEs and hosts of `machine`.
[[nodiscard]] inline std::optional<problem> find_lack_of_stacks(const config::population& machine,
                                                                std::optional<std::uint64_t> permitted) {
  return find_lack_of_stacks(machine.pes().size(), machine.shape().sips, permitted);
}

/// Throws user_error when this system permits too few.
void check_stacks(std::uint64_t pes, std::uint64_t hosts);

}  // namespace diecast::platforms
