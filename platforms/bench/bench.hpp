// SPDX-License-Identifier: Apache-2.0
// Speed of the model itself. A subject measures in a process of its own (SystemC elaborates once per
// process) and returns numbers by name; what is compared with the kernel's floor is measured in the same
// process as the floor. Times are CPU times of the process: a busy machine does not count.
#pragma once

#include <cstdint>
#include <ctime>
#include <deque>
#include <string>
#include <systemc>
#include <utility>
#include <vector>

#include "models/config/machine_config.hpp"

namespace diecast::bench {

/// Named numbers; the unit is part of the name.
using measurements = std::vector<std::pair<std::string, double>>;

struct fabric_options {
  config::machine_config config;  ///< config of a network study
  double rate{0.3};               ///< flits per node and cycle
  std::uint32_t packet_flits{5};
  std::uint64_t warmup_cycles{5'000};
  std::uint64_t cycles{20'000};
};

/// CPU seconds of this process so far.
[[nodiscard]] inline double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// kernel_floor_ns and, of the NoC in its steady state, packet_hop_ns, flit_hops_per_s and more.
[[nodiscard]] measurements measure_fabric(const fabric_options& o);
/// kernel_floor_ns and mmio_ns: one register read by firmware, through the PE's bus.
[[nodiscard]] measurements measure_mmio();
/// hbm_sequential_requests_per_s and hbm_random_requests_per_s: a process each.
[[nodiscard]] measurements measure_hbm_sequential();
[[nodiscard]] measurements measure_hbm_random();

/// The floor: what SystemC's kernel alone costs per timed activation. 1,000 methods, each with an event of
/// its own, notify themselves after uniformly drawn delays; no two ever wake at one instant (method i only at
/// instants that are i modulo 1,000).
///
/// Made before the first sc_start, run before anything else of the process, silent afterwards.
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

// The front door of diecast-bench.

/// diecast-bench fabric|hbm|mmio|all [flags]: prints JSON; returns the exit code.
int run(int argc, char** argv);

}  // namespace diecast::bench
