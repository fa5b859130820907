// SPDX-License-Identifier: Apache-2.0
// Ops and streams of a workload in results.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "platforms/run/run_point.hpp"

namespace diecast::platforms {

/// Adds "ops" and "streams" to the object of a run of a workload; nothing to that of another run.
void write_workload(const run_outcome& o, nlohmann::ordered_json& run);
/// Inverse of write_workload.
void read_workload(const nlohmann::ordered_json& run, run_outcome& o);

/// The streams and the first ops as text, under the run's row; empty for a run that is no workload.
[[nodiscard]] std::string workload_table(const run_outcome& o);

}  // namespace diecast::platforms
