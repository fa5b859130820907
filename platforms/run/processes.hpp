// SPDX-License-Identifier: Apache-2.0
// Runs one job on several processes: starts the launcher, hands the job to process 0, takes its result.
#pragma once

#include <string>

#include "platforms/run/job_document.hpp"

namespace diecast::platforms {

struct process_options {
  std::uint32_t processes{1};
  std::string partition{"auto"};
  std::string launcher;  ///< command with {n} for the number of processes; empty: Open MPI on this host
};

/// The file name of the program that simulates a part.
inline constexpr const char* worker_name = "diecast-worker";

/// Throws user_error when the program that simulates a part is not installed, or when this run has what is
/// not known to several processes.
void check_processes(const prepared_run& run, const process_options& options);

/// Call in a process of its own (run_in_child): it waits for the job. What goes wrong with a process is in
/// the outcome, which names it.
[[nodiscard]] run_outcome run_on_processes(const machine_model& machine, const prepared_run& run,
                                           const process_options& options);

}  // namespace diecast::platforms
