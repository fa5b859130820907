// SPDX-License-Identifier: Apache-2.0
// The built-in algorithms: kernels, a table for each file of them, patterns, a table for each folder, and
// what kernels use repeatedly.
#pragma once

#include <cstdint>
#include <vector>

#include "models/abi/address.hpp"
#include "sw/collectives/base/kernel_table.hpp"

namespace diecast::comm {
struct member_levels;  // sw/collectives/base/member_levels.hpp
class rank_grid;       // sw/collectives/base/member_levels.hpp
class rank_cores;      // models/comm/sync_layout.hpp
}  // namespace diecast::comm

namespace diecast::sw {

[[nodiscard]] kernel_table ring_kernels();
[[nodiscard]] kernel_table intercube_kernels();
[[nodiscard]] kernel_table grid_kernels();
[[nodiscard]] kernel_table tree_kernels();
[[nodiscard]] kernel_table partners_kernels();
[[nodiscard]] kernel_table direct_kernels();
[[nodiscard]] kernel_table block_exchange_kernels();
[[nodiscard]] kernel_table two_level_kernels();
[[nodiscard]] kernel_table three_level_kernels();
[[nodiscard]] kernel_table rooted_kernels();
[[nodiscard]] kernel_table packed_tree_kernels();
[[nodiscard]] kernel_table in_network_kernels();
[[nodiscard]] kernel_table packed_route_kernels();
[[nodiscard]] kernel_table all_to_all_kernels();
[[nodiscard]] kernel_table all_to_all_steps_kernels();
[[nodiscard]] kernel_table all_to_all_lines_kernels();
[[nodiscard]] kernel_table barrier_kernels();

[[nodiscard]] pattern_table ring_patterns();
[[nodiscard]] pattern_table level_patterns();
[[nodiscard]] pattern_table tree_patterns();
[[nodiscard]] pattern_table partner_patterns();
[[nodiscard]] pattern_table exchange_patterns();
[[nodiscard]] pattern_table in_network_patterns();
[[nodiscard]] pattern_table barrier_patterns();

/// rank_sets of a kernel that runs on any, each PE a rank by default, and of those that run on some only.
inline const std::vector<comm::rank_set> any_ranks{comm::rank_set::pe, comm::rank_set::cube,
                                                   comm::rank_set::sip};
inline const std::vector<comm::rank_set> pe_ranks{comm::rank_set::pe}, cube_ranks{comm::rank_set::cube};

// Values that follow from a launch, computed once for each argument_context and kept there.

/// Positions on comm::ring_order of the group, by rank.
[[nodiscard]] const std::vector<std::uint32_t>& ring_positions(const argument_context& c);
/// The members as rows and columns. Throws user_error when they do not fill a rectangle.
[[nodiscard]] const comm::rank_grid& grid_of(const argument_context& c);
/// The launch's members by cube and SIP.
[[nodiscard]] const comm::member_levels& levels_of(const argument_context& c);
/// The memory channels of the launch's machine: finding them from the overrides takes a check of every
/// channel.
[[nodiscard]] const config::memory_channels& channels_of(const argument_context& launch);
/// PEs of a barrier's group that arrive as one rank.
[[nodiscard]] const comm::rank_cores& rank_cores_of(const argument_context& launch);

/// Ranks of the launch.
[[nodiscard]] inline std::uint32_t ranks_of(const argument_context& c) {
  return static_cast<std::uint32_t>(c.members.members.size());
}
/// Bytes of one rank's vector.
[[nodiscard]] inline std::uint64_t vector_bytes(const argument_context& c) {
  return c.count * numeric::size_of(c.type);
}
/// scratch_bytes of a kernel that needs none, and of one that keeps two vectors there alternately.
[[nodiscard]] inline std::uint64_t without_scratch(const argument_context&) { return 0; }
[[nodiscard]] inline std::uint64_t two_tiles(const argument_context& c) {
  return 2 * abi::aligned(vector_bytes(c));
}

}  // namespace diecast::sw
