// SPDX-License-Identifier: Apache-2.0
#include "models/cost/barrier_cost.hpp"

#include <cmath>

#include "models/comm/sync_layout.hpp"
#include "support/test.hpp"

namespace diecast::test {
namespace {

using comm::barrier_algorithm;

cost::barrier_costs costs(std::uint64_t radix, std::uint32_t parent) {
  config::machine_config c;
  c.pod.sips = 1;
  c.ccl.barrier_radix = radix;
  const fabric::topology t(c);
  const comm::group own = comm::barrier_members(c.shape(), comm::rank_set::cube, {.start = 0, .size = 8});
  return cost::barrier_costs_of(t, c, own, parent);
}

TEST_CASE("barrier costs: a team and the one that makes it need flags for the same algorithm") {
  // Radix 22: one round, 21 flags, for up to 22 ranks; two rounds, 42 of 40 flags, beyond.
  CHECK(std::isfinite(costs(22, 0).of(barrier_algorithm::group_dissemination)));
  CHECK(std::isfinite(costs(22, 22).of(barrier_algorithm::group_dissemination)));
  CHECK(std::isinf(costs(22, 23).of(barrier_algorithm::group_dissemination)));
  CHECK(costs(22, 23).cheapest() != barrier_algorithm::group_dissemination);
  CHECK(costs(22, 22).of(barrier_algorithm::dissemination) ==
        costs(22, 23).of(barrier_algorithm::dissemination));
}

}  // namespace
}  // namespace diecast::test
