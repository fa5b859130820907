// SPDX-License-Identifier: Apache-2.0
// A PE's part in barriers, from what its launch and the tables in its TCM say.
#pragma once

#include <cstdint>
#include <vector>

#include "models/abi/launch.hpp"
#include "sw/collectives/base/kernel_table.hpp"
#include "sw/runtime/barriers.hpp"

namespace diecast::sw {

/// Parameters of a barrier kernel. The tables lie at kernel_arguments::scratch.
struct barrier_parameters {
  std::uint32_t cores{};  ///< cores of this PE's rank
  std::uint32_t core{};   ///< index of this PE among the cores
  std::uint32_t ranks{};
  std::uint32_t rank{};  ///< rank of this PE within the team
  std::uint32_t slot{};  ///< slot of the team
  std::uint32_t radix{}, pollers{};
  std::uint32_t alike{};  ///< 1: the cores of all ranks lie alike (rank_cores::alike)
  std::uint64_t poll_cycles{};
  std::uint64_t repeats{};  ///< barriers in one launch
  std::uint64_t skew{};     ///< most cycles of work before a barrier
  std::uint64_t seed{};     ///< seed of the draw
};

/// Words at the start of a PE's scratch: the count of its core barriers, then for every core of its rank
/// and every rank of its team the home region and the PE (abi::pack_peer).
inline constexpr std::uint64_t barrier_counter_word = 0;
inline constexpr std::uint64_t barrier_tables = 64;
inline constexpr std::uint64_t barrier_entry_bytes = 16;
[[nodiscard]] std::uint64_t barrier_scratch_bytes(const argument_context& launch);

/// Fills the parameters of member `index` of a group made by comm::barrier_members.
void fill_barrier_arguments(const argument_context& launch, std::uint32_t index,
                            abi::kernel_arguments& arguments, std::uint32_t slot = 0);

/// Everything firmware needs for barriers. Not movable: its parts refer to each other.
struct barrier_runtime {
  /// Reads the tables and the errata register. Pauses between polls.
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

}  // namespace diecast::sw
