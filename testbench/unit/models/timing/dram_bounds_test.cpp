// SPDX-License-Identifier: Apache-2.0
// Closed forms of one channel against figures worked out by hand from the data sheet's times.
#include "dram_blocks.hpp"
#include "models/timing/dram.hpp"
#include "support/test.hpp"

using namespace diecast;
using test::hbm3;

TEST_CASE("DRAM bounds: HBM3 by hand") {
  CHECK(timing::bus_bound(hbm3()).gbytes_s == Approx(2 * 32 / 1.25));
  CHECK(timing::activation_bound(hbm3()).gbytes_s == Approx(2 * 32 / (15.0 / 4)));
  CHECK(std::string(timing::activation_bound(hbm3()).limit) == "tFAW");
  CHECK(timing::row_cycle_bound(hbm3()).gbytes_s == Approx(32 / 45.0));
  CHECK(timing::bank_group_bound(hbm3()).gbytes_s == Approx(2 * 32 / 2.5));
}

TEST_CASE("DRAM bounds: the tightest limit of activations is named") {
  auto h = hbm3();
  h.tfaw_ns = 5;
  h.trrd_s_ns = 3.75;
  CHECK(timing::activation_bound(h).gbytes_s == Approx(2 * 32 / 3.75));
  CHECK(std::string(timing::activation_bound(h).limit) == "tRRD_S");
  // Both pseudo-channels share the row bus: an activation (1.5 clocks) and a precharge (0.5) each.
  h.tfaw_ns = 1.25;
  h.trrd_s_ns = 0.625;
  CHECK(timing::activation_bound(h).gbytes_s == Approx(32 / (2 * 0.625)));
  CHECK(std::string(timing::activation_bound(h).limit) == "row-command bus");
  // One command per clock: two clocks and one.
  h.row_bus = config::hbm_row_bus::full_clock;
  CHECK(timing::activation_bound(h).gbytes_s == Approx(32 / (3 * 0.625)));
  // A slow data bus of one pseudo-channel, whose row bus has nobody else to serve, limits itself.
  h = hbm3();
  h.pseudo_channels = 1;
  h.burst_ns = h.tccd_l_ns = 10;
  CHECK(std::string(timing::activation_bound(h).limit) == "data bus");
}

TEST_CASE("DRAM bounds: what refresh leaves") {
  auto h = hbm3();
  CHECK(timing::refresh_share(h) == Approx(1 - 350.0 / 3900));
  h.refresh = config::hbm_refresh::none;
  CHECK(timing::refresh_share(h) == 1);
  h.refresh = config::hbm_refresh::per_bank;
  CHECK(timing::refresh_share(h) == 1);
}
