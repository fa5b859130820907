// SPDX-License-Identifier: Apache-2.0
// What an exception says of the run that it ended: where types of exceptions become statuses of runs,
// and with them exit codes (platforms/run/run_point.hpp).
#pragma once

#include <exception>
#include <string>

#include "platforms/run/run_point.hpp"

namespace diecast::platforms {

struct fault_text {
  run_status status{};
  std::string message;
};

/// Classifies what a module threw while it was simulated: protocol errors and firmware traps are faults of
/// the machine, all else is a fault of the model. What a user did wrong was said before anything ran.
[[nodiscard]] fault_text explain(const std::exception_ptr& fault);

/// Classifies what ended a run, before the simulation (user_error: status error) or in it.
[[nodiscard]] fault_text explain_run(const std::exception_ptr& failure);

}  // namespace diecast::platforms
