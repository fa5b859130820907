// SPDX-License-Identifier: Apache-2.0
// deadlock.json: who waited for whom when nothing moved any more.
#pragma once

#include <string>
#include <vector>

#include "models/analysis/wait_for.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// schema diecast.deadlock/1: every waiting queue pair with its four pointers, the wait edges and
/// their roots.
[[nodiscard]] std::string deadlock_json(const prepared_run& run, const analysis::wait_for_report& report,
                                        const std::vector<analysis::pe_dump>& dumps);

}  // namespace diecast::platforms
