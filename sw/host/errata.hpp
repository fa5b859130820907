// SPDX-License-Identifier: Apache-2.0
// Defects of the firmware as bits of the PEs' errata registers.
#pragma once

#include <cstdint>
#include <vector>

#include "models/abi/host_hal.hpp"
#include "models/config/machine_config.hpp"

namespace diecast::platforms {

/// Writes, by the backdoor, what the config's faults say of those `members` that are in the host's SIP, with
/// the bits `asked` for beside it. PEs without any keep their reset value.
void set_errata(abi::host_hal& host, const config::machine_config& config,
                const std::vector<pe_coord>& members, std::uint64_t asked = 0);

}  // namespace diecast::platforms
