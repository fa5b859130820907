// SPDX-License-Identifier: Apache-2.0
// The bandwidths of a collective as nccl-tests defines them.
#pragma once

#include "platforms/run/run_point.hpp"

namespace diecast::platforms {

/// Fills in algbw_gbytes_s, bytes over time, and busbw_gbytes_s, what a link would carry of it
/// (comm::bus_bandwidth_factor). Precondition: collective, ranks, bytes and time are known; a time of 0 has
/// no bandwidth.
void report_bandwidth(run_outcome& outcome);

}  // namespace diecast::platforms
