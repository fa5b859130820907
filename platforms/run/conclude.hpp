// SPDX-License-Identifier: Apache-2.0
// Status and message of a run by what ended it, on whatever machine it ran.
#pragma once

#include <exception>
#include <functional>
#include <string>

#include "platforms/run/host_side.hpp"
#include "platforms/run/kernel.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// What ended a run, the path of the block that threw it, and when.
struct thrown_fault {
  std::exception_ptr what;
  std::string instance;
  sim_time at;
};
void take_fault(const prepared_run& run, const thrown_fault& fault, run_outcome& o);

/// How a machine reports a fault, or what it was in when it stopped.
struct end_reports {
  std::function<void()> fault;
  std::function<void(run_status status, const std::string& why)> stop;
};
void conclude(end_of_run end, const prepared_run& run, const host_side& s, sim_time now,
              const end_reports& reports, run_outcome& o);

}  // namespace diecast::platforms
