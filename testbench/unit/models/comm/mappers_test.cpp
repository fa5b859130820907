// SPDX-License-Identifier: Apache-2.0
#include "models/comm/mappers.hpp"

#include <algorithm>
#include <map>

#include "models/comm/patterns.hpp"
#include "support/machines.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::comm;
using config::layout;

namespace {

const machine_shape small_pod{2, 3, 2, 4};

const mapper_entry& mapper(const std::string& name) {
  static const std::vector<mapper_entry> all = builtin_mappers();
  for (const mapper_entry& m : all)
    if (m.name == name) return m;
  throw std::invalid_argument(name);
}

group members(const std::string& name, const std::vector<pe_coord>& listed = {}) {
  return mapper(name).map({small_pod, listed, "ccl.algorithms.a"});
}

std::optional<problem> check(const std::string& name, const group& g, tensor_layout l) {
  for (const validator_entry& v : builtin_validators())
    if (v.name == name) return v.check({small_pod, g, l, "ccl.algorithms.a"});
  throw std::invalid_argument(name);
}

pe_coord at(std::uint32_t sip, std::uint32_t cube, std::uint32_t pe) {
  return {sip_id{sip}, cube_id{cube}, pe_id{pe}};
}

}  // namespace

TEST_CASE("mappers choose the PEs that --ranks names") {
  CHECK(members("all_pes").members.size() == 48);
  CHECK(members("cube_leaders").members.size() == 12);
  CHECK(members("leader_only").members == std::vector{at(0, 0, 0), at(1, 0, 0)});
  for (const rank_set set : {rank_set::pe, rank_set::cube, rank_set::sip}) {
    CHECK(members(mapper_of(set)).set == set);
    CHECK(members(mapper_of(set)).members == map_ranks(small_pod, set).members);
  }
}

TEST_CASE("mappers and validators know which PEs are left out") {
  config::machine_config c = test::machine_of({2, 3, 2, 4});
  c.overrides = {{.match = "pod.sip0.cube_0_0.pe0", .enabled = false},
                 {.match = "pod.sip1.cube_2_1.pe*", .enabled = false}};
  const config::population there(c);
  const std::vector<pe_coord> none;
  const auto mapped = [&](const std::string& name, const std::vector<pe_coord>& listed) {
    return mapper(name).map({there, listed, "ccl.algorithms.a"});
  };
  CHECK(mapped("all_pes", none).members.size() == 43);
  CHECK(mapped("cube_leaders", none).members.size() == 11);
  CHECK(mapped("leader_only", none).members == std::vector{at(0, 0, 1), at(1, 0, 0)});
  const std::vector listed{at(0, 0, 1), at(0, 0, 0)};
  CHECK_THROWS_WITH(mapped("custom", listed),
                    Catch::Contains("an override leaves this PE out") && Catch::Contains("sip0.cube0.pe0"));
  for (const auto& [validator, set] :
       {std::pair{"multi_pe_sip_local", rank_set::pe}, std::pair{"cube_shards", rank_set::cube}}) {
    const group g = map_ranks(there, set);
    const auto validators = builtin_validators();
    const auto found = std::find_if(validators.begin(), validators.end(),
                                    [&](const validator_entry& v) { return v.name == validator; });
    REQUIRE(found != validators.end());
    const auto wrong = found->check({there, g, layout_of(set), "ccl.algorithms.a"});
    REQUIRE(wrong);
    CHECK(wrong->expected.find("no override that leaves") != std::string::npos);
  }
}

TEST_CASE("mapper custom keeps the order given and refuses lists that cannot be") {
  const std::vector listed{at(1, 5, 3), at(0, 0, 1)};
  CHECK(members("custom", listed).members == listed);
  CHECK_THROWS_WITH(members("custom"), Catch::Contains("ccl.algorithms.a.members"));
  CHECK_THROWS_WITH(members("custom", {at(0, 6, 0)}),
                    Catch::Contains("no such PE") && Catch::Contains("cube 0..5"));
  CHECK_THROWS_WITH(members("custom", {at(0, 1, 0), at(0, 1, 0)}), Catch::Contains("twice"));
}

TEST_CASE("shards tile the tensor, each element as often as the layout replicates it") {
  for (const layout cube : {layout::column_wise, layout::row_wise, layout::replicate}) {
    for (const layout pe : {layout::column_wise, layout::row_wise, layout::replicate}) {
      const tensor_layout l{cube, pe};
      INFO(to_string(l));
      for (const auto& [rows, columns] : {std::pair{24u, 48u}, {7u, 29u}, {1u, 5u}, {0u, 9u}}) {
        std::map<std::pair<std::uint64_t, std::uint64_t>, unsigned> held;
        for (std::uint32_t c = 0; c < small_pod.cubes_per_sip(); ++c) {
          for (std::uint32_t p = 0; p < small_pod.pes_per_cube; ++p) {
            const shard s = shard_of(small_pod, l, at(1, c, p), rows, columns);
            for (std::uint64_t y = s.row_begin; y < s.row_begin + s.rows; ++y) {
              for (std::uint64_t x = s.column_begin; x < s.column_begin + s.columns; ++x) ++held[{y, x}];
            }
          }
        }
        const std::uint64_t copies = 24 / shards_per_sip(small_pod, l);
        CHECK(held.size() == std::size_t{rows} * columns);
        for (const auto& [where, times] : held) CHECK(times == copies);
      }
    }
  }
  CHECK(shard_of(small_pod, {layout::row_wise, layout::column_wise}, at(0, 2, 1), 12, 8) ==
        shard{4, 2, 2, 2});
}

