// SPDX-License-Identifier: Apache-2.0
// Runs one job on several processes: starts the launcher, hands the job to process 0, takes its result.
#pragma once

#include <memory>
#include <string>

#include "models/fabric/sip_partition.hpp"
#include "platforms/run/prepare.hpp"

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

// A prepared run as one text, from which another process prepares the same run without opening any file.

/// `machine`: what the run was prepared on. Every input that was read goes along.
[[nodiscard]] std::string job_document(const machine_model& machine, const prepared_run& run,
                                       const fabric::sip_partition& partition);

/// The job of a document. Inputs of this process are those of the document from then on.
struct received_job {
  received_job(const std::string& document, const app::registries& tables);

  std::unique_ptr<machine_model> machine;
  std::unique_ptr<prepared_run> run;
  fabric::sip_partition partition;
};

}  // namespace diecast::platforms
