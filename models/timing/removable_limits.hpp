// SPDX-License-Identifier: Apache-2.0
// A memory without one of its limits: tests compare the account of lost time with it, and studies run it to
// measure the cost of a limit.
#pragma once

#include <array>

#include "models/config/machine_config.hpp"
#include "models/timing/lost_time.hpp"

namespace diecast::timing {

/// No refresh.
void without_refresh(config::hbm_block& h);
/// No window of four activations, and no distance between two: tFAW, tRRD.
void without_activate_window(config::hbm_block& h);
/// No change of direction or stack ID on the data bus: tRTW, tWTR, tCCD_R, and the latencies tCL and tCWL
/// that the bus waits for. A bank recovers after a write as before: from its command, after tCWL and tWR.
void without_turnaround(config::hbm_block& h);
/// No time of a bank or bank group: tRP, tRCD, tRAS, tRC, tRTP, tWR, tCCD_L.
void without_bank_times(config::hbm_block& h);

struct removable_limit {
  lost_cause cause;
  void (*remove)(config::hbm_block&);
};
/// Every cause of lost time but the row-command bus and the initiator, which no setting takes away.
inline constexpr std::array<removable_limit, 4> removable_limits{
    {{lost_cause::refresh, without_refresh},
     {lost_cause::activate_window, without_activate_window},
     {lost_cause::turnaround, without_turnaround},
     {lost_cause::bank_conflict, without_bank_times}}};

}  // namespace diecast::timing
