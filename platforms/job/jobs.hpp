// SPDX-License-Identifier: Apache-2.0
// The kinds of jobs.
#pragma once

#include "platforms/run/job.hpp"

namespace diecast::platforms {

/// --collective NAME: one of the algorithms of a collective, or the fastest (auto).
[[nodiscard]] job_entry collective_job();
/// --collective barrier: one of the barrier algorithms, on teams of ranks.
[[nodiscard]] job_entry barrier_job();
/// --workload of streams: a file of ops in JSON.
[[nodiscard]] job_entry workload_job();
/// --workload of a collective program: MSCCL XML or an execution plan of MSCCL++.
[[nodiscard]] job_entry program_job();

}  // namespace diecast::platforms
