// SPDX-License-Identifier: Apache-2.0
// Elaborates the machine in this process and runs one prepared run to its end.
#pragma once

#include "models/fabric/sip_partition.hpp"
#include "platforms/run/prepare.hpp"
#include "platforms/run/process_group.hpp"

namespace diecast::platforms {

/// Call once per process (SystemC elaborates once). Never throws for what the simulated machine
/// does: that is in the outcome's status and message.
/// `only`: of a workload, the one stream to run. `draw`: of --jitter; 0: the run itself.
[[nodiscard]] run_outcome simulate(const prepared_run& run, const app::registries& tables,
                                   std::optional<std::uint32_t> only = {}, std::uint64_t draw = 0);
/// The part of this process in a run of several; the outcome of the process with number 0 is that of the run.
[[nodiscard]] run_outcome simulate_part(const prepared_run& run, const app::registries& tables,
                                        process_group& group, const fabric::sip_partition& partition);

}  // namespace diecast::platforms
