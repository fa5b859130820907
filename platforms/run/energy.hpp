// SPDX-License-Identifier: Apache-2.0
// The energy account of a run, from the counters of all instances.
#pragma once

#include "models/cost/energy.hpp"
#include "platforms/netlist/pod.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// What the cubes of this process did; links are counted elsewhere.
void collect_activity(const prepared_run& run, netlist::pod& pod, cost::activity& activity);
/// Fills outcome.energy: "<part>_pj", "total_pj", "per_launch_pj" and, where vectors are reduced,
/// "pj_per_bit_reduced". `activity`: of all cubes. Precondition: outcome.links is filled.
void report_energy(const prepared_run& run, cost::activity activity, std::uint64_t launches,
                   run_outcome& outcome);

}  // namespace diecast::platforms
