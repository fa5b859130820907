// SPDX-License-Identifier: Apache-2.0
// What an exception says of the run that it ended: where types of exceptions become statuses of runs,
// and with them exit codes (platforms/run/run_point.hpp).
#pragma once

#include <exception>
#include <optional>
#include <string>

#include "models/comm/fault_record.hpp"
#include "platforms/run/run_point.hpp"

namespace diecast::platforms {

struct fault_text {
  run_status status{};
  std::string message;
  bool output_lost{};
  std::optional<fault_record> record{};  ///< record of status fault
};

/// Classifies what ended a run, before the simulation or in it: protocol errors and firmware traps are faults
/// of the machine, user_error is what a user did wrong (mostly said before anything ran), an output_error
/// cost a file, the operating system refuses memory, processes and descriptors; all else is a fault of the
/// model. `names`: what the run calls its queue pairs.
[[nodiscard]] fault_text explain(const std::exception_ptr& fault,
                                 const comm::direction_namer& names = comm::generic_names());

/// A detected fault as data for result.json. `instance`: the block that reported it, at `time_ns`.
[[nodiscard]] detected_fault detected(const fault_record& r, const std::string& instance,
                                      const machine_shape& shape, const comm::direction_namer& names,
                                      double time_ns);

}  // namespace diecast::platforms
