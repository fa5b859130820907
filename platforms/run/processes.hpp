// SPDX-License-Identifier: Apache-2.0
// Runs one job on several processes: starts the launcher, gives the job to process 0, returns its result.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

/// Throws user_error when the program that simulates a part is not installed, or when this run needs a
/// feature that several processes do not have.
void check_processes(const prepared_run& run, const process_options& options);
/// Throws output_error where Open MPI's launcher has no room for the files that its processes share, 8.2 MiB
/// for 2 to 16 of them: it hangs then, and not even signals end it.
void check_room(const process_options& options);

/// Call in a process of its own (run_in_child): it waits for the job. The outcome reports and names a process
/// that fails.
[[nodiscard]] run_outcome run_on_processes(const prepared_run& run, const process_options& options,
                                           std::optional<std::uint32_t> only, std::uint64_t draw);

/// A job as another process of the same program prepares it, without opening any file.
struct process_job {
  fabric::sip_partition partition;
  std::optional<std::uint32_t> only;  ///< stream to run, as in simulator
  std::uint64_t draw{};
  std::string config;  ///< effective, of what the run was prepared on
  run_point point;
  std::vector<std::vector<std::string>> inputs;  ///< reader, path and text of every file that was read
  DIECAST_MEMBERS(partition, only, draw, config, point, inputs)
};

/// The job of an archive. Inputs of this process are those of the job from then on.
struct received_job : process_job {
  received_job(const std::string& archive, const app::registries& tables);

  std::unique_ptr<machine_model> machine;
  std::unique_ptr<prepared_run> run;
};

}  // namespace diecast::platforms
