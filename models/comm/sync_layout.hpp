// SPDX-License-Identifier: Apache-2.0
// Barriers over ranks: the three algorithms, each with its numbers of signals and checks, and the addresses
// of their words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/abi/address.hpp"
#include "models/comm/patterns.hpp"
#include "models/config/machine_config.hpp"
#include "models/config/population.hpp"
#include "models/protocol/data_cache.hpp"
#include "models/types/archive.hpp"
#include "models/types/ids.hpp"

namespace diecast::comm {
enum class barrier_algorithm : std::uint8_t { centralized_pull, dissemination, group_dissemination };
[[nodiscard]] const char* to_string(barrier_algorithm a);
[[nodiscard]] std::optional<barrier_algorithm> barrier_named(std::string_view name);

/// Rounds of a dissemination with this radix: ceil(log_radix ranks). Throws std::invalid_argument for a radix
/// below 2.
[[nodiscard]] std::uint32_t dissemination_rounds(std::uint64_t ranks, std::uint64_t radix);

/// Work of one rank in one barrier; the whole barrier has `ranks` times that.
struct barrier_work {
  std::uint64_t signals_set{};
  std::uint64_t flags_checked{};
};
/// `radix` is that of group_dissemination, for which the result is empty below 2: it never ends.
[[nodiscard]] std::optional<barrier_work> work_of(barrier_algorithm a, std::uint32_t ranks,
                                                  std::uint32_t radix);

// Addresses of the words of barriers in global memory. Every PE has a home region at the bottom of its
// home HBM port; a rank's flags and counters are in the region of its first PE. Shared by firmware,
// host and reports.
//
//   home + 0      flags of the core barrier, one line a round
//   home + 1 KiB  team slots in use, one bit each
//   home + 4 KiB  team 0: 40 lines of flags, the counter line; team 1: ...

inline constexpr std::uint64_t sync_line_bytes = protocol::cache_line_bytes;
inline constexpr std::uint32_t team_lines = 40;  ///< flags of a team: 64 x 5 x 8 bytes
inline constexpr std::uint32_t max_teams = 2048;
inline constexpr std::uint32_t max_ranks = 16'384;
inline constexpr std::uint32_t core_barrier_rounds = 16;
inline constexpr std::uint64_t team_table_bytes = max_teams / 8;

inline constexpr std::uint64_t team_table_offset = 1024;
inline constexpr std::uint64_t teams_offset = 4096;
inline constexpr std::uint64_t team_bytes = (team_lines + 1) * sync_line_bytes;
inline constexpr std::uint64_t sync_region_bytes = teams_offset + max_teams * team_bytes;

[[nodiscard]] constexpr abi::address core_flag(abi::address home, std::uint32_t round) {
  return home + round * sync_line_bytes;
}
[[nodiscard]] constexpr abi::address team_table(abi::address home) { return home + team_table_offset; }
/// Flags of a team are `flag_stride` bytes apart: a line each, unless firmware is defective.
[[nodiscard]] constexpr abi::address team_flag(abi::address home, std::uint32_t team, std::uint32_t index,
                                               std::uint64_t flag_stride = sync_line_bytes) {
  return home + teams_offset + team * team_bytes + index * flag_stride;
}
[[nodiscard]] constexpr abi::address team_counter(abi::address home, std::uint32_t team) {
  return team_flag(home, team, team_lines);
}

/// Place of the flags in a slot for the core barriers of one team, instead of the home region's start:
/// a core that takes part in barriers of several teams at a time needs flags for each.
[[nodiscard]] constexpr abi::address core_flags_in_slot(abi::address home, std::uint32_t slot) {
  static_assert(core_barrier_rounds <= team_lines);
  return team_flag(home, slot, 0);
}

/// The team slot with flags or counter at `at`, or the flags of core barriers that are in one
/// (core_flags_in_slot); empty for those at the start of a home region and for any word outside HBM.
/// Precondition: a word in HBM is in some PE's home region.
[[nodiscard]] std::optional<std::uint32_t> team_slot_of(abi::address at);

/// Start of a PE's home region. Throws user_error when its cube has no memory channel.
[[nodiscard]] abi::address sync_home(const config::memory_channels& channels, pe_coord pe);
/// Start of a PE's home region, for a single query.
[[nodiscard]] abi::address sync_home(const config::machine_config& c, pe_coord pe);
/// Bytes of the home regions at the bottom of an HBM port with `sharers` PEs.
[[nodiscard]] constexpr std::uint64_t sync_port_bytes(std::uint64_t sharers) {
  return sharers * sync_region_bytes;
}
/// The largest such number of bytes over all ports.
[[nodiscard]] std::uint64_t sync_port_bytes(const config::machine_config& c);
/// Throws user_error when the home regions do not fit an HBM port, or a line no packet.
void check_sync_memory(const config::machine_config& c);
/// Throws user_error when a member's cube has no memory channel, where its flags would be.
void check_sync_homes(const config::machine_config& c, const group& members);
/// Throws user_error when a team of so many ranks has too few flags for the algorithm, or when
/// group_dissemination would never end (radix 1), unless `any_radix` permits it.
void check_team_flags(barrier_algorithm how, std::uint64_t ranks, std::uint64_t radix, bool any_radix);

/// Ranks of a barrier: start, start + stride, ...; or the list, when it is not empty.
struct team_spec {
  std::uint32_t start{};
  std::uint32_t stride{1};
  std::uint32_t size{};
  std::vector<std::uint32_t> list{};
  bool operator==(const team_spec&) const = default;
  DIECAST_MEMBERS(start, stride, size, list)
};
[[nodiscard]] std::vector<std::uint32_t> ranks_of(const team_spec& team);
/// "0:1:8" or "0+3+5".
[[nodiscard]] std::string to_text(const team_spec& team);

/// Ranks of the whole pod: PEs, or the cubes or SIPs that have any.
[[nodiscard]] std::uint32_t world_size(const config::population& machine, rank_set set);
/// All PEs of the team's ranks: rank by rank in team order, core by core. Throws user_error for a rank
/// the pod does not have, or one that is in the team twice.
[[nodiscard]] group barrier_members(const config::population& machine, rank_set set, const team_spec& team);

/// The PEs that form one rank, its cores: a PE, or all PEs of a cube or SIP. Members of a barrier are
/// ordered by rank.
class rank_cores {
 public:
  /// Precondition: members of one rank follow each other, as barrier_members has them.
  explicit rank_cores(const group& members);

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(first_.size()); }
  /// Index of the rank's first core among the members.
  [[nodiscard]] std::uint32_t first(std::uint32_t rank) const { return first_[rank]; }
  [[nodiscard]] std::uint32_t count(std::uint32_t rank) const { return count_[rank]; }
  [[nodiscard]] std::uint32_t most() const;
  /// By index among the members.
  [[nodiscard]] const std::vector<std::uint32_t>& rank_of() const { return rank_of_; }
  /// The cores of every rank have the same distances from its first as those of rank 0.
  [[nodiscard]] bool alike() const { return alike_; }

 private:
  std::vector<std::uint32_t> first_, count_;  ///< by rank
  std::vector<std::uint32_t> rank_of_;
  bool alike_{true};
};

}  // namespace diecast::comm
