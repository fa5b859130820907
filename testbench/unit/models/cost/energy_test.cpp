// SPDX-License-Identifier: Apache-2.0
#include "models/cost/energy.hpp"

#include <string_view>

#include "support/test.hpp"

using namespace diecast;

namespace {

double part(const std::vector<cost::energy_part>& parts, std::string_view name) {
  for (const cost::energy_part& p : parts)
    if (p.name == name) return p.pj;
  FAIL("no part " << name);
  return 0;
}

}  // namespace

TEST_CASE("energy: every count is charged to one part, at its own coefficient") {
  config::machine_config c;
  cost::activity a;
  a.router_bytes = 1000;
  a.link_bytes = 500;
  a.dma_bytes = 300;
  a.die_to_die_pj = 77;
  a.sip_link_bytes = 10;
  a.tcm_bytes = 8;
  a.sram_bytes = 8;
  a.hbm_bytes = 2;
  a.hbm_activates = 3;
  a.hbm_all_bank_refreshes = 1;
  a.hbm_bank_refreshes = 8;
  a.vector_elements = {5, 5, 10, 100};  // f16, bf16, f32, i32
  const auto parts = cost::energy_of(a, c);
  CHECK(part(parts, "router") == Approx(1000 * 0.10));
  CHECK(part(parts, "link") == Approx(500 * 0.05));
  CHECK(part(parts, "dma") == Approx(300 * 0.10));
  CHECK(part(parts, "die_to_die") == Approx(77));
  CHECK(part(parts, "sip_link") == Approx(10 * 8 * 5.0));
  CHECK(part(parts, "tcm") == Approx(8 * 1.25));
  CHECK(part(parts, "sram") == Approx(8 * 2.5));
  CHECK(part(parts, "hbm") == Approx(2 * 30.5 + 3 * 900.0 + 28'800.0 + 8 * 900.0));
  CHECK(part(parts, "vector") == Approx(10 * 0.4 + 10 * 0.9 + 100 * 0.1));
  CHECK(part(parts, "idle") == 0);
  double sum = 0;
  for (const auto& p : parts) sum += p.pj;
  CHECK(cost::total_pj(parts) == sum);
}

TEST_CASE("energy: what stands idle pays by time") {
  config::machine_config c;
  cost::activity a;
  a.seconds = 1e-6;
  a.pes = 8;
  a.cubes = 1;
  // 8 x 20 mW + 500 mW over 1 us.
  CHECK(part(cost::energy_of(a, c), "idle") == Approx(0.66 * 1e-6 * 1e12));
}

TEST_CASE("energy: a stream of whole HBM rows costs 3.92 pJ per bit") {
  config::machine_config c;
  cost::activity a;
  a.hbm_bytes = c.hbm.page_bytes;
  a.hbm_activates = 1;
  const double per_bit = part(cost::energy_of(a, c), "hbm") / (8.0 * static_cast<double>(c.hbm.page_bytes));
  CHECK(per_bit == Approx(3.92).epsilon(0.01));
}

TEST_CASE("energy: bits reduced are those of all vectors but one") {
  CHECK(cost::pj_per_bit_reduced(800, 100, 2) == Approx(1));
  CHECK(cost::pj_per_bit_reduced(800, 100, 5) == Approx(0.25));
}
