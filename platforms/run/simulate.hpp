// SPDX-License-Identifier: Apache-2.0
// Elaborates the machine in this process and runs one prepared run to its end.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "models/fabric/sip_partition.hpp"
#include "platforms/run/host_side.hpp"
#include "platforms/run/kernel.hpp"
#include "platforms/run/prepare.hpp"
#include "platforms/run/process_group.hpp"

namespace diecast::platforms {

/// Call once per process (SystemC elaborates once). Never throws for what the simulated machine
/// does: that is in the outcome's status and message.
/// `only`: of a workload, the one stream to run. `draw`: of --jitter; 0: the run itself.
[[nodiscard]] run_outcome simulate(const prepared_run& run, const app::registries& tables,
                                   std::optional<std::uint32_t> only = {}, std::uint64_t draw = 0);
/// The part of this process in a run of several; the outcome of the process with number 0 is that of the run.
[[nodiscard]] run_outcome simulate_part(const prepared_run& run, const app::registries& tables,
                                        std::optional<std::uint32_t> only, std::uint64_t draw,
                                        process_group& group, const fabric::sip_partition& partition);

// sim.fidelity = message: a run on the timed mock machine, with the same hosts, firmware and checks.

/// As simulate(). Precondition: refuse_messages() has accepted the run.
[[nodiscard]] run_outcome simulate_messages(const prepared_run& run, std::optional<std::uint32_t> only,
                                            std::uint64_t draw);

/// Throws user_error with every setting of the config that transfers as a whole do not show, if the config
/// requests message fidelity; so does the other, for the kind of run ("workloads are").
void check_message_config(const config::machine_config& config);
struct message_refusal {
  const char* flag;
  std::string what, value;
};
void refuse_messages(const config::machine_config& config, const message_refusal& why);

// Status and message of a run by what ended it, on whatever machine it ran.

/// What ended a run, the path of the block that threw it, and when.
struct thrown_fault {
  std::exception_ptr what;
  std::string instance;
  sim_time at;
};
void take_fault(const prepared_run& run, const thrown_fault& fault, run_outcome& o);

/// Text of a fault of the machine, or of its state when it stopped.
struct end_reports {
  std::function<void()> fault;
  std::function<void(run_status status, const std::string& why)> stop;
};
void conclude(end_of_run end, const prepared_run& run, const host_side& s, sim_time now,
              const end_reports& reports, run_outcome& o);

// --jitter: how far small delays of the PEs' starts move the time of a run. What two schedules, machines or
// fidelities differ by is a finding only where it exceeds that.

/// How much later a PE starts in draw number `draw` of a run: uniform in [0, jitter_ns] of its point, by
/// sim.seed; 0 in draw 0, which is the run itself.
[[nodiscard]] sim_time jitter_delay(const prepared_run& run, std::uint64_t draw, pe_coord pe);

/// Simulates draws 1, 2, ... of a run whose point has them, and adds the times of all, the outcome's own
/// among them. An outcome that has not finished stays as it is. The first draw that does not end well gives
/// its status and message. Results that differ between draws get a note.
void add_jitter(const prepared_run& run, const simulator& simulate, run_outcome& o);

/// Median, extremes and spreads of draws; the median of an even number is the mean of the middle two.
/// Precondition: at least one time.
[[nodiscard]] jitter_times summary_of(std::vector<double> times_ns, std::vector<double> delays_ns);

// --explain: where the time of a run above its bound went, learnt by running it on machines that lack one
// cause after the other.

/// Fills o.why. A cause is removed by setting its keys to their least cost (rates: four times). Its share is
/// what its removal alone saves above the bound, less the same amount for all where these savings overlap;
/// what is left then goes to causes that save more when others are removed, too (mean of two orders, the
/// list's and the reverse), and else to the rest. Shares add up to the time and are never negative. With
/// --jitter medians are compared. `o` is the run's own outcome; where a run on another machine does not end
/// well its status and message are returned in it, and nothing is explained.
void add_explanation(const prepared_run& run, const app::registries& tables, const simulator& simulate,
                     run_outcome& o);

}  // namespace diecast::platforms
