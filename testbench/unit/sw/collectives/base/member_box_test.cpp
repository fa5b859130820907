// SPDX-License-Identifier: Apache-2.0
// Members as a box of SIPs, rows, columns and PEs, and the lines of it.
#include <algorithm>
#include <set>
#include <utility>

#include "support/machines.hpp"
#include "support/test.hpp"
#include "sw/collectives/base/member_levels.hpp"
#include "sw/collectives/base/peer_patterns.hpp"

namespace diecast::comm {
namespace {

using machine = test::ranked_machine;

TEST_CASE("the box of whole machines") {
  struct sample {
    machine_shape shape;
    rank_set set;
    member_box::coordinates size;
  };
  for (const sample& s :
       {sample{{2, 4, 3, 8}, rank_set::pe, {2, 3, 4, 8}}, sample{{2, 4, 3, 8}, rank_set::cube, {2, 3, 4, 1}},
        sample{{5, 4, 3, 8}, rank_set::sip, {5, 1, 1, 1}},
        sample{{1, 1, 1, 1}, rank_set::pe, {1, 1, 1, 1}}}) {
    const machine m(s.shape, s.set);
    const member_box box = member_box_of(m.shape, m.members);
    CHECK(box.size == s.size);
    CHECK(box.ranks() == m.members.members.size());
    for (std::uint32_t r = 0; r < box.ranks(); ++r) {
      const auto x = box.at(r);
      const pe_coord& pe = m.members.members[r];
      CHECK(box.rank_at(x) == r);
      CHECK(x[member_box::rows] == (box.size[member_box::rows] > 1 ? m.shape.cube_y(pe.cube) : 0));
      CHECK(x[member_box::pes] == (box.size[member_box::pes] > 1 ? pe.pe.value : 0));
    }
  }
}

TEST_CASE("the box of members that fill none") {
  machine m(machine_shape{2, 2, 2, 3}, rank_set::pe);
  std::vector<pe_coord>& members = m.members.members;
  SECTION("a PE less in both SIPs: SIPs are alike, cubes are not") {
    members.erase(members.begin() + 13);
    members.erase(members.begin() + 1);
    CHECK(member_box_of(m.shape, m.members).size == member_box::coordinates{2, 1, 1, 11});
  }
  SECTION("a PE less") {
    members.erase(members.begin() + 1);
    CHECK(member_box_of(m.shape, m.members).size == member_box::coordinates{1, 1, 1, 23});
  }
  SECTION("cubes that fill no rectangle") {
    members.erase(members.begin() + 21, members.end());
    members.erase(members.begin() + 9, members.begin() + 12);
    CHECK(member_box_of(m.shape, m.members).size == member_box::coordinates{2, 1, 1, 9});
  }
  SECTION("SIPs by turns") {
    std::swap(members[1], members[13]);
    CHECK(member_box_of(m.shape, m.members).size == member_box::coordinates{1, 1, 1, 24});
  }
}

TEST_CASE("lines of a box lead to every partner, by directions of their own") {
  const machine m(machine_shape{2, 3, 2, 4}, rank_set::pe);
  constexpr std::uint32_t partners = 1 + 2 + 1 + 3;  // one less than its size in each dimension
  std::set<std::pair<pe_coord, direction>> used;
  std::set<std::pair<pe_coord, pe_coord>> pairs;
  for (const edge& e : box_lines(m.context(0))) {
    CHECK(used.insert({e.from, e.dir}).second);
    CHECK(pairs.insert({e.from, e.to}).second);
    CHECK(e.dir < partners);
    CHECK(e.reverse < static_cast<std::int32_t>(partners));
  }
  CHECK(pairs.size() == std::size_t{48} * partners);
  for (const auto& [a, b] : pairs) CHECK(pairs.contains({b, a}));
}

TEST_CASE("lines that need more queue pairs than there are: it says what the box is") {
  machine m(machine_shape{2, 4, 4, 8}, rank_set::pe);
  CHECK(member_box_of(m.shape, m.members).partners() == 1 + 3 + 3 + 7);
  CHECK_FALSE(box_lines(m.context(0)).empty());
  m.members.members.erase(m.members.members.begin());
  CHECK_THROWS_WITH(box_lines(m.context(0)),
                    Catch::Contains("ipcq.queue_pairs: too few for an exchange along lines of 1 SIPs") &&
                        Catch::Contains("255 ranks (all are one line where SIPs have different numbers") &&
                        Catch::Contains("value 16; expected at least 254"));
}

}  // namespace
}  // namespace diecast::comm
