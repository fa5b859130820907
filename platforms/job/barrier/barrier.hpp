// SPDX-License-Identifier: Apache-2.0
// --collective barrier: one of the barrier algorithms, on teams of ranks.
#pragma once

#include "platforms/run/job.hpp"

namespace diecast::platforms {

[[nodiscard]] job_entry barrier_job();

}  // namespace diecast::platforms
