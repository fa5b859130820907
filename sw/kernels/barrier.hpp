// SPDX-License-Identifier: Apache-2.0
// A PE's part in barriers, from what its launch and the tables in its TCM say.
#pragma once

#include <vector>

#include "sw/host/barrier.hpp"
#include "sw/runtime/barriers.hpp"

namespace diecast::sw {

/// Everything firmware needs for barriers. Not movable: its parts refer to each other.
struct barrier_runtime {
  /// Reads the tables and the errata register. Pauses between looks.
  barrier_runtime(abi::hal& hal, const abi::kernel_arguments& arguments);
  /// The same on a PE with more to do than to wait.
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
