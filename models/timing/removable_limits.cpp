// SPDX-License-Identifier: Apache-2.0
#include "models/timing/removable_limits.hpp"

namespace diecast::timing {

void without_refresh(config::hbm_block& h) { h.refresh = config::hbm_refresh::none; }

void without_activate_window(config::hbm_block& h) { h.tfaw_ns = h.trrd_s_ns = h.trrd_l_ns = 0; }

void without_turnaround(config::hbm_block& h) {
  h.twr_ns += h.cwl_ns;
  h.trtw_ns = h.twtr_s_ns = h.twtr_l_ns = h.cwl_ns = h.tccd_r_ns = 0;
  h.cl_ns = 0.01;  // data with its command is refused
}

void without_bank_times(config::hbm_block& h) {
  h.trp_ns = h.trcd_rd_ns = h.trcd_wr_ns = h.tras_ns = h.trc_ns = h.trtp_ns = h.twr_ns = 0;
  h.tccd_l_ns = h.burst_ns;
}

}  // namespace diecast::timing
