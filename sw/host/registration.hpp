// SPDX-License-Identifier: Apache-2.0
// The monitor of the registration cache: an agent of the host that watches allocations by leading the entries
// of each PE's dispatch table (models/abi/dispatch_table.hpp) over stubs of its own, once memory is
// registered.
#pragma once

#include <span>

#include "models/abi/host_hal.hpp"
#include "models/config/machine_config.hpp"

namespace diecast::sw {

/// Registers the memory of those of `members` that are of the host's SIP; nothing to do with
/// comm.mr_cache_monitor = disabled. With the fault dispatch_corruption the monitor writes wrong targets.
void register_memory(abi::host_hal& host, const config::machine_config& config,
                     std::span<const pe_coord> members);

}  // namespace diecast::sw
