// SPDX-License-Identifier: Apache-2.0
// The entries of the built-in kernels; each is defined in the file of its algorithm.
#pragma once

#include <vector>

#include "models/abi/alignment.hpp"
#include "sw/kernels/kernel_table.hpp"
#include "sw/kernels/launch_facts.hpp"

namespace diecast::sw {

[[nodiscard]] kernel_entry ring_1d_entry();
[[nodiscard]] kernel_entry ring_1d_unidir_entry();
[[nodiscard]] kernel_entry ring_full_tile_entry();
[[nodiscard]] kernel_entry intercube_entry();
[[nodiscard]] kernel_entry intercube_pipelined_entry();
[[nodiscard]] kernel_entry mesh_2d_entry();
[[nodiscard]] kernel_entry torus_2d_entry();
[[nodiscard]] kernel_entry tree_binary_entry();
[[nodiscard]] kernel_entry double_binary_tree_entry();
[[nodiscard]] kernel_entry p2p_tree_entry();
[[nodiscard]] kernel_entry hierarchical_3level_entry();
[[nodiscard]] kernel_entry hierarchical_pipelined_entry();
[[nodiscard]] kernel_entry recursive_doubling_entry();
[[nodiscard]] kernel_entry rabenseifner_entry();
[[nodiscard]] kernel_entry swing_entry();
[[nodiscard]] kernel_entry direct_one_shot_entry();
[[nodiscard]] kernel_entry direct_two_shot_entry();

/// rank_sets of a kernel that runs on any, each PE a rank by default.
inline const std::vector<comm::rank_set> any_ranks{comm::rank_set::pe, comm::rank_set::cube,
                                                   comm::rank_set::sip};

/// scratch_bytes of a kernel that needs none.
[[nodiscard]] inline std::uint64_t without_scratch(const argument_context&) { return 0; }
[[nodiscard]] kernel_entry reduce_scatter_ring_entry();
[[nodiscard]] kernel_entry reduce_scatter_halving_entry();
[[nodiscard]] kernel_entry reduce_scatter_pairwise_entry();
[[nodiscard]] kernel_entry all_reduce_two_level_entry();
[[nodiscard]] kernel_entry all_reduce_three_level_entry();
[[nodiscard]] kernel_entry all_reduce_in_network_entry();
[[nodiscard]] kernel_entry all_reduce_packed_entry();
[[nodiscard]] kernel_entry reduce_scatter_two_level_entry();
[[nodiscard]] kernel_entry reduce_scatter_three_level_entry();
[[nodiscard]] kernel_entry reduce_scatter_routes_entry();
[[nodiscard]] kernel_entry all_gather_ring_entry();
[[nodiscard]] kernel_entry all_gather_steps_entry();
[[nodiscard]] kernel_entry all_reduce_steps_entry();
[[nodiscard]] kernel_entry reduce_scatter_steps_entry();
[[nodiscard]] kernel_entry all_gather_bruck_entry();
[[nodiscard]] kernel_entry all_gather_two_level_entry();
[[nodiscard]] kernel_entry all_gather_three_level_entry();
[[nodiscard]] kernel_entry all_gather_routes_entry();
[[nodiscard]] kernel_entry broadcast_ring_entry();
[[nodiscard]] kernel_entry broadcast_binomial_entry();
[[nodiscard]] kernel_entry broadcast_trees_entry();
[[nodiscard]] kernel_entry broadcast_packed_entry();
[[nodiscard]] kernel_entry broadcast_multicast_entry();
[[nodiscard]] kernel_entry reduce_ring_entry();
[[nodiscard]] kernel_entry reduce_binomial_entry();
[[nodiscard]] kernel_entry reduce_packed_entry();
[[nodiscard]] kernel_entry reduce_in_network_entry();
[[nodiscard]] kernel_entry all_to_all_bruck_entry();
[[nodiscard]] kernel_entry all_to_all_pairwise_entry();
[[nodiscard]] kernel_entry all_to_all_direct_entry();
[[nodiscard]] kernel_entry all_to_all_two_level_entry();
[[nodiscard]] kernel_entry all_to_all_lines_entry();
[[nodiscard]] kernel_entry all_to_all_steps_entry();
[[nodiscard]] kernel_entry gather_binomial_entry();
[[nodiscard]] kernel_entry gather_linear_entry();
[[nodiscard]] kernel_entry gather_routes_entry();
[[nodiscard]] kernel_entry scatter_binomial_entry();
[[nodiscard]] kernel_entry scatter_linear_entry();
[[nodiscard]] kernel_entry scatter_routes_entry();
[[nodiscard]] kernel_entry send_recv_direct_entry();
[[nodiscard]] kernel_entry send_recv_ring_entry();

/// scratch_bytes of a kernel that keeps two vectors there by turns.
[[nodiscard]] inline std::uint64_t two_tiles(const argument_context& c) {
  return 2 * abi::aligned(vector_bytes(c));
}

}  // namespace diecast::sw
