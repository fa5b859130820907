// SPDX-License-Identifier: Apache-2.0
// What follows from a launch and kernels ask for time and again: found out once for each argument_context,
// which keeps it.
#pragma once

#include <cstdint>
#include <vector>

#include "sw/kernels/kernel_table.hpp"

namespace diecast::comm {
struct member_levels;  // models/comm/member_levels.hpp
class rank_cores;      // models/comm/sync_layout.hpp
}  // namespace diecast::comm

namespace diecast::sw {

/// Bytes of one rank's vector.
[[nodiscard]] std::uint64_t vector_bytes(const argument_context& c);
/// Positions on comm::ring_order of the group, by rank.
[[nodiscard]] const std::vector<std::uint32_t>& ring_positions(const argument_context& c);
/// Position of one of them.
[[nodiscard]] std::uint32_t ring_position(const argument_context& c, std::uint32_t rank);
/// The members as rows and columns. Throws user_error when they do not fill a rectangle.
[[nodiscard]] const comm::rank_grid& grid_of(const argument_context& c);
/// The launch's members by cube and SIP.
[[nodiscard]] const comm::member_levels& levels_of(const argument_context& c);
/// The memory channels of the launch's machine: telling them from overrides takes a look at every channel.
[[nodiscard]] const config::memory_channels& channels_of(const argument_context& launch);
/// PEs of a barrier's group that arrive as one rank.
[[nodiscard]] const comm::rank_cores& rank_cores_of(const argument_context& launch);

}  // namespace diecast::sw
