// SPDX-License-Identifier: Apache-2.0
// From a logical pattern (a flat list of PE-level edges) to the contents of every queue pair's
// registers, with the invariants of the plan proven.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/abi/address.hpp"
#include "models/config/machine_config.hpp"
#include "models/types/ids.hpp"

namespace diecast::comm {

/// A direction is the index of a queue pair within its PE. The first eleven have names of their
/// own; a pattern may define more (MSCCL channels do).
using direction = std::uint16_t;
inline constexpr direction north = 0, south = 1, east = 2, west = 3;
inline constexpr direction global_north = 4, global_south = 5, global_east = 6, global_west = 7;
inline constexpr direction parent = 8, child_left = 9, child_right = 10;
inline constexpr direction first_custom = 11;
/// "N", "global_E", "child_left", or "custom11".
[[nodiscard]] std::string direction_name(direction d);
/// The opposite of a compass direction; the same direction for the others.
[[nodiscard]] direction opposite(direction d);

/// One edge of a pattern, seen from `from`.
struct edge {
  pe_coord from;
  direction dir{};
  pe_coord to;
  bool bidirectional{true};  ///< false: from transmits, to receives
  /// Direction at `to` that pairs with this one; only for one-way edges and custom patterns that
  /// know it. Otherwise reverse_direction finds it.
  std::int32_t reverse{-1};
};

/// Where a receive ring lives and what one half or both halves of a queue pair hold.
struct queue_pair_install {
  pe_coord owner;
  direction dir{};
  bool tx{}, rx{};
  pe_coord peer;
  abi::address rx_base{};        ///< 0 when rx is false
  abi::address peer_rx_base{};   ///< 0 when tx is false
  abi::address peer_ipcq{};
};

struct install_plan {
  std::uint32_t n_slots{};
  std::uint32_t slot_bytes{};
  std::vector<queue_pair_install> queue_pairs;  ///< ordered by owner, then direction
};

/// TCM use of a PE: rings from the top of TCM downwards, tensors from the bottom up.
struct plan_options {
  config::buffer_kind rings{config::buffer_kind::tcm};
  std::uint32_t n_slots{};
  std::uint32_t slot_bytes{};
  std::uint32_t queue_pairs{};        ///< per PE
  std::uint64_t tcm_bytes{};          ///< per PE
  std::uint64_t tcm_reserved_bytes{}; ///< per PE, for tensors, scratch and programs
  std::uint64_t sram_bytes{};         ///< per cube
  std::uint64_t hbm_port_bytes{};     ///< per HBM port
  std::uint32_t hbm_ports{};          ///< per cube
  std::uint32_t pes_per_cube{};
};
[[nodiscard]] plan_options options_from(const config::machine_config& c, std::uint64_t tcm_reserved_bytes);

/// Pairs directions (opposite preferred, seed D1), places rings and proves the plan: I3 (distinct
/// slots on both sides of each pair), I3.1 (rx ranges disjoint over the pod), rings fit, directions
/// below ipcq.queue_pairs. O(M log M). Throws user_error with every violation.
[[nodiscard]] install_plan build_install_plan(const std::vector<edge>& edges, const plan_options& options);

/// Proves I3 and I3.1 of a plan however it was made; throws user_error naming both owners.
void prove_install_plan(const install_plan& plan);

[[nodiscard]] std::string to_text(const install_plan& plan);

}  // namespace diecast::comm
