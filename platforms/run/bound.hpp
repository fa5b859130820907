// SPDX-License-Identifier: Apache-2.0
// The lower bound of a run and how near it came.
#pragma once

#include "platforms/run/prepare.hpp"
#include "platforms/run/run_point.hpp"

namespace diecast::platforms {

/// Fills bound_ns, bound_kind and bound_detail from the run's machine, collective, ranks and bytes.
void add_bound(const prepared_run& run, run_outcome& outcome);
/// Fills efficiency; call it when the time is known.
void rate_against_bound(run_outcome& outcome);

}  // namespace diecast::platforms
