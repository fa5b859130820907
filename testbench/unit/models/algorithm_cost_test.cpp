// SPDX-License-Identifier: Apache-2.0
// What algorithms are expected to take: no less than anything could, and what a missing PE costs.
#include "models/cost/algorithm_cost.hpp"

#include <array>

#include "models/config/population.hpp"
#include "models/cost/staging.hpp"
#include "models/cost/wire_rates.hpp"
#include "models/types/error.hpp"
#include "support/test.hpp"

namespace diecast::cost {
namespace {

using comm::collective;
using comm::rank_set;

constexpr std::array algorithms{"ring_1d",
                                "ring_1d_unidir",
                                "ring_full_tile",
                                "intercube",
                                "mesh_2d",
                                "torus_2d",
                                "tree_binary",
                                "double_binary_tree",
                                "p2p_tree",
                                "hierarchical_3level",
                                "hierarchical_pipelined",
                                "recursive_doubling",
                                "rabenseifner",
                                "swing",
                                "direct_one_shot",
                                "direct_two_shot",
                                "two_level",
                                "recursive_halving",
                                "pairwise",
                                "bruck",
                                "direct",
                                "mesh_steps",
                                "binomial",
                                "packed_trees",
                                "multicast",
                                "in_network"};
constexpr std::array collectives{collective::all_reduce, collective::reduce_scatter, collective::all_gather,
                                 collective::all_to_all, collective::broadcast,      collective::reduce};

config::machine_config machine(std::uint64_t sips, std::uint64_t columns, std::uint64_t rows,
                               std::uint64_t pes) {
  config::machine_config c;
  c.pod.sips = sips;
  c.sip.columns = columns;
  c.sip.rows = rows;
  c.cube.pes = pes;
  c.noc.multicast = c.noc.reduce = true;
  return c;
}

void leave_out(config::machine_config& c, const char* what) {
  config::instance_override& gone = c.overrides.emplace_back();
  gone.match = what;
  gone.enabled = false;
}

/// Expected times of all algorithms that are known for these ranks, against the bound.
unsigned check_above_bound(const config::machine_config& c, rank_set set, std::uint64_t bytes) {
  const fabric::topology t(c);
  const comm::group g = comm::map_ranks(t.population(), set);
  unsigned known = 0;
  for (const collective what : collectives) {
    const bound_request r{what, g, bytes, 0};
    const bound least = lower_bound(t, c, r);
    for (const char* name : algorithms) {
      try {
        const auto expected = estimate_of(t, c, r, name);
        if (!expected) continue;
        ++known;
        INFO(comm::to_string(what) << " " << name << " of " << bytes << " bytes on " << g.members.size()
                                   << " ranks, tensors in " << (has_hbm_tensors(c, what) ? "HBM" : "TCM")
                                   << "; bound by " << least.kind);
        CHECK(expected->ns() >= least.ns);
      } catch (const user_error&) {
        // these ranks do not form what it needs
      }
    }
  }
  return known;
}

TEST_CASE("nothing is expected to be faster than its bound") {
  unsigned known = 0;
  for (const auto tensors : {config::tensor_kind::tcm, config::tensor_kind::hbm}) {
    for (const std::uint64_t bytes : {std::uint64_t{2}, std::uint64_t{4096}, std::uint64_t{65536},
                                      std::uint64_t{262144}, std::uint64_t{1048576}}) {
      for (auto c : {machine(1, 4, 4, 8), machine(2, 2, 1, 4), machine(3, 1, 1, 1), machine(2, 3, 2, 3)}) {
        c.ccl.tensors = tensors;
        known += check_above_bound(c, rank_set::pe, bytes);
        known += check_above_bound(c, rank_set::cube, bytes);
        leave_out(c, "pod.sip0.cube_0_0.pe0");
        known += check_above_bound(c, rank_set::pe, bytes);
      }
    }
  }
  CHECK(known > 2000);
}

TEST_CASE("a missing PE costs halving and doubling a fold between neighbors") {
  constexpr std::uint64_t bytes = 256 * 1024;
  config::machine_config c = machine(2, 4, 4, 8);
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
  config::machine_config c = machine(2, 1, 1, 4);
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

}  // namespace
}  // namespace diecast::cost
