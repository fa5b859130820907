// SPDX-License-Identifier: Apache-2.0
// deadlock.json: who waited for whom when nothing moved any more.
#pragma once

#include <string>
#include <vector>

#include "models/analysis/barrier_checker.hpp"
#include "models/analysis/wait_for.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// schema diecast.deadlock/1: `why` the run ended; state and step of every PE; every queue pair that is
/// not at rest with its pointers and last sequences; messages and credits in flight; the wait edges and
/// their roots; every wait for a signal in global memory with what caches and memory hold of it (`signals`);
/// the report as text.
[[nodiscard]] std::string deadlock_json(const prepared_run& run, const analysis::wait_for_report& report,
                                        const analysis::stopped_machine& machine,
                                        const std::vector<analysis::watched_word>& words,
                                        const std::string& why);

}  // namespace diecast::platforms
