// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "models/config/rows.hpp"

namespace diecast::config {

std::span<const block_table> tables() {
  static const std::array all{
      sim_table(),  pod_table(),       sip_table(), cube_table(), placement_table(), pe_table(),
      ipcq_table(), tag_match_table(), noc_table(), ucie_table(), sip_link_table(),  hbm_table(),
      sram_table(), host_table(),      ccl_table(), comm_table(), energy_table(),    trace_table()};
  return all;
}

}  // namespace diecast::config
