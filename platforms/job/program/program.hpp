// SPDX-License-Identifier: Apache-2.0
// --workload of a collective program: MSCCL XML or an execution plan of MSCCL++.
#pragma once

#include "platforms/run/job.hpp"

namespace diecast::platforms {

[[nodiscard]] job_entry program_job();

}  // namespace diecast::platforms
