// SPDX-License-Identifier: Apache-2.0
// Closed forms: what one DRAM channel can reach when a single constraint limits it, for reads of a burst
// each. No simulation comes above them.
#pragma once

#include "models/config/machine_config.hpp"

namespace diecast::timing {

/// Data rate of an HBM port, all its pseudo-channels together, 1e9 bytes/s; of either hbm.model.
[[nodiscard]] double port_gbytes_s(const config::hbm_block& hbm);

struct dram_bound {
  double gbytes_s{};
  const char* limit{};  ///< the constraint, as data sheets name it
};

/// The data bus without a pause.
[[nodiscard]] dram_bound bus_bound(const config::hbm_block& hbm);
/// One activation per burst: the tightest of tFAW, tRRD and the row-command bus that the
/// pseudo-channels share (an activation and a precharge each).
[[nodiscard]] dram_bound activation_bound(const config::hbm_block& hbm);
/// One bank, another row each time: an access per tRC.
[[nodiscard]] dram_bound row_cycle_bound(const config::hbm_block& hbm);
/// One open row per pseudo-channel: a burst per tCCD_L.
[[nodiscard]] dram_bound bank_group_bound(const config::hbm_block& hbm);

/// Share of time that refresh leaves: 1 - tRFC / tREFI with all-bank refresh, 1 without. With per-bank
/// refresh there is no closed form; 1 is its upper limit.
[[nodiscard]] double refresh_share(const config::hbm_block& hbm);

}  // namespace diecast::timing
