// SPDX-License-Identifier: Apache-2.0
// flight.json: every rank's present step, its last operations, and who holds up whom. Field names are those
// of the flight recorder of PyTorch's NCCL process group, dump version 2.4.
#pragma once

#include <string>

#include "models/analysis/wait_for.hpp"
#include "platforms/observe/flight_recorder.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// schema diecast.flight/1 (testbench/system/flight.schema.json). `why` it is written, in words; `at` when.
[[nodiscard]] std::string flight_json(const prepared_run& run, const observe::flight_recorder& recorder,
                                      const analysis::stopped_machine& machine, sim_time at,
                                      const std::string& why);

}  // namespace diecast::platforms
