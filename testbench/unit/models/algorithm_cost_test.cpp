// SPDX-License-Identifier: Apache-2.0
// What algorithms are expected to take: no less than anything could, and what a missing PE costs.
#include "models/cost/algorithm_cost.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/config/population.hpp"
#include "models/cost/formula_base.hpp"
#include "models/cost/staging.hpp"
#include "models/cost/step_cost.hpp"
#include "models/cost/tree_walk.hpp"
#include "models/cost/wire_rates.hpp"
#include "models/types/error.hpp"
#include "support/machines.hpp"
#include "support/test.hpp"

namespace diecast::cost {
namespace {

using comm::collective;
using comm::rank_set;

void leave_out(config::machine_config& c, const char* what) {
  config::instance_override& gone = c.overrides.emplace_back();
  gone.match = what;
  gone.enabled = false;
}

using known_rows = std::set<std::pair<collective, std::string>>;

/// Expected times of all algorithms that are known for these ranks, against the bound; those go to `known`.
void check_above_bound(const config::machine_config& c, rank_set set, std::uint64_t bytes, std::uint32_t root,
                       known_rows& known) {
  const fabric::topology t(c);
  const comm::group g = comm::map_ranks(t.population(), set);
  std::map<collective, bound> bounds;
  for (const formula_row& row : all_formulas()) {
    const bound_request r{row.what, g, bytes, comm::has_root(row.what) && g.members.size() > 1 ? root : 0};
    const auto at = bounds.find(row.what);
    const bound& least = at != bounds.end() ? at->second : bounds[row.what] = lower_bound(t, c, r);
    try {
      const auto expected = estimate_of(t, c, r, row.algorithm);
      REQUIRE(expected.has_value());
      known.emplace(row.what, row.algorithm);
      INFO(comm::to_string(row.what) << " " << row.algorithm << " of " << bytes << " bytes on "
                                     << g.members.size() << " ranks, root " << root << ", tensors in "
                                     << (has_hbm_tensors(c, row.what) ? "HBM" : "TCM") << "; bound by "
                                     << least.kind);
      CHECK(expected->ns() >= least.ns);
    } catch (const user_error&) {
      // these ranks do not form what it needs
    }
  }
}

TEST_CASE("nothing is expected to be faster than its bound", "[long]") {
  known_rows known;
  for (const auto tensors : {config::tensor_kind::tcm, config::tensor_kind::hbm}) {
    for (const auto& [bytes, root] :
         {std::pair{2U, 0U}, {4096U, 1U}, {65536U, 0U}, {262144U, 1U}, {1048576U, 0U}}) {
      for (const machine_shape& s : {machine_shape{1, 4, 4, 8}, machine_shape{2, 2, 1, 4},
                                     machine_shape{3, 1, 1, 1}, machine_shape{2, 3, 2, 3}}) {
        config::machine_config c = test::machine_with_trees(s);
        c.ccl.tensors = tensors;
        check_above_bound(c, rank_set::pe, bytes, root, known);
        check_above_bound(c, rank_set::cube, bytes, root, known);
        leave_out(c, "pod.sip0.cube_0_0.pe0");
        check_above_bound(c, rank_set::pe, bytes, root, known);
      }
    }
  }
  for (const formula_row& row : all_formulas()) {
    CAPTURE(comm::to_string(row.what), row.algorithm);
    CHECK(known.count({row.what, row.algorithm}) == 1);
  }
}

TEST_CASE("nothing is expected to take less than no time, and no byte no longer than one element") {
  std::size_t asked = 0;
  for (const machine_shape& s : {machine_shape{2, 2, 2, 2}, machine_shape{1, 3, 3, 1}}) {
    const config::machine_config c = test::machine_with_trees(s);
    const fabric::topology t(c);
    for (const rank_set set : {rank_set::pe, rank_set::cube}) {
      const comm::group g = comm::map_ranks(t.population(), set);
      for (const formula_row& row : all_formulas()) {
        INFO(comm::to_string(row.what) << " " << row.algorithm << ", " << g.members.size() << " ranks");
        try {
          const double none = estimate_of(t, c, {row.what, g, 0, 0}, row.algorithm)->ns();
          const double one = estimate_of(t, c, {row.what, g, shortest_element, 0}, row.algorithm)->ns();
          CHECK(none >= 0);
          CHECK(none <= one);
          ++asked;
        } catch (const user_error&) {
          // these ranks do not form what it needs
        }
      }
    }
  }
  CHECK(asked > 2 * all_formulas().size());
}

TEST_CASE("a message takes the slots that its bytes fill, and nobody sends an empty one") {
  const config::machine_config c = test::machine_of({2, 2, 2, 2});
  const fabric::topology t(c);
  const step_cost step(t, c);
  const double slot = step.slot_bytes();
  struct row {
    double bytes, slots, more;
  };
  for (const row& r : {row{0, 0, 0}, {2, 1, 0}, {slot, 1, 0}, {slot + 2, 2, 1}, {7 * slot, 7, 6}}) {
    CAPTURE(r.bytes);
    CHECK(step.slots_of(r.bytes) == r.slots);
    CHECK(step.more_slots_of(r.bytes) == r.more);
  }
  const comm::group g = comm::map_ranks(t.population(), rank_set::pe);
  const auto ranks = static_cast<unsigned>(g.members.size());
  // The first look at every queue pair, and the two at the end.
  const double looks = step.first_use_ns(half_registers * (ranks - 1)) + 2 * step.register_ns();
  for (const collective what : {collective::gather, collective::scatter})
    CHECK(estimate_of(t, c, {what, g, 0, 0}, "linear")->steps_ns == Approx(looks));
}

TEST_CASE("where a root is costs the edges of its tree, nothing else") {
  const config::machine_config c = test::machine_of({1, 4, 4, 8});
  const fabric::topology t(c);
  const comm::group g = comm::map_ranks(t.population(), rank_set::pe);
  for (const collective what : {collective::gather, collective::scatter}) {
    const auto steps = [&](const char* name, std::uint32_t root) {
      return estimate_of(t, c, {what, g, 64ULL * 1024, root}, name)->steps_ns;
    };
    CAPTURE(comm::to_string(what));
    CHECK(steps("linear", 1) == Approx(steps("linear", 0)).epsilon(0.05));
    // Edges over 1, 2 and 4 ranks lie within a cube from PE 0 on, from PE 1 on some do not: the machine takes
    // 20% longer for it.
    const double first = steps("binomial", 0), second = steps("binomial", 1);
    CHECK(second > 1.05 * first);
    CHECK(second < 1.3 * first);
  }
}

TEST_CASE("a tree is as slow as its slowest way, not as the dearest edge of every level") {
  const config::machine_config c = test::machine_of({2, 4, 4, 8});
  const fabric::topology t(c);
  const comm::group all = comm::map_ranks(t.population(), rank_set::cube);
  comm::group g = all;
  g.members = {all.members[0], all.members[16], all.members[17]};
  const step_cost step(t, c);
  // One edge between SIPs, then one within.
  const std::vector<comm::tree_node> chain{{std::nullopt, {1}}, {0U, {2}}, {1U, {}}};
  const tree_walk walk(step, g, chain);
  const auto edge = [&](std::uint32_t from, std::uint32_t to, bool reduces) {
    return step.exchange_ns(g.members[from], g.members[to], {64, reduces, 1, false});
  };
  const auto bytes = [](std::uint32_t) { return 64.0; };
  CHECK(walk.down(bytes) == Approx(edge(0, 1, false) + edge(1, 2, false)));
  CHECK(walk.up(bytes, true) == Approx(edge(2, 1, true) + edge(1, 0, true)));
  CHECK(walk.down(bytes) < 1.8 * edge(0, 1, false));
  // What is sent on before it is copied saves the copy of all members but the last.
  CHECK(walk.handed_down(bytes) == Approx(walk.down(bytes) - step.take_ns(64, false)));
  // A second child is sent to while the first one's message is on its way, and its sum waits for the other.
  const std::vector<comm::tree_node> star{{std::nullopt, {1, 2}}, {0U, {}}, {0U, {}}};
  const tree_walk both(step, g, star);
  CHECK(both.down(bytes) == Approx(edge(0, 2, false) + step.send_ns() + step.register_ns()));
  CHECK(both.up(bytes, true) ==
        Approx(std::max(edge(1, 0, true) + step.take_ns(64, true), edge(2, 0, true))));
}

TEST_CASE("sums go up slot by slot: near children are added while far ones are on their way") {
  const config::machine_config c = test::machine_of({1, 4, 4, 8});
  const fabric::topology t(c);
  const comm::group g = comm::map_ranks(t.population(), rank_set::cube);
  const step_cost step(t, c);
  const double slot = step.slot_bytes(), wire = 140;
  const auto edge = [&](std::uint32_t from, std::uint32_t to) {
    return step.exchange_ns(g.members[from], g.members[to], {slot, true, 1, false});
  };
  const std::vector<comm::tree_node> chain{{std::nullopt, {1}}, {0U, {2}}, {1U, {}}};
  const tree_walk down_a_chain(step, g, chain);
  CHECK(down_a_chain.sums_up(slot, wire) == Approx(edge(2, 1) + edge(1, 0)));
  // Every further slot comes a slot's time later, however many hops there are.
  CHECK(down_a_chain.sums_up(5 * slot, wire) == Approx(edge(2, 1) + edge(1, 0) + 4 * wire));
  // A root with a leaf and a chain below it: of many slots it is its own interface that counts.
  const std::vector<comm::tree_node> both{{std::nullopt, {3, 1}}, {0U, {2}}, {1U, {}}, {0U, {}}};
  const tree_walk walk(step, g, both);
  CHECK(walk.sums_up(slot, wire) == Approx(edge(2, 1) + edge(1, 0)));
  CHECK(walk.sums_up(64 * slot, wire) == Approx(std::min(edge(1, 0), edge(3, 0)) + (2 * 64 - 1) * wire));
}

TEST_CASE("chunks are no faster over a hop than messages of their own") {
  config::machine_config c = test::machine_of({2, 4, 4, 8});
  leave_out(c, "pod.sip0.cube_0_0.pe0");
  const auto expected = [&c](const char* name, std::uint64_t bytes) {
    const fabric::topology t(c);
    const comm::group g = comm::map_ranks(t.population(), rank_set::pe);
    return estimate_of(t, c, {collective::all_reduce, g, bytes, 0}, name)->ns();
  };
  // 13 hops there and 13 back, whatever the size of the chunks: the machine takes 21 us for 64 KiB.
  const double small = expected("hierarchical_pipelined", 64);
  constexpr std::uint64_t bytes = 64ULL * 1024;
  const double large = expected("hierarchical_pipelined", bytes);
  CHECK(large > small + 7 * 5 * static_cast<double>(bytes) / 8 / 64.0);
  CHECK(large > expected("double_binary_tree", bytes));
  CHECK(large > expected("rabenseifner", bytes));
}

TEST_CASE("a ring is as slow as its slowest edge: credits of the way between SIPs come late") {
  const config::machine_config c = test::machine_of({2, 4, 4, 8});
  const fabric::topology t(c);
  const comm::group g = comm::map_ranks(t.population(), rank_set::pe);
  const step_cost step(t, c);
  const double between = step.slot_interval_ns(g.members[127], g.members[128], {4, false, 2, true, true});
  CHECK(between > 1.3 * step.slot_interval_ns(g.members[0], g.members[1], {4, false, 2, true, true}));
  const auto ring = estimate_of(t, c, {collective::all_gather, g, 1024, 0}, "ring_1d");
  CHECK(ring->steps_ns > 255 * between);
}

TEST_CASE("a missing PE costs halving and doubling a fold between neighbors") {
  constexpr std::uint64_t bytes = 256ULL * 1024;
  config::machine_config c = test::machine_with_trees({2, 4, 4, 8});
  const auto expected = [&c] {
    const fabric::topology t(c);
    const comm::group g = comm::map_ranks(t.population(), rank_set::pe);
    return estimate_of(t, c, {collective::all_reduce, g, bytes, 0}, "rabenseifner")->ns();
  };
  const double whole = expected();
  leave_out(c, "pod.sip1.cube_2_1.pe5");
  CHECK(expected() > whole);
  CHECK(expected() < 2.5 * whole);
}

TEST_CASE("steps of partners take what the narrowest place between them lets through") {
  // Ranks 0 to 3 on one side of a SIP link, 4 to 7 on the other: step 2 takes all four vectors over it.
  config::machine_config c = test::machine_with_trees({2, 1, 1, 4});
  constexpr double bytes = 1 << 20;
  const fabric::topology t(c);
  const comm::group g = comm::map_ranks(t.population(), rank_set::pe);
  const wire_rates rates(c);
  const auto wires = [&](const char* name, std::uint64_t n) {
    return estimate_of(t, c, {collective::all_reduce, g, n, 0}, name)->wires_ns;
  };
  const double link = 4 * bytes * rates.wire_bytes_per_byte() / rates.sip_link_gbytes_s(t, 0);
  const double interface = bytes * rates.wire_bytes_per_byte() / rates.noc_gbytes_s();
  const auto slope = [&](const char* name) { return wires(name, 1 << 21) - wires(name, 1 << 20); };
  CHECK(slope("recursive_doubling") == Approx(2 * interface + link));
  // Halves, quarters and eighths, there and back.
  CHECK(slope("rabenseifner") == Approx(2 * (0.75 * interface + link / 8)));
}

TEST_CASE("rounds of distances take what leaves a SIP, staged or not, traced or not") {
  constexpr std::uint64_t bytes = 1 << 20;
  const auto wires = [](const config::machine_config& c, const comm::group& g, collective what) {
    const fabric::topology t(c);
    return estimate_of(t, c, {what, g, bytes, 0},
                       what == collective::all_gather ? "bruck" : "recursive_halving")
        ->wires_ns;
  };
  // Two SIPs of 128 PEs are traced, 40 of them are not.
  for (const std::uint32_t sips : {2U, 40U}) {
    for (const auto path : {config::transfer_path::direct, config::transfer_path::staged}) {
      config::machine_config c = test::machine_of({sips, 4, 4, 8});
      c.sip_link.gbytes_s = c.host.staging_gbytes_s = 0.25;
      c.comm.path = path;
      const comm::group g = comm::map_ranks(c.shape(), rank_set::pe);
      for (const collective what : {collective::all_gather, collective::reduce_scatter}) {
        CAPTURE(sips, static_cast<int>(path), comm::to_string(what));
        // What the other SIPs have, or want, crosses each SIP's border at least.
        CHECK(wires(c, g, what) >=
              bytes * (1 - 1.0 / sips) / 0.25 / (path == config::transfer_path::direct ? 4 : 1));
      }
    }
  }
}

}  // namespace
}  // namespace diecast::cost
