// SPDX-License-Identifier: Apache-2.0
// A PE's part in barriers, from what its launch and the tables in its TCM say.
#pragma once

#include <cstdint>
#include <vector>

#include "models/abi/launch.hpp"
#include "sw/kernels/kernel_table.hpp"
#include "sw/runtime/barriers.hpp"

namespace diecast::sw {

/// kernel_arguments::extra of a barrier kernel. The tables lie at kernel_arguments::scratch.
enum barrier_argument : std::size_t {
  barrier_cores,  ///< cores of this PE's rank
  barrier_core,   ///< which of them this PE is
  barrier_ranks,
  barrier_rank,  ///< rank of this PE within the team
  barrier_slot,  ///< slot of the team
  barrier_radix,
  barrier_pollers,
  barrier_poll_cycles,
  barrier_repeats,  ///< barriers in one launch
  barrier_skew,     ///< most cycles of work before a barrier
  barrier_seed,     ///< seed of the draw
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

/// Everything firmware needs for barriers. Not movable: its parts refer to each other.
struct barrier_runtime {
  /// Reads the tables and the errata register. Pauses between looks.
  barrier_runtime(abi::hal& hal, const abi::kernel_arguments& arguments);
  /// For a PE with other work: `idle` runs between two polls.
  barrier_runtime(abi::hal& hal, const abi::kernel_arguments& arguments, signal_port::between_looks idle);
  barrier_runtime(const barrier_runtime&) = delete;
  barrier_runtime& operator=(const barrier_runtime&) = delete;

  signal_port signals;
  std::vector<sync_peer> peers;  ///< the cores, then the ranks
  core_group cores;
  rank_barriers barriers;
  team world;  ///< the team of the launch
};

[[nodiscard]] kernel_entry centralized_pull_entry();
[[nodiscard]] kernel_entry dissemination_entry();
[[nodiscard]] kernel_entry group_dissemination_entry();

}  // namespace diecast::sw
