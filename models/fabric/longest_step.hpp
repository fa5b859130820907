// SPDX-License-Identifier: Apache-2.0
// The longest bounded operation between two events that the watchdog counts: sim.watchdog_us must be longer.
#pragma once

#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"
#include "models/types/time.hpp"

namespace diecast::fabric {

/// The sum of: a packet of full length over the slowest link between dies or packages; host memory where
/// packets are staged there; a crossing of a router, its tree unit and its interfaces; all stages of a DMA
/// engine, its checksum at both ends, an IPCQ engine and a PE; an access to the SRAM; and one to the HBM: a
/// full queue of the controller in one bank with a refresh, or the time of the simple model. Considers
/// overrides of links.
[[nodiscard]] sim_time longest_step(const topology& t, const config::machine_config& c);

}  // namespace diecast::fabric
