// SPDX-License-Identifier: Apache-2.0
// The energy account of a run, from the counters of all instances.
#pragma once

#include "platforms/netlist/pod.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// Fills outcome.energy: "<part>_pj", "total_pj", "per_launch_pj" and, where vectors are reduced,
/// "pj_per_bit_reduced". Precondition: outcome.links is filled.
void collect_energy(const prepared_run& run, netlist::pod& pod, std::uint64_t launches, run_outcome& outcome);

}  // namespace diecast::platforms
