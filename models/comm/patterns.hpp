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

inline constexpr std::uint32_t nobody = ~0U;  ///< rank of no member

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
/// One line of text for each cube or SIP of the set whose leader is not its pe0.
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
  /// Names of the directions from first_custom on, for dumps and reports; the others have generic names.
  std::vector<std::string> direction_names{};
  /// direction_names name the directions from 0 on: the pattern does not use N, S, E and W.
  bool names_all{false};
};

/// Direction names "prefix0", "prefix1", ...: `count` of them, from number `first` on.
[[nodiscard]] std::vector<std::string> numbered_names(const char* prefix, std::uint32_t first,
                                                      std::uint32_t count);

/// Name of direction `d` in this pattern.
[[nodiscard]] std::string direction_name(const pattern_entry& p, direction d);

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
