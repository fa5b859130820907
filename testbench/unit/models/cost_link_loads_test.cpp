// SPDX-License-Identifier: Apache-2.0
// What links carry of messages that follow their routes.
#include "models/comm/patterns.hpp"
#include "models/cost/algorithm_cost.hpp"
#include "models/cost/link_loads.hpp"
#include "support/machines.hpp"
#include "support/test.hpp"

namespace diecast::cost {
namespace {

std::vector<link_loads::way> ring_of(const config::machine_config& c, const comm::group& g) {
  const std::vector<std::uint32_t> order = comm::ring_order(c.shape(), g);
  std::vector<link_loads::way> ways;
  for (std::size_t i = 0; i < order.size(); ++i) {
    ways.emplace_back(order[i], order[(i + 1) % order.size()]);
    ways.emplace_back(order[(i + 1) % order.size()], order[i]);
  }
  return ways;
}

TEST_CASE("link loads: a ring crosses links of an odd grid twice, of an even one once") {
  for (const auto& [side, times] : {std::pair{2U, 1.0}, {3U, 2.0}}) {
    CAPTURE(side);
    config::machine_config c = test::grid_of_cubes(side);
    c.ucie.format = config::machine_config{}.ucie.format;
    const fabric::topology t(c);
    const comm::group g = comm::map_ranks(c.shape(), comm::rank_set::cube);
    const link_loads loads(t, c);
    const double rate = loads.slowest_gbytes_s(g.members[0], g.members[1]);
    CHECK(rate == Approx(8 * 236.0 / 256));
    const double once = 1e6 * wire_rates(c).wire_bytes_per_byte() / rate;
    CHECK(loads.longest_ns(g, ring_of(c, g), 1e6).value() == Approx(times * once));
    CHECK(loads.longest_ns(g, {{0, 0}}, 1e6).value() == 0);
  }
}

TEST_CASE("link loads: between SIPs the link counts, or the ways of the SIPs to host memory") {
  config::machine_config c = test::grid_of_cubes(2, 3);
  c.pod.topology = config::pod_topology::fully_connected;
  c.sip_link.gbytes_s = 4;
  c.host.staging_gbytes_s = 2;
  const comm::group g = comm::map_ranks(c.shape(), comm::rank_set::cube);
  const std::vector<link_loads::way> ways{{0, 4}, {1, 8}, {5, 9}};  // two out of SIP 0, two into SIP 2
  const double once = 1e6 * wire_rates(c).wire_bytes_per_byte();
  const fabric::topology direct(c);
  CHECK(link_loads(direct, c).longest_ns(g, ways, 1e6).value() == Approx(once / 4));
  c.comm.path = config::transfer_path::staged;
  const fabric::topology staged(c);
  CHECK(link_loads(staged, c).longest_ns(g, ways, 1e6).value() == Approx(2 * once / 2));
  CHECK(link_loads(staged, c).longest_ns(g, {{0, 4}, {4, 0}}, 1e6).value() == Approx(once / 2));
}

TEST_CASE("link loads: links within a cube and those of its PEs count") {
  config::machine_config c = test::machine_of({1, 1, 1, 8});
  const fabric::topology t(c);
  const comm::group g = comm::map_ranks(c.shape(), comm::rank_set::pe);
  const link_loads loads(t, c);
  const wire_rates rates(c);
  const double once = 1e6 * rates.wire_bytes_per_byte() / rates.noc_gbytes_s();
  CHECK(loads.slowest_gbytes_s(g.members[0], g.members[1]) == Approx(rates.noc_gbytes_s()));
  CHECK(loads.longest_ns(g, {{0, 1}}, 1e6).value() == Approx(once));
  CHECK(loads.longest_ns(g, {{0, 1}, {0, 2}}, 1e6).value() == Approx(2 * once));
  CHECK(loads.longest_ns(g, {{1, 0}, {2, 0}, {3, 0}}, 1e6).value() == Approx(3 * once));
}

TEST_CASE("link loads: too many ways are not traced") {
  const config::machine_config c = test::grid_of_cubes(2);
  const fabric::topology t(c);
  const comm::group g = comm::map_ranks(c.shape(), comm::rank_set::cube);
  CHECK_FALSE(link_loads(t, c).longest_ns(g, std::vector<link_loads::way>(100'000, {0, 1}), 1).has_value());
}

TEST_CASE("estimates: over 3 x 3 cubes and slow links packed ways beat rings, over 2 x 2 they do not") {
  for (const auto& [side, better] : {std::pair{2U, false}, {3U, true}}) {
    CAPTURE(side);
    const config::machine_config c = test::grid_of_cubes(side);
    const fabric::topology t(c);
    const comm::group g = comm::map_ranks(c.shape(), comm::rank_set::cube);
    for (const comm::collective what : {comm::collective::all_gather, comm::collective::reduce_scatter}) {
      const bound_request r{what, g, 4 << 20, 0};
      const double ring = estimate_of(t, c, r, "ring_1d")->ns(),
                   routes = estimate_of(t, c, r, "packed_routes")->ns();
      CHECK((routes < 0.6 * ring) == better);
      CHECK(routes < 1.1 * ring);
    }
  }
}

}  // namespace
}  // namespace diecast::cost
