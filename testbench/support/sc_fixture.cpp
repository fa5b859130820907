// SPDX-License-Identifier: Apache-2.0
#include "sc_fixture.hpp"

#include <fmt/format.h>
#include <stdexcept>

#include "hw/base/time.hpp"

namespace diecast::test {

sim_time run_to_starvation(sim_time limit) {
  sc_core::sc_start(hw::to_sc(limit), sc_core::SC_EXIT_ON_STARVATION);
  // After sc_stop() (a fault) the simulation is not paused, and what it left undone is of no matter. The
  // fault is in the sink: whoever owns that looks there (fabric_bench does, when it ends).
  if (sc_core::sc_get_status() == sc_core::SC_PAUSED && sc_core::sc_pending_activity()) {
    throw std::runtime_error(
        fmt::format("run_to_starvation: still busy after {} ns; expected an end", limit.ns()));
  }
  return hw::now();
}

void run_until(sim_time t) { sc_core::sc_start(hw::to_sc(t - hw::now()), sc_core::SC_RUN_TO_TIME); }

}  // namespace diecast::test
