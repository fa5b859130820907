// SPDX-License-Identifier: Apache-2.0
// What became of the faults that were asked for: a fault that nothing met says nothing about the machine.
#pragma once

#include "platforms/netlist/pod.hpp"
#include "platforms/run/prepare.hpp"
#include "platforms/run/process_group.hpp"
#include "platforms/run/run_point.hpp"

namespace diecast::platforms {

/// One row for every entry of `faults`, in their order. `group`: of the processes that simulate the other
/// SIPs; null when this one has all.
[[nodiscard]] std::vector<fault_row> fault_rows(const prepared_run& run, netlist::pod& pod,
                                                process_group* group);

/// "faults[0] (dead_pe at pod.sip0.cube_0_0.pe1) was not met: ..."
[[nodiscard]] std::string to_text(const fault_row& row);

}  // namespace diecast::platforms
