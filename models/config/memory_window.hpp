// SPDX-License-Identifier: Apache-2.0
// How many transactions the network interface of a memory has in flight.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/config/machine_config.hpp"

namespace diecast::config {

inline constexpr std::uint64_t least_memory_window = 64;

/// Window of an HBM port: the queue of the simple model can be filled, whatever its size. The controller
/// counts in bursts and holds requests back itself.
[[nodiscard]] inline std::uint64_t hbm_window(const hbm_block& hbm) {
  return hbm.model == hbm_model::simple ? std::max(least_memory_window, hbm.queue) : least_memory_window;
}

}  // namespace diecast::config
