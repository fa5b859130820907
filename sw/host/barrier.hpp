// SPDX-License-Identifier: Apache-2.0
// The host's side of barriers: the flags in global memory before the first launch, and the tables from
// which a PE knows its rank and team.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "models/abi/hal.hpp"
#include "models/abi/launch.hpp"
#include "sw/collectives/barrier/barrier.hpp"

namespace diecast::sw {

/// Slots of a team's words in the home regions of its members.
struct barrier_slots {
  std::uint32_t team{};  ///< flags and counter; also barrier_parameters::slot
  /// Flags of the core barrier, where the cores are in barriers of several teams at a time; empty: those at
  /// the start of the home region.
  std::optional<std::uint32_t> cores{};
};

/// clear_team_tables, then prepare_team, for a machine with a single team; called before the first launch.
void prepare_barrier(abi::host_hal& host, const argument_context& launch,
                     std::span<const abi::kernel_arguments> arguments);

/// Marks all team slots of the PEs of the host's SIP as free. Called once, before any team is prepared.
void clear_team_tables(abi::host_hal& host, const config::machine_config& config,
                       std::span<const pe_coord> pes);
/// Clears flags and counters of the first slots of those PEs: teams that firmware makes there read whole
/// lines before they have written all words.
void clear_team_slots(abi::host_hal& host, const config::machine_config& config,
                      std::span<const pe_coord> pes, std::uint32_t slots);
/// Writes, for the members of the host's SIP and by the backdoor: tables, counters and flags
/// (ccl.barrier_start), and the slots as taken. Before the first launch.
void prepare_team(abi::host_hal& host, const argument_context& launch,
                  std::span<const abi::kernel_arguments> arguments, const barrier_slots& slots);

}  // namespace diecast::sw
