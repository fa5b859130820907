// SPDX-License-Identifier: Apache-2.0
// The expected time of a collective, from a run of its kernel on the timed mock machine without data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "models/comm/install_plan.hpp"
#include "models/fabric/topology.hpp"
#include "models/types/immovable.hpp"
#include "sw/collectives/base/kernel_table.hpp"
#include "sw/host/collective.hpp"

namespace diecast::sw {

struct timed_outcome {
  bool finished{};
  bool limited{};               ///< stopped at its limits
  std::string why_not;          ///< if not finished: the waits of the PEs
  double time_ns{};             ///< time from the common start to the end of the last PE
  std::uint64_t messages{};     ///< slots that were sent
  std::uint64_t bytes{};        ///< payload that has arrived
  std::uint64_t packet_hops{};  ///< packets times links: what a run in packet mode simulates
  std::uint64_t events{};       ///< events that the mock machine processed
};

/// Why a run on this machine cannot be estimated; empty when it can.
[[nodiscard]] std::string not_estimated(const comm::install_plan& plan, const kernel_entry& kernel);

/// Limits at which a run stops unfinished.
struct timed_limits {
  sim_time until{sim_time::never()};
  std::uint64_t events{UINT64_MAX};
};

/// One launch of the kernel on a machine that has just been installed. Throws what firmware or an engine
/// throws. Kernel, topology and launch must outlive it. Precondition: not_estimated() is empty.
class timed_run : immovable {
 public:
  timed_run(const fabric::topology& topology, const comm::install_plan& plan, const kernel_entry& kernel,
            const argument_context& launch);
  ~timed_run();
  /// Continues up to the limits; events are those of this call.
  [[nodiscard]] timed_outcome go(const timed_limits& limits = {});

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// One launch, to its end or the limits.
[[nodiscard]] timed_outcome run_timed(const fabric::topology& topology, const comm::install_plan& plan,
                                      const kernel_entry& kernel, const argument_context& launch,
                                      const timed_limits& limits = {});

}  // namespace diecast::sw
