// SPDX-License-Identifier: Apache-2.0
// The host's side of messages: the rings of unexpected messages and the heaps of the PEs.
#pragma once

#include <cstdint>
#include <span>

#include "models/abi/host_hal.hpp"
#include "models/config/machine_config.hpp"
#include "models/types/ids.hpp"

namespace diecast::sw {

/// Installs the ring and the heap of every PE of the host's SIP that is in `pes`, from `tcm_offset` upwards
/// (messaging_bytes(config.tag_match, pes.size()) bytes). All of `pes` may send to each other. To be called
/// once per machine, before anything is launched.
void install_messaging(abi::host_hal& host, std::span<const pe_coord> pes,
                       const config::machine_config& config, std::uint64_t tcm_offset);

}  // namespace diecast::sw
