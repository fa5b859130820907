// SPDX-License-Identifier: Apache-2.0
// Where the words of barriers lie: nobody's flags in anybody else's, at the largest team counts and pods.
#include "models/comm/sync_layout.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "models/types/error.hpp"
#include "support/machines.hpp"
#include "support/test.hpp"

namespace diecast::comm {
namespace {

/// 64 SIPs of 8 x 4 cubes of 8 PEs: 16,384 ranks, each PE one.
config::machine_config largest_pod() {
  config::machine_config c = test::machine_of({64, 8, 4, 8});
  c.hbm.ports = 4;
  return c;
}

TEST_CASE("sync layout: flags and counters of 2,048 teams lie in lines of their own") {
  const abi::address home = abi::encode({sip_id{1}, cube_id{2}, abi::region::hbm, 3, 0});
  std::set<abi::address> lines;
  for (std::uint32_t round = 0; round < core_barrier_rounds; ++round) lines.insert(core_flag(home, round));
  for (abi::address at = team_table(home); at < team_table(home) + team_table_bytes; at += sync_line_bytes)
    lines.insert(at);
  for (std::uint32_t team = 0; team < max_teams; ++team) {
    for (std::uint32_t index = 0; index < team_lines; ++index) {
      lines.insert(team_flag(home, team, index));
      if (team_slot_of(team_flag(home, team, index)) != team) FAIL("flag " << index << " of team " << team);
    }
    lines.insert(team_counter(home, team));
    if (team_slot_of(team_counter(home, team)) != team) FAIL("counter of team " << team);
  }
  CHECK(lines.size() == core_barrier_rounds + team_table_bytes / sync_line_bytes + 2048UL * 41);
  CHECK(*lines.begin() == home);
  CHECK(*lines.rbegin() + sync_line_bytes == home + sync_region_bytes);
  CHECK(std::all_of(lines.begin(), lines.end(), [](abi::address at) { return at % sync_line_bytes == 0; }));
  CHECK_FALSE(team_slot_of(core_flag(home, core_barrier_rounds - 1)));
  CHECK_FALSE(team_slot_of(team_table(home)));
  CHECK_FALSE(team_slot_of(abi::encode({sip_id{0}, cube_id{0}, abi::region::tcm, 0, teams_offset})));
  CHECK(team_slot_of(home + sync_region_bytes + teams_offset) == 0U);  // the region of the port's next PE
}

TEST_CASE("sync layout: 16,384 ranks have regions apart from each other, within their ports") {
  const config::machine_config c = largest_pod();
  const group all = barrier_members(c.shape(), rank_set::pe, {0, 1, max_ranks, {}});
  REQUIRE(all.members.size() == max_ranks);
  CHECK(world_size(c.shape(), rank_set::pe) == max_ranks);
  std::vector<abi::address> homes;
  for (const pe_coord pe : all.members) {
    const abi::address home = sync_home(c, pe);
    const auto where = abi::decode(home);
    REQUIRE(where);
    if (where->kind != abi::region::hbm || where->sip != pe.sip || where->cube != pe.cube ||
        where->offset + sync_region_bytes > sync_port_bytes(c))
      FAIL(pe_path(c.shape(), pe) << " at " << abi::describe(home));
    homes.push_back(home);
  }
  std::sort(homes.begin(), homes.end());
  for (std::size_t i = 1; i < homes.size(); ++i)
    if (homes[i] - homes[i - 1] < sync_region_bytes)
      FAIL(abi::describe(homes[i]) << " overlaps the one before");
  CHECK(sync_port_bytes(c) == 2 * sync_region_bytes);  // eight PEs at four ports
  CHECK_NOTHROW(check_sync_memory(c));
  CHECK_THROWS_AS(barrier_members(c.shape(), rank_set::pe, {1, 1, max_ranks, {}}), user_error);
}

TEST_CASE("sync layout: which radix has flags enough for 16,384 ranks") {
  const auto accepts = [](barrier_algorithm how, std::uint64_t radix, bool any = false) {
    try {
      check_team_flags(how, max_ranks, radix, any);
      return true;
    } catch (const user_error&) {
      return false;
    }
  };
  CHECK(accepts(barrier_algorithm::dissemination, 1));
  CHECK(accepts(barrier_algorithm::centralized_pull, 1));
  const auto group = barrier_algorithm::group_dissemination;
  CHECK_FALSE(accepts(group, 1));
  CHECK(accepts(group, 1, true));
  for (std::uint64_t radix = 2; radix <= 128; ++radix) {
    std::uint64_t rounds = 0;
    for (std::uint64_t reach = 1; reach < max_ranks; reach *= radix) ++rounds;
    INFO("radix " << radix);
    CHECK(accepts(group, radix) == ((radix - 1) * rounds <= 40));
  }
  CHECK(accepts(group, 8));
  CHECK_FALSE(accepts(group, 11));
}

TEST_CASE("sync layout: a port or a packet that is too small is refused by its key") {
  const auto said = [](const config::machine_config& c) -> std::string {
    try {
      check_sync_memory(c);
      return {};
    } catch (const user_error& e) {
      return e.what();
    }
  };
  config::machine_config c = largest_pod();
  const std::uint64_t mib = (sync_port_bytes(c) + 1024 * 1024 - 1) / (1024 * 1024);
  c.hbm.port_mib = mib;
  CHECK(said(c).empty());
  c.hbm.port_mib = mib - 1;
  CHECK(said(c).find("hbm.port_mib") != std::string::npos);
  c = largest_pod();
  c.noc.max_packet_bytes = 32;
  CHECK(said(c).find("noc.max_packet_bytes") != std::string::npos);
}

}  // namespace
}  // namespace diecast::comm
