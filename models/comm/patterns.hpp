// SPDX-License-Identifier: Apache-2.0
// Logical patterns: which PEs talk to which, in which direction. Every pattern is one flat list of
// PE-level edges.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "models/config/ccl_tables.hpp"
#include "models/config/machine_config.hpp"
#include "models/config/population.hpp"
#include "models/types/ids.hpp"

namespace diecast::comm {

enum class rank_set : std::uint8_t { pe, cube, sip };
[[nodiscard]] const char* to_string(rank_set r);

/// Members of a collective in rank order.
struct group {
  rank_set set{rank_set::pe};
  std::vector<pe_coord> members;
};

/// all_pes, cube_leaders (the first PE of each cube: pe0, unless an override leaves it out) or leader_only
/// (the first PE of each SIP). Cubes and SIPs without a PE have no rank.
[[nodiscard]] group map_ranks(const config::population& machine, rank_set set);
/// Who leads in another's place: one line for each cube or SIP of the set whose leader is not its pe0.
[[nodiscard]] std::vector<std::string> replaced_leaders(const config::population& machine, const group& g);

/// Order in which a ring visits the members: SIPs in order, cubes of a SIP in a boustrophedon so
/// that neighbors on the ring are neighbors on the mesh, PEs in order. Result: ranks.
[[nodiscard]] std::vector<std::uint32_t> ring_order(const machine_shape& shape, const group& g);

/// The cubes of a SIP in that order.
[[nodiscard]] std::vector<cube_id> cube_ring(const machine_shape& shape);

/// Cube that holds the root of the intercube all-reduce: corner (w-1, h-1), center (w/2, h/2).
[[nodiscard]] cube_id root_cube(const machine_shape& shape, config::root_place place);

struct pattern_context {
  const config::machine_config& config;
  machine_shape shape;
  const group& members;
  std::uint32_t root{};       ///< rank, of rooted patterns (star)
  bool shares_queue_pairs{};  ///< other patterns need queue pairs of the same PEs (operations of a workload)
};
/// The context's root. Throws user_error (ccl.root_rank) when the group has no such rank.
[[nodiscard]] std::uint32_t root_of(const pattern_context& c);
using pattern_fn = std::function<std::vector<edge>(const pattern_context&)>;

struct pattern_entry {
  std::string name;
  std::string description;
  pattern_fn build;
  /// Names of the directions from first_custom on, for dumps and reports; those without one are generic.
  std::vector<std::string> direction_names{};
  /// direction_names name the directions from 0 on: the pattern uses none of the compass.
  bool names_all{false};
};

/// Direction names "prefix0", "prefix1", ..., so many from that number on.
[[nodiscard]] std::vector<std::string> numbered_names(const char* prefix, std::uint32_t first,
                                                      std::uint32_t count);

/// What direction `d` is called in this pattern.
[[nodiscard]] std::string direction_name(const pattern_entry& p, direction d);

/// ring_1d: E/W over ring_order. A dimension of size 1 has no edges; size 2 has E and W both
/// leading to the same peer.
[[nodiscard]] std::vector<edge> ring_1d(const pattern_context& c);
[[nodiscard]] std::vector<edge> ring_1d_unidir(const pattern_context& c);
/// intercube: E/W between the leaders of neighboring cubes of each row, N/S along the root's column (the
/// flows of the algorithm; north is y + 1), and global_* between the root PEs of the SIPs (ring_1d:
/// E/W in SIP order; torus_2d: E/W along the rows, N/S along the columns of sip_grid_of). The
/// members must be one PE of every cube of one or more SIPs; the torus needs all SIPs of the pod.
/// Throws user_error naming what is missing.
[[nodiscard]] std::vector<edge> intercube(const pattern_context& c);

/// mesh_2d (also mesh_2d_no_wrap) and torus_2d: E/W along the rows and N/S along the columns of the
/// rank_grid, open or closed.
[[nodiscard]] std::vector<edge> mesh_2d(const pattern_context& c);
[[nodiscard]] std::vector<edge> torus_2d(const pattern_context& c);

/// tree_binary: parent (r-1)/2. double_binary_tree: the same directions for the first tree, and
/// second_tree + 0, 1, 2 for parent and children in the second. binomial_tree: edge k of the tree is
/// partner(k) at both ends.
inline constexpr direction second_tree = first_custom;
[[nodiscard]] std::vector<edge> tree_binary(const pattern_context& c);
[[nodiscard]] std::vector<edge> double_binary_tree(const pattern_context& c);
[[nodiscard]] std::vector<edge> binomial_tree(const pattern_context& c);

/// Rings at three levels: E/W over the PEs of each cube, N/S over pe0 of the cubes of each SIP (in
/// ring_order), global_E/global_W over pe0 of cube 0 of the SIPs. The members must be all PEs of their SIPs,
/// or rank set sip, which has the last level only.
[[nodiscard]] std::vector<edge> hierarchical_3level(const pattern_context& c);

/// Partners by step, so that an algorithm with log2(n) partners has as many queue pairs: folded ranks meet
/// their holder in fold_partner, partner(s) is met in step s, both ends use the same direction.
inline constexpr direction fold_partner = 0;
[[nodiscard]] constexpr direction partner(std::uint32_t step) { return static_cast<direction>(1 + step); }
[[nodiscard]] std::vector<edge> recursive_doubling(const pattern_context& c);
[[nodiscard]] std::vector<edge> swing(const pattern_context& c);

/// Every rank with every other: direction k leads to rank + k + 1 (modulo n).
[[nodiscard]] std::vector<edge> all_to_all(const pattern_context& c);

/// The patterns built in.
[[nodiscard]] std::vector<pattern_entry> builtin_patterns();

/// Shape of the SIP grid of a 2-D pod: pod.columns, or the most nearly square factorization
/// (config::pod_grid_of).
struct sip_grid {
  std::uint32_t columns{}, rows{};
};
[[nodiscard]] sip_grid sip_grid_of(const config::machine_config& c);

// A pattern given in the config as a list of edges (ccl.patterns).

/// Directions with a name of their own ("N", "global_E", "parent") keep their number; other names get the
/// numbers from first_custom on, in the order in which they appear. The entry's build throws user_error for
/// edges that leave the machine or end at PEs that are no members.
[[nodiscard]] pattern_entry custom_pattern(const config::custom_pattern& p);

}  // namespace diecast::comm
