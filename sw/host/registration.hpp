// SPDX-License-Identifier: Apache-2.0
// What the host writes once, before the first launch: defects of the firmware as bits of the PEs' errata
// registers, and their dispatch tables.
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

// The monitor of the registration cache: an agent of the host that watches allocations by leading the entries
// of each PE's dispatch table (models/abi/dispatch_table.hpp) over stubs of its own, once memory is
// registered.

/// Registers the memory of those of `members` that are of the host's SIP; nothing to do with
/// comm.mr_cache_monitor = disabled. With the fault dispatch_corruption the monitor writes wrong targets.
void register_memory(abi::host_hal& host, const config::machine_config& config,
                     std::span<const pe_coord> members);

}  // namespace diecast::sw
