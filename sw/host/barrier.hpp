// SPDX-License-Identifier: Apache-2.0
// The host's side of barriers: the flags in global memory before the first launch, and the tables from
// which a PE knows its rank and team.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "models/abi/host_hal.hpp"
#include "models/abi/launch.hpp"
#include "models/comm/sync_layout.hpp"
#include "sw/kernels/kernel_table.hpp"

namespace diecast::sw {

/// kernel_arguments::extra of a barrier kernel. The tables lie at kernel_arguments::scratch.
enum barrier_argument : std::size_t {
  barrier_cores,  ///< of this PE's rank
  barrier_core,   ///< which of them this PE is
  barrier_ranks,
  barrier_rank,  ///< of this PE, within the team
  barrier_slot,  ///< of the team
  barrier_radix,
  barrier_poll_cycles,
  barrier_repeats,  ///< barriers in one launch
  barrier_skew,     ///< most cycles of work before a barrier
  barrier_seed,     ///< of the draw
  barrier_alike     ///< 1: the cores of all ranks lie alike (rank_cores::alike)
};

/// Words at the start of a PE's scratch: the count of its core barriers, then for every core of its rank
/// and every rank of its team the home region and the PE (abi::pack_peer).
inline constexpr std::uint64_t barrier_counter_word = 0;
inline constexpr std::uint64_t barrier_tables = 64;
inline constexpr std::uint64_t barrier_entry_bytes = 16;
[[nodiscard]] std::uint64_t barrier_scratch_bytes(const argument_context& launch);

/// Fills extra of member `index` of a group made by comm::barrier_members.
void fill_barrier_arguments(const argument_context& launch, std::uint32_t index,
                            abi::kernel_arguments& arguments);

/// Slots of a team's words in the home regions of its members.
struct barrier_slots {
  std::uint32_t team{};  ///< flags and counter; also kernel_arguments::extra[barrier_slot]
  /// Flags of the core barrier, where the cores are in barriers of several teams at a time; empty: those at
  /// the start of the home region.
  std::optional<std::uint32_t> cores{};
};

/// Before the first launch of a machine with a single team: clear_team_tables, then prepare_team.
void prepare_barrier(abi::host_hal& host, const argument_context& launch,
                     std::span<const abi::kernel_arguments> arguments);

/// No slot of the PEs of the host's SIP is taken. Once, before any team is prepared.
void clear_team_tables(abi::host_hal& host, const config::machine_config& config,
                       std::span<const pe_coord> pes);
/// Writes, for the members of the host's SIP and by the backdoor: tables, counters and flags
/// (ccl.barrier_start), and the slots as taken. Before the first launch.
void prepare_team(abi::host_hal& host, const argument_context& launch,
                  std::span<const abi::kernel_arguments> arguments, const barrier_slots& slots);

}  // namespace diecast::sw
