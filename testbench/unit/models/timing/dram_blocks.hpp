// SPDX-License-Identifier: Apache-2.0
// The four generations of HBM as the presets have them, and random variations, for tests that have no
// files. That the preset files say the same is tested in
// unit/platforms/config_io/shipped_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "models/config/machine_config.hpp"

namespace diecast::test {

inline config::hbm_block hbm3() {
  config::hbm_block h;
  h.controller_ns = 0;
  return h;
}

inline config::hbm_block hbm3e() {
  config::hbm_block h = hbm3();
  h.burst_ns = 0.8333333333333334;
  return h;
}

inline config::hbm_block hbm2() {
  config::hbm_block h = hbm3();
  h.row_bus = config::hbm_row_bus::full_clock;
  h.sids = 1;
  h.burst_ns = 2;
  h.cl_ns = 14, h.cwl_ns = 5, h.trcd_rd_ns = 14, h.trcd_wr_ns = 12;
  h.trp_ns = 14, h.tras_ns = 34, h.trc_ns = 48, h.trtp_ns = 5, h.twr_ns = 16;
  h.tccd_l_ns = 4, h.tccd_r_ns = 2, h.trrd_s_ns = 4, h.trrd_l_ns = 4, h.tfaw_ns = 15;
  h.twtr_s_ns = 6, h.twtr_l_ns = 8, h.trtw_ns = 13, h.tppd_ns = 0;
  h.trfc_ns = 350, h.trfcpb_ns = 160, h.trrefd_ns = 8;
  return h;
}

inline config::hbm_block hbm4() {
  config::hbm_block h = hbm3();
  h.bank_groups = 2, h.banks_per_group = 8;
  h.burst_ns = 1;
  h.cl_ns = 10, h.cwl_ns = 5, h.trcd_rd_ns = 19.5, h.trcd_wr_ns = 9.5;
  h.trp_ns = 16.5, h.tras_ns = 28.5, h.trc_ns = 45, h.trtp_ns = 6, h.twr_ns = 21;
  h.tccd_l_ns = 2, h.tccd_r_ns = 1, h.trrd_s_ns = 2.5, h.trrd_l_ns = 3.5, h.tfaw_ns = 15;
  h.twtr_s_ns = 4.5, h.twtr_l_ns = 6.5, h.trtw_ns = 12.5, h.tppd_ns = 1;
  h.trfc_ns = 450, h.trfcpb_ns = 280, h.trrefd_ns = 8;
  return h;
}

}  // namespace diecast::test
