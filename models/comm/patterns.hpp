// SPDX-License-Identifier: Apache-2.0
// Logical patterns: which PEs talk to which, in which direction. Every pattern is one flat list of
// PE-level edges.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "models/config/machine_config.hpp"
#include "models/types/ids.hpp"

namespace diecast::comm {

enum class rank_set : std::uint8_t { pe, cube, sip };
[[nodiscard]] const char* to_string(rank_set r);

/// Members of a collective in rank order.
struct group {
  rank_set set{rank_set::pe};
  std::vector<pe_coord> members;
};

/// all_pes, cube_leaders (pe0 of each cube) or leader_only (pe0 of cube 0 of each SIP).
[[nodiscard]] group map_ranks(const machine_shape& shape, rank_set set);

/// Order in which a ring visits the members: SIPs in order, cubes of a SIP in a boustrophedon so
/// that neighbors on the ring are neighbors on the mesh, PEs in order. Result: ranks.
[[nodiscard]] std::vector<std::uint32_t> ring_order(const machine_shape& shape, const group& g);

/// Cube that holds the root of the intercube all-reduce: corner (w-1, h-1), center (w/2, h/2).
[[nodiscard]] cube_id root_cube(const machine_shape& shape, config::root_place place);

struct pattern_context {
  const config::machine_config& config;
  machine_shape shape;
  const group& members;
  std::uint32_t root{};  ///< rank, of rooted patterns (star)
};
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

/// ring_1d: E/W over ring_order. A dimension of size 1 has no edges; size 2 has E and W both
/// leading to the same peer.
[[nodiscard]] std::vector<edge> ring_1d(const pattern_context& c);
[[nodiscard]] std::vector<edge> ring_1d_unidir(const pattern_context& c);
/// intercube: E/W between pe0 of neighboring cubes of each row, N/S along the root's column (the
/// flows of the algorithm; north is y + 1), and global_* between the root PEs of the SIPs (ring_1d:
/// E/W in SIP order; torus_2d: E/W along the rows, N/S along the columns of sip_grid_of). The
/// members must be pe0 of every cube of one or more SIPs; the torus needs all SIPs of the pod.
/// Throws user_error naming what is missing.
[[nodiscard]] std::vector<edge> intercube(const pattern_context& c);

/// The patterns built in.
[[nodiscard]] std::vector<pattern_entry> builtin_patterns();

/// Shape of the SIP grid of a 2-D pod: pod.columns, or the most nearly square factorization
/// (config::pod_grid_of).
struct sip_grid {
  std::uint32_t columns{}, rows{};
};
[[nodiscard]] sip_grid sip_grid_of(const config::machine_config& c);

}  // namespace diecast::comm
