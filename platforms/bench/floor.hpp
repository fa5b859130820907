// SPDX-License-Identifier: Apache-2.0
// The floor: what SystemC's kernel alone costs per timed activation. 1,000 methods, each with an event of its
// own, notify themselves after uniformly drawn delays; no two ever wake at one instant (method i only at
// instants that are i modulo 1,000).
//
// Made before the first sc_start, run before anything else of the process, silent afterwards.
#pragma once

#include <cstdint>
#include <deque>
#include <systemc>

namespace diecast::bench {

class kernel_floor : public sc_core::sc_module {
 public:
  explicit kernel_floor(sc_core::sc_module_name name);
  ~kernel_floor() override;

  /// CPU nanoseconds per activation, over some millions.
  [[nodiscard]] double measure_ns();

 private:
  class sleeper;
  bool running_{};
  std::uint64_t activations_{};
  std::deque<sleeper> sleepers_;
};

}  // namespace diecast::bench
