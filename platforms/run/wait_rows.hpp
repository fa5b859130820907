// SPDX-License-Identifier: Apache-2.0
// How long each core waited, by cause: waits.csv.
#pragma once

#include <functional>
#include <string>

#include "models/analysis/waited_time.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// Names of the columns behind run.
[[nodiscard]] std::string wait_columns();

/// A line per member that is `here`: its path and nanoseconds by cause; never_ended_ns is a wait open at
/// `now`.
[[nodiscard]] std::string wait_rows(const prepared_run& run, const analysis::waited_time& waits, sim_time now,
                                    const std::function<bool(sip_id)>& here);

}  // namespace diecast::platforms
