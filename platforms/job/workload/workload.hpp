// SPDX-License-Identifier: Apache-2.0
// --workload of streams: a file of ops in JSON.
#pragma once

#include "platforms/run/job.hpp"

namespace diecast::platforms {

[[nodiscard]] job_entry workload_job();

}  // namespace diecast::platforms
