// SPDX-License-Identifier: Apache-2.0
// Elaborates the machine in this process and runs one prepared run to its end.
#pragma once

#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// Call once per process (SystemC elaborates once). Never throws for what the simulated machine
/// does: that is in the outcome's status and message.
/// `only`: of a workload, the one stream to run. `draw`: of --jitter; 0: the run itself.
[[nodiscard]] run_outcome simulate(const prepared_run& run, const app::registries& tables,
                                   std::optional<std::uint32_t> only = {}, std::uint64_t draw = 0);

}  // namespace diecast::platforms
