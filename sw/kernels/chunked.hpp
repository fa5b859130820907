// SPDX-License-Identifier: Apache-2.0
// Any kernel on tensors in HBM.
#pragma once

#include "models/config/machine_config.hpp"
#include "sw/kernels/kernel_table.hpp"

namespace diecast::sw {

class pe_runtime;

/// Where a launch has its tensors: an offset in TCM is no physical address.
[[nodiscard]] constexpr bool lies_in_hbm(const abi::kernel_arguments& launch) {
  return launch.input > abi::max_offset;
}

/// Runs the kernel as the plan of the launch says: on one chunk of the tensors after the other, of which it
/// does not know, or on the tensors where they lie. Precondition: lies_in_hbm.
void run_on_hbm(const kernel_entry& kernel, pe_runtime& runtime, const abi::kernel_arguments& launch,
                config::accumulation mode);

}  // namespace diecast::sw
