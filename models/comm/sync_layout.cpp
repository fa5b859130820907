// SPDX-License-Identifier: Apache-2.0
#include "models/comm/sync_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

#include "models/types/error.hpp"

namespace diecast::comm {
namespace {

/// Home port of PE `pe`, as that of its receive rings: ports are dealt out evenly.
std::uint64_t home_port(const config::machine_config& c, std::uint64_t pe) {
  return pe * c.hbm.ports / c.cube.pes;
}

/// PEs of a cube whose home port is that of `pe` and that come before it.
std::uint64_t place_at_port(const config::machine_config& c, std::uint64_t pe) {
  std::uint64_t before = 0;
  while (before < pe && home_port(c, pe - before - 1) == home_port(c, pe)) ++before;
  return before;
}

}  // namespace

std::optional<std::uint32_t> team_slot_of(abi::address at) {
  const auto where = abi::decode(at);
  if (!where || where->kind != abi::region::hbm) return std::nullopt;
  const std::uint64_t offset = where->offset % sync_region_bytes;
  if (offset < teams_offset) return std::nullopt;
  return static_cast<std::uint32_t>((offset - teams_offset) / team_bytes);
}

abi::address sync_home(const config::machine_config& c, pe_coord pe) {
  const auto port = static_cast<std::uint32_t>(home_port(c, pe.pe.value));
  return abi::encode(
      {pe.sip, pe.cube, abi::region::hbm, port, place_at_port(c, pe.pe.value) * sync_region_bytes});
}

std::uint64_t sync_port_bytes(const config::machine_config& c) {
  std::uint64_t regions = 1;
  for (std::uint64_t pe = 0; pe < c.cube.pes; ++pe) regions = std::max(regions, place_at_port(c, pe) + 1);
  return regions * sync_region_bytes;
}

void check_sync_memory(const config::machine_config& c) {
  std::vector<problem> problems;
  const std::uint64_t mib = 1024 * 1024;
  const std::uint64_t needed = (sync_port_bytes(c) + mib - 1) / mib;
  if (c.hbm.port_mib < needed) {
    problems.push_back({"hbm.port_mib", "an HBM port cannot hold the flags of its PEs' barriers",
                        fmt::format("{}", c.hbm.port_mib), fmt::format("{} or more", needed)});
  }
  if (c.noc.max_packet_bytes < sync_line_bytes) {
    problems.push_back({"noc.max_packet_bytes", "a packet cannot hold a line of the data cache",
                        fmt::format("{}", c.noc.max_packet_bytes),
                        fmt::format("{} or more", sync_line_bytes)});
  }
  if (!problems.empty()) throw user_error(std::move(problems));
}

void check_team_flags(barrier_algorithm how, std::uint64_t ranks, std::uint64_t radix, bool any_radix) {
  if (how != barrier_algorithm::group_dissemination) return;  // lines for 2^40 ranks
  if (radix < 2) {
    if (any_radix) return;
    throw user_error(problem{"ccl.barrier_radix", "group_dissemination with radix 1 never ends",
                             std::to_string(radix), "2 or more"});
  }
  const std::uint64_t lines = (radix - 1) * dissemination_rounds(ranks, radix);
  if (lines <= team_lines) return;
  throw user_error(problem{"ccl.barrier_radix",
                           fmt::format("{} ranks need {} flags in each rank's memory, of which a team has {}",
                                       ranks, lines, team_lines),
                           std::to_string(radix), "a radix with (radix - 1) x rounds within that"});
}

std::vector<std::uint32_t> ranks_of(const team_spec& team) {
  if (!team.list.empty()) return team.list;
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t i = 0; i < team.size; ++i) ranks.push_back(team.start + i * team.stride);
  return ranks;
}

std::string to_text(const team_spec& team) {
  if (!team.list.empty()) return fmt::format("{}", fmt::join(team.list, "+"));
  return fmt::format("{}:{}:{}", team.start, team.stride, team.size);
}

std::uint32_t cores_of(const machine_shape& shape, rank_set set) {
  switch (set) {
    case rank_set::pe: return 1;
    case rank_set::cube: return shape.pes_per_cube;
    case rank_set::sip: return shape.pes_per_cube * shape.cubes_per_sip();
  }
  return 1;
}

std::uint32_t world_size(const machine_shape& shape, rank_set set) {
  return shape.pes() / cores_of(shape, set);
}

group barrier_members(const machine_shape& shape, rank_set set, const team_spec& team) {
  const std::uint32_t cores = cores_of(shape, set), world = world_size(shape, set);
  const std::vector<std::uint32_t> ranks = ranks_of(team);
  std::set<std::uint32_t> seen;
  group g{set, {}};
  for (const std::uint32_t rank : ranks) {
    if (rank >= world || !seen.insert(rank).second) {
      throw user_error(problem{"--team",
                               rank >= world ? fmt::format("the pod has no rank {}", rank)
                                             : fmt::format("rank {} is in the team twice", rank),
                               to_text(team),
                               fmt::format("different ranks below {} ({})", world, to_string(set))});
    }
    for (std::uint32_t core = 0; core < cores; ++core) g.members.push_back(shape.pe_at(rank * cores + core));
  }
  if (g.members.empty()) {
    throw user_error(problem{"--team", "a team needs a rank", to_text(team), "at least 1"});
  }
  return g;
}

}  // namespace diecast::comm
