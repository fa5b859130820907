// SPDX-License-Identifier: Apache-2.0
// The lower bound of a run and how near it came.
#pragma once

#include <optional>

#include "platforms/run/prepare.hpp"
#include "platforms/run/run_point.hpp"

namespace diecast::platforms {

/// Fills bound_ns, bound_kind and bound_detail from the run's machine, collective, ranks and bytes.
void add_bound(const prepared_run& run, run_outcome& outcome);
/// Fills efficiency, and among the statistics latency_goal_ns (cost::latency_goal_ns); call it when the time
/// and the other statistics are known.
void rate_against_bound(const prepared_run& run, run_outcome& outcome);

/// What one launch is expected to take (sw::run_timed); empty where it is not modelled, or takes too long.
[[nodiscard]] std::optional<double> expected_ns(const prepared_run& run);

// The bandwidths of a collective as nccl-tests defines them.

/// Fills in algbw_gbytes_s, bytes over time, and busbw_gbytes_s, what a link would carry of it
/// (comm::bus_bandwidth_factor). Precondition: collective, ranks, bytes and time are known; a time of 0 has
/// no bandwidth.
void report_bandwidth(run_outcome& outcome);

}  // namespace diecast::platforms
