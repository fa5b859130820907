// SPDX-License-Identifier: Apache-2.0
#include "sc_fixture.hpp"

#include "hw/base/time.hpp"

namespace diecast::test {

sim_time run_to_starvation(sim_time limit) {
  sc_core::sc_start(hw::to_sc(limit), sc_core::SC_EXIT_ON_STARVATION);
  return hw::now();
}

void run_until(sim_time t) { sc_core::sc_start(hw::to_sc(t - hw::now()), sc_core::SC_RUN_TO_TIME); }

}  // namespace diecast::test
