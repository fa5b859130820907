// SPDX-License-Identifier: Apache-2.0
// The longest bounded operation between two events that the watchdog counts: its time must be longer than
// that.
#pragma once

#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"
#include "models/types/time.hpp"

namespace diecast::fabric {

/// A packet of full length over the slowest link between dies or packages, and behind it, one after the
/// other, host memory where packets are staged there, a crossing of a router, its unit of a tree and its
/// interfaces, all stages of a DMA engine, its checksum at both ends, an IPCQ and a PE, an access to the
/// SRAM, and one to the HBM: a full queue of the memory controller through one bank with a refresh in
/// between, or what the simple model takes. Overrides of links count.
[[nodiscard]] sim_time longest_step(const topology& t, const config::machine_config& c);

}  // namespace diecast::fabric
