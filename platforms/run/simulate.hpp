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
                                        process_group& group, const fabric::sip_partition& partition);

// sim.fidelity = message: a run on the timed mock machine, with the same hosts, firmware and checks.

/// As simulate(). Precondition: check_message_run() has passed.
[[nodiscard]] run_outcome simulate_messages(const prepared_run& run, std::optional<std::uint32_t> only,
                                            std::uint64_t draw);

/// Throws user_error with every setting of the config that transfers as a whole do not show, if the config
/// asks for message fidelity; so does the other for what is run.
void check_message_config(const config::machine_config& config);
void check_message_run(const prepared_run& run);

// Status and message of a run by what ended it, on whatever machine it ran.

/// What ended a run, the path of the block that threw it, and when.
struct thrown_fault {
  std::exception_ptr what;
  std::string instance;
  sim_time at;
};
void take_fault(const prepared_run& run, const thrown_fault& fault, run_outcome& o);

/// How a machine reports a fault, or what it was in when it stopped.
struct end_reports {
  std::function<void()> fault;
  std::function<void(run_status status, const std::string& why)> stop;
};
void conclude(end_of_run end, const prepared_run& run, const host_side& s, sim_time now,
              const end_reports& reports, run_outcome& o);

}  // namespace diecast::platforms
