// SPDX-License-Identifier: Apache-2.0
// Between models' integer time and sc_time. The kernel runs at a resolution of 1 fs.
#pragma once

#include <systemc>

#include "models/types/time.hpp"

namespace diecast::hw {

[[nodiscard]] inline sim_time now() {
  static const sc_core::sc_time& present = sc_core::sc_time_stamp();  // a member of the only kernel
  return {present.value()};
}
[[nodiscard]] inline sc_core::sc_time to_sc(sim_time t) { return sc_core::sc_time::from_value(t.fs); }

/// Sets the kernel's resolution; call before any sc_time is made. Later calls in a process do nothing.
inline void set_time_resolution() {
  static bool set = false;
  if (!set) sc_core::sc_set_time_resolution(1, sc_core::SC_FS);
  set = true;
}

}  // namespace diecast::hw
