// SPDX-License-Identifier: Apache-2.0
// Helpers for benches of SystemC modules. One simulation per test case (ctest runs each case in
// a process of its own).
#pragma once

#include <systemc>

#include "models/types/time.hpp"

namespace diecast::test {

/// Runs until no event is left; returns the time of the last activity. Throws if busy at `limit`.
sim_time run_to_starvation(sim_time limit = nanoseconds(1e9));

/// Runs to an absolute time.
void run_until(sim_time t);

}  // namespace diecast::test