TEST_CASE("validators accept the layout that the members imply, and no other number of shards") {
  for (const rank_set set : {rank_set::pe, rank_set::cube, rank_set::sip}) {
    const group g = map_ranks(small_pod, set);
    CHECK_FALSE(check(validator_of(set), g, layout_of(set)));
    for (const rank_set other : {rank_set::pe, rank_set::cube, rank_set::sip}) {
      INFO(to_string(set) << " with the layout of " << to_string(other));
      CHECK(check(validator_of(set), g, layout_of(other)).has_value() == (set != other));
      if (set != other) CHECK(check(validator_of(other), g, layout_of(other)).has_value());
    }
  }
  const tensor_layout whole{layout::replicate, layout::replicate};
  CHECK_FALSE(check("replicated", members("all_pes"), whole));
  const auto wrong = check("multi_pe_sip_local", members("all_pes"), {layout::row_wise, layout::replicate});
  REQUIRE(wrong);
  CHECK(to_string(*wrong) ==
        "ccl.algorithms.a: the tensor layout does not fit (multi_pe_sip_local) (value row_wise "
        "over cubes, replicate over PEs: 6 shards per SIP; expected 24 (cube_layout, pe_layout))");
}

TEST_CASE("validators look at the PEs, not at how many there are") {
  const machine_shape two_cubes{2, 2, 1, 4};
  const auto rejects = [&](const std::string& name, const std::vector<pe_coord>& listed, tensor_layout l) {
    const group g = mapper("custom").map({two_cubes, listed, "ccl.algorithms.a"});
    for (const validator_entry& v : builtin_validators())
      if (v.name == name) return v.check({two_cubes, g, l, "ccl.algorithms.a"}).has_value();
    throw std::invalid_argument(name);
  };
  const tensor_layout by_cube = layout_of(rank_set::cube), by_sip = layout_of(rank_set::sip);
  CHECK_FALSE(rejects("cube_shards", {at(0, 0, 0), at(0, 1, 3)}, by_cube));
  CHECK(rejects("cube_shards", {at(0, 0, 0), at(0, 0, 1)}, by_cube));
  CHECK_FALSE(rejects("single_shard", {at(0, 0, 2), at(1, 1, 0)}, by_sip));
  // Two on one SIP and none, or one and three: right on average.
  CHECK(rejects("cube_shards", {at(0, 0, 0), at(0, 1, 0), at(0, 1, 1), at(1, 0, 0)}, by_cube));
  CHECK(rejects("multi_pe_sip_local", {at(0, 0, 0), at(0, 0, 1)}, layout_of(rank_set::pe)));
}

TEST_CASE("shards of a vector: every element once, each held by one PE of every SIP") {
  const machine_shape three{3, 2, 2, 3};
  for (const auto cube : {config::layout::column_wise, config::layout::row_wise, config::layout::replicate}) {
    for (const auto pe : {config::layout::column_wise, config::layout::row_wise, config::layout::replicate}) {
      for (const std::uint64_t count : {0, 1, 5, 12, 1000}) {
        CAPTURE(to_string(tensor_layout{cube, pe}), count);
        const auto groups = shard_groups(three, {cube, pe}, count);
        CHECK(groups.size() == shards_per_sip(three, {cube, pe}));
        std::uint64_t next = 0;
        for (const shard_group& g : groups) {
          CHECK(g.begin == next);
          next += g.elements;
          CHECK(g.elements <= count / groups.size() + 2);
          CHECK(g.members.set == rank_set::sip);
          REQUIRE(g.members.members.size() == 3);
          for (std::uint32_t sip = 0; sip < 3; ++sip) {
            const pe_coord m = g.members.members[sip];
            const pe_coord first = g.members.members.front();
            CHECK(m == at(sip, first.cube.value, first.pe.value));
          }
        }
        CHECK(next == count);
      }
    }
  }
}

TEST_CASE("custom patterns number unknown directions in order and know the others") {
  config::custom_pattern p{"mine", {}};
  p.edges.push_back({at(0, 0, 0), "out", at(0, 0, 1), false, "in"});
  p.edges.push_back({at(0, 0, 1), "E", at(0, 0, 0), false, std::nullopt});
  const pattern_entry entry = custom_pattern(p);
  const config::machine_config c;
  const group g{rank_set::pe, {at(0, 0, 0), at(0, 0, 1)}};
  const auto edges = entry.build({c, small_pod, g});
  REQUIRE(edges.size() == 2);
  CHECK(edges[0].dir == first_custom);
  CHECK(edges[0].reverse == first_custom + 1);
  CHECK_FALSE(edges[0].bidirectional);
  CHECK(edges[1].dir == east);
  CHECK(direction_name(entry, edges[0].dir) == "out");
  const group fewer{rank_set::pe, {at(0, 0, 0)}};
  CHECK_THROWS_WITH(entry.build({c, small_pod, fewer}),
                    Catch::Contains("ccl.patterns.mine[0].to") && Catch::Contains("no member"));
}
