// SPDX-License-Identifier: Apache-2.0
// The host's side of barriers: the flags in global memory before the first launch, and the tables from
// which a PE knows its rank and team.
#pragma once

#include <cstdint>
#include <span>

#include "models/abi/errata.hpp"
#include "models/abi/host_hal.hpp"
#include "models/abi/launch.hpp"
#include "models/comm/sync_layout.hpp"
#include "sw/kernels/kernel_table.hpp"

namespace diecast::sw {

/// kernel_arguments::extra of a barrier kernel. The tables lie at kernel_arguments::scratch.
enum barrier_argument : std::size_t {
  barrier_cores,  ///< of each rank
  barrier_core,   ///< which of them this PE is
  barrier_ranks,
  barrier_rank,  ///< of this PE, within the team
  barrier_slot,  ///< of the team
  barrier_radix,
  barrier_poll_cycles,
  barrier_repeats,  ///< barriers in one launch
  barrier_skew,     ///< most cycles of work before a barrier
  barrier_seed      ///< of the draw
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

/// Writes, for the members of the host's SIP and by the backdoor: tables, counters and flags
/// (ccl.barrier_start), the team's slot as taken, and the errata register. Before the first launch.
void prepare_barrier(abi::host_hal& host, const argument_context& launch,
                     std::span<const abi::kernel_arguments> arguments, abi::errata_word errata);

}  // namespace diecast::sw
