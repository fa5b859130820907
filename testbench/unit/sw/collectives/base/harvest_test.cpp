// SPDX-License-Identifier: Apache-2.0
// Collectives and barriers on machines that lack PEs and memory channels: every kernel either gives every
// rank the right result or refuses the machine and says why.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include <rapidcheck.h>

#include "models/types/error.hpp"
#include "support/part.hpp"
#include "support/test.hpp"
#include "unit/sw/collectives/barrier/barrier_bench.hpp"
#include "unit/sw/collectives/base/collective_bench.hpp"
#include "unit/sw/collectives/base/moves_bench.hpp"

namespace diecast::test {
namespace {

/// Small, so that shrunk machines stay readable; one to three SIPs, so that every level has its turn.
machine_shape any_shape() {
  machine_shape s;
  s.sips = *rc::gen::inRange(1U, 4U).as("SIPs");
  s.cube_columns = *rc::gen::inRange(1U, 4U).as("columns");
  s.cube_rows = *rc::gen::inRange(1U, 3U).as("rows");
  s.pes_per_cube = *rc::gen::inRange(1U, 5U).as("PEs");
  return s;
}

config::instance_override off(const std::string& name) { return {.match = name, .enabled = false}; }

/// Some PEs by name, or one number in every cube; at least one PE stays.
std::vector<config::instance_override> any_missing_pes(const machine_shape& shape) {
  std::vector<config::instance_override> missing;
  if (shape.pes_per_cube > 1 && *rc::gen::inRange(0, 3).as("of every cube, if 0") == 0) {
    missing.push_back(off(fmt::format("*.pe{}", *rc::gen::inRange(0U, shape.pes_per_cube).as("PE"))));
  }
  const auto some = *rc::gen::inRange(0U, 1 + shape.pes() / 3).as("missing PEs");
  for (std::uint32_t i = 0; i < some; ++i) {
    missing.push_back(off(pe_path(shape, shape.pe_at(*rc::gen::inRange(0U, shape.pes()).as("PE")))));
  }
  config::machine_config c;
  c.pod.sips = shape.sips;
  c.sip.columns = shape.cube_columns;
  c.sip.rows = shape.cube_rows;
  c.cube.pes = shape.pes_per_cube;
  c.overrides = missing;
  if (config::population(c).pes().empty()) missing.pop_back();
  c.overrides = missing;
  RC_PRE(!config::population(c).pes().empty());
  return missing;
}

/// Of each cube at most all channels but one.
void add_missing_channels(const machine_shape& shape, std::vector<config::instance_override>& overrides) {
  for (std::uint32_t n = 0; n < shape.cubes(); ++n) {
    const std::string cube =
        cube_path(shape, sip_id{n / shape.cubes_per_sip()}, cube_id{n % shape.cubes_per_sip()});
    const auto kept = *rc::gen::inRange(0U, 16U).as("channel that stays");
    for (std::uint32_t i = 0; i < 16; ++i) {
      if (i != kept && *rc::gen::inRange(0, 3) > 0)
        overrides.push_back(off(fmt::format("{}.hbm{}", cube, i)));
    }
  }
}

/// Why a kernel may refuse: each says what of the machine it does not fit.
bool says_why(const std::string& text) {
  static const std::vector<std::string> reasons{"the members do not fill a rectangle of cubes and PEs",
                                                "the members are not one PE of every cube",
                                                "ipcq.queue_pairs is too small for this pattern"};
  return std::any_of(reasons.begin(), reasons.end(),
                     [&text](const std::string& r) { return text.find(r) != std::string::npos; });
}

struct tally {
  std::size_t right{}, refused{};
};

using tallies = std::map<std::string, tally>;

void count(tallies& all, const std::string& kernel, const std::string& wrong) {
  if (wrong.empty()) {
    ++all[kernel].right;
  } else if (says_why(wrong)) {
    ++all[kernel].refused;
  } else {
    RC_FAIL(kernel + ": " + wrong);
  }
}

config::buffer_kind any_rings() {
  return *rc::gen::element(config::buffer_kind::tcm, config::buffer_kind::sram, config::buffer_kind::hbm)
              .as("rings");
}
sw::schedule order_of_tasks() {
  return *rc::gen::element(sw::schedule::round_robin, sw::schedule::random, sw::schedule::adversarial)
              .as("order");
}

/// Every kernel of the set once; its machine and job.
void run_all(tallies& all, const machine_shape& shape, comm::rank_set set,
             const std::vector<config::instance_override>& overrides) {
  const auto rings = any_rings();
  const auto order = order_of_tasks();
  const auto elements = *rc::gen::inRange<std::uint64_t>(0, 300).as("elements");
  for (const sw::kernel_entry& k : sw::builtin_kernels()) {
    if (k.collective == "barrier") continue;
    if (std::find(k.rank_sets.begin(), k.rank_sets.end(), set) == k.rank_sets.end()) continue;
    const std::string name = k.collective + " " + k.name;
    if (k.collective == "all_reduce") {
      matrix_row row{.algorithm = k.name, .shape = shape, .ranks = set, .count = elements, .order = order};
      row.rings = rings;
      row.overrides = overrides;
      count(all, name, run_row(row));
    } else {
      move_row row{.collective = k.collective, .algorithm = k.name, .shape = shape, .ranks = set};
      row.count = elements;
      row.order = order;
      row.rings = rings;
      row.overrides = overrides;
      count(all, name, run_move(row));
    }
  }
}

TEST_CASE("harvest: every kernel is right on what is left of a machine, or says why not", "[both]") {
  tallies all;
  CHECK(rc::check("kernels", [&all] {
    const machine_shape shape = any_shape();
    auto overrides = any_missing_pes(shape);
    if (*rc::gen::arbitrary<bool>().as("missing channels")) add_missing_channels(shape, overrides);
    const auto set =
        *rc::gen::element(comm::rank_set::pe, comm::rank_set::cube, comm::rank_set::sip).as("ranks");
    run_all(all, shape, set, overrides);
  }));
  // What needs no shape never refuses; what does is right often enough to have been tested.
  for (const auto& [kernel, t] : all) {
    INFO(kernel << ": " << t.right << " right, " << t.refused << " refused");
    CHECK(t.right >= test::in_part(1U, 10));
    const bool wants_shape =
        kernel.find("mesh_2d") != std::string::npos || kernel.find("torus_2d") != std::string::npos ||
        kernel.find("mesh_steps") != std::string::npos || kernel.find("intercube") != std::string::npos;
    if (!wants_shape) CHECK(t.refused == 0);
  }
}

TEST_CASE("harvest: cubes that lack a PE each are still a grid of ranks") {
  for (const char* algorithm : {"mesh_2d", "torus_2d", "hierarchical_3level", "hierarchical_pipelined"}) {
    matrix_row row{.algorithm = algorithm, .shape = {2, 2, 2, 4}, .count = 100};
    row.overrides = {off("*cube_0_0.pe0"), off("*cube_1_0.pe3"), off("*cube_?_1.pe2")};
    INFO(algorithm);
    CHECK(run_row(row).empty());
  }
}

/// Long enough that the number of chunks depends on the depth, which is another in a cube of three PEs.
TEST_CASE("harvest: cubes of unequal size cut the vector into as many chunks") {
  matrix_row row{.algorithm = "hierarchical_pipelined", .shape = {1, 2, 1, 8}, .count = 16'384};
  row.slot_bytes = 1024;
  for (const unsigned pe : {0U, 2U, 3U, 5U, 7U})
    row.overrides.push_back(off(fmt::format("pod.sip0.cube_1_0.pe{}", pe)));
  CHECK(run_row(row) == "");
}

TEST_CASE("harvest: the first PE that is left leads its cube and its SIP") {
  config::machine_config c;
  c.pod.sips = 2;
  c.sip.columns = c.sip.rows = 2;
  c.cube.pes = 2;
  c.overrides = {off("pod.sip0.cube_0_0.pe0"), off("pod.sip1.cube_0_0.pe?"), off("pod.sip1.cube_1_1.pe0")};
  const config::population there(c);
  CHECK(comm::map_ranks(there, comm::rank_set::pe).members.size() == 12);
  const comm::group cubes = comm::map_ranks(there, comm::rank_set::cube);
  REQUIRE(cubes.members.size() == 7);
  CHECK(cubes.members.front() == pe_coord{sip_id{0}, cube_id{0}, pe_id{1}});
  CHECK(cubes.members.back() == pe_coord{sip_id{1}, cube_id{3}, pe_id{1}});
  const comm::group sips = comm::map_ranks(there, comm::rank_set::sip);
  REQUIRE(sips.members.size() == 2);
  CHECK(sips.members[1] == pe_coord{sip_id{1}, cube_id{1}, pe_id{0}});
  CHECK(comm::replaced_leaders(there, cubes) ==
        std::vector<std::string>{"pod.sip0.cube_0_0.pe0 is missing: pod.sip0.cube_0_0.pe1 leads the cube",
                                 "pod.sip1.cube_1_1.pe0 is missing: pod.sip1.cube_1_1.pe1 leads the cube"});
  CHECK(comm::replaced_leaders(there, sips) ==
        std::vector<std::string>{"pod.sip0.cube_0_0.pe0 is missing: pod.sip0.cube_0_0.pe1 leads the sip",
                                 "pod.sip1.cube_0_0.pe0 is missing: pod.sip1.cube_1_0.pe0 leads the sip"});
}

/// Words of one PE must be no other's, whichever channels are left.
TEST_CASE("harvest: homes in memory are different for different PEs and lie in channels that are there") {
  CHECK(rc::check("homes", [] {
    const machine_shape shape = any_shape();
    config::machine_config c;
    c.pod.sips = shape.sips;
    c.sip.columns = shape.cube_columns;
    c.sip.rows = shape.cube_rows;
    c.cube.pes = *rc::gen::inRange(1U, 20U).as("PEs");
    add_missing_channels(shape, c.overrides);
    const config::memory_channels channels(c);
    std::set<std::tuple<sip_id, cube_id, std::uint32_t, std::uint32_t>> homes;
    const machine_shape whole = c.shape();
    for (std::uint32_t i = 0; i < whole.pes(); ++i) {
      const pe_coord pe = whole.pe_at(i);
      RC_ASSERT(channels.has(pe.sip, pe.cube, channels.home_of(pe)));
      RC_ASSERT(channels.place_of(pe) < channels.sharers());
      RC_ASSERT(homes.emplace(pe.sip, pe.cube, channels.home_of(pe), channels.place_of(pe)).second);
    }
  }));
}

TEST_CASE("harvest: a cube without a channel has no home for its PEs' data") {
  config::machine_config c;
  c.overrides = {off("pod.sip0.cube_1_0.hbm*")};
  const config::memory_channels channels(c);
  CHECK(channels.home_of({}) == 0);
  CHECK_THROWS_WITH(channels.home_of({sip_id{0}, cube_id{1}, pe_id{0}}),
                    Catch::Contains("no memory channel") && Catch::Contains("pod.sip0.cube_1_0"));
}

TEST_CASE("harvest: barriers of ranks that have fewer PEs than others keep their promise") {
  CHECK(rc::check("barriers", [] {
    barrier_case c;
    c.world = *rc::gen::inRange(2U, 9U).as("cubes");
    c.cores = *rc::gen::inRange(2U, 7U).as("PEs of a cube");
    c.how =
        *rc::gen::element(comm::barrier_algorithm::dissemination, comm::barrier_algorithm::centralized_pull,
                          comm::barrier_algorithm::group_dissemination)
             .as("algorithm");
    c.radix = *rc::gen::inRange(2U, 9U).as("radix");
    c.order = order_of_tasks();
    c.seed = *rc::gen::arbitrary<std::uint32_t>().as("seed");
    c.skew = *rc::gen::inRange(0U, 20U).as("skew");
    c.repeats = 20;
    c.overrides = any_missing_pes({1, c.world, 1, c.cores});
    add_missing_channels({1, c.world, 1, c.cores}, c.overrides);
    config::machine_config m;
    m.pod.sips = 1;
    m.sip.columns = c.world;
    m.sip.rows = 1;
    m.cube.pes = c.cores;
    m.overrides = c.overrides;
    c.team = {0, 1, comm::world_size(config::population(m), comm::rank_set::cube), {}};
    const barrier_result r = barrier_machine(c).run();
    if (!r.trap.empty()) RC_FAIL(r.trap);
    if (!r.outcome.finished) RC_FAIL(r.outcome.deadlock);
    RC_ASSERT(r.escapes == 0U);
    const auto work = comm::work_of(c.how, c.team.size, c.radix).value();
    RC_ASSERT(r.signals_set == work.signals_set * c.team.size * c.repeats);
    RC_ASSERT(r.flags_checked == work.flags_checked * c.team.size * c.repeats);
  }));
}

}  // namespace
}  // namespace diecast::test
