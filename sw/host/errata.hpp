// SPDX-License-Identifier: Apache-2.0
// Defects of the firmware as bits of the PEs' errata registers.
#pragma once

#include <span>

#include "models/abi/errata.hpp"
#include "models/abi/host_hal.hpp"
#include "models/config/machine_config.hpp"

namespace diecast::sw {

/// Writes, by the backdoor, the errata registers of those `members` that are in the host's SIP: what the
/// config's faults say of each, and the bits that all were `asked` for (ccl.errata). PEs without any keep
/// their reset value. Once, before the first launch: nothing else writes them.
void set_errata(abi::host_hal& host, const config::machine_config& config, std::span<const pe_coord> members,
                abi::errata_word asked = {});

}  // namespace diecast::sw
