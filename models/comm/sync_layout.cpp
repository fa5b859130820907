// SPDX-License-Identifier: Apache-2.0
#include "models/comm/sync_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <stdexcept>
#include <utility>

#include "models/types/enum_name.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {

const char* to_string(barrier_algorithm a) { return enum_name(a); }

std::optional<barrier_algorithm> barrier_named(std::string_view name) {
  return enum_named<barrier_algorithm>(name);
}

std::uint32_t dissemination_rounds(std::uint64_t ranks, std::uint64_t radix) {
  if (radix < 2) throw std::invalid_argument("a dissemination with a radix below 2 never ends");
  std::uint32_t rounds = 0;
  for (std::uint64_t reach = 1; reach < ranks; reach *= radix) ++rounds;
  return rounds;
}

std::optional<barrier_work> work_of(barrier_algorithm a, std::uint32_t ranks, std::uint32_t radix) {
  switch (a) {
    case barrier_algorithm::centralized_pull: return barrier_work{1, ranks - 1U};
    case barrier_algorithm::dissemination: {
      const std::uint64_t n = dissemination_rounds(ranks, 2);
      return barrier_work{n, n};
    }
    case barrier_algorithm::group_dissemination: {
      if (radix < 2) return std::nullopt;
      const std::uint64_t n = std::uint64_t{dissemination_rounds(ranks, radix)} * (radix - 1);
      return barrier_work{n, n};
    }
  }
  return std::nullopt;
}

namespace {

/// The first PE of the cube or SIP that is the rank of a PE.
pe_coord rank_home(rank_set set, pe_coord pe) {
  if (set == rank_set::pe) return pe;
  return {pe.sip, set == rank_set::cube ? pe.cube : cube_id{}, pe_id{}};
}

}  // namespace

std::optional<std::uint32_t> team_slot_of(abi::address at) {
  const auto where = abi::decode(at);
  if (!where || where->kind != abi::region::hbm) return std::nullopt;
  const std::uint64_t offset = where->offset % sync_region_bytes;
  if (offset < teams_offset) return std::nullopt;
  return static_cast<std::uint32_t>((offset - teams_offset) / team_bytes);
}

abi::address sync_home(const config::memory_channels& channels, pe_coord pe) {
  return abi::encode(
      {pe.sip, pe.cube, abi::region::hbm, channels.home_of(pe), channels.place_of(pe) * sync_region_bytes});
}

abi::address sync_home(const config::machine_config& c, pe_coord pe) {
  return sync_home(config::memory_channels(c), pe);
}

std::uint64_t sync_port_bytes(const config::machine_config& c) {
  return sync_port_bytes(config::memory_channels(c).sharers());
}

void check_sync_memory(const config::machine_config& c) {
  std::vector<problem> problems;
  constexpr std::uint64_t mib = 1U << 20U;
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

void check_sync_homes(const config::machine_config& c, const group& members) {
  const config::memory_channels channels(c);
  for (const pe_coord pe : members.members) (void)sync_home(channels, pe);
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

std::uint32_t world_size(const config::population& machine, rank_set set) {
  return static_cast<std::uint32_t>(map_ranks(machine, set).members.size());
}

group barrier_members(const config::population& machine, rank_set set, const team_spec& team) {
  std::vector<std::vector<pe_coord>> cores;  // by rank of the pod
  for (const pe_coord pe : machine.pes()) {
    if (cores.empty() || rank_home(set, cores.back().front()) != rank_home(set, pe)) cores.emplace_back();
    cores.back().push_back(pe);
  }
  std::set<std::uint32_t> seen;
  group g{set, {}};
  for (const std::uint32_t rank : ranks_of(team)) {
    if (rank >= cores.size() || !seen.insert(rank).second) {
      throw user_error(problem{"--team",
                               rank >= cores.size() ? fmt::format("the pod has no rank {}", rank)
                                                    : fmt::format("rank {} is in the team twice", rank),
                               to_text(team),
                               fmt::format("different ranks below {} ({})", cores.size(), to_string(set))});
    }
    g.members.insert(g.members.end(), cores[rank].begin(), cores[rank].end());
  }
  if (g.members.empty()) {
    throw user_error(problem{"--team", "a team needs a rank", to_text(team), "at least 1"});
  }
  return g;
}

rank_cores::rank_cores(const group& members) {
  const auto& m = members.members;
  for (std::uint32_t i = 0; i < m.size(); ++i) {
    if (i == 0 || rank_home(members.set, m[i - 1]) != rank_home(members.set, m[i])) {
      first_.push_back(i);
      count_.push_back(0);
    }
    ++count_.back();
    rank_of_.push_back(ranks() - 1);
  }
  const auto offset = [&m](std::uint32_t first, std::uint32_t core) {
    return std::pair{m[first + core].cube.value - m[first].cube.value,
                     m[first + core].pe.value - m[first].pe.value};
  };
  for (std::uint32_t rank = 0; rank < ranks() && alike_; ++rank) {
    alike_ = count_[rank] == count_[0];
    for (std::uint32_t core = 0; core < count_[rank] && alike_; ++core)
      alike_ = offset(first_[rank], core) == offset(first_[0], core);
  }
}

std::uint32_t rank_cores::most() const { return *std::ranges::max_element(count_); }

}  // namespace diecast::comm
