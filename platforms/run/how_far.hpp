// SPDX-License-Identifier: Apache-2.0
// How far a run of a pod is, between its launches and inside of one.
#pragma once

#include <optional>

#include "platforms/netlist/pod.hpp"
#include "platforms/run/host_side.hpp"
#include "platforms/run/prepare.hpp"
#include "platforms/run/progress.hpp"

namespace diecast::platforms {

class distance {
 public:
  distance(const prepared_run& run, const host_side& hosts, netlist::pod& pod, double bound_ns)
      : run_(run), hosts_(hosts), pod_(pod), bound_ns_(bound_ns) {}

  /// Launches that have ended, and of the one under way: ops that have ended where it has several; else its
  /// simulated time against that of the launch before, its estimate or the lower bound (the
  /// note says which), or its PEs that have ended if they are more. Never all before it has ended.
  [[nodiscard]] run_progress now();

 private:
  [[nodiscard]] double ended_pes() const;
  [[nodiscard]] run_progress by_time(sim_time elapsed);

  const prepared_run& run_;
  const host_side& hosts_;
  netlist::pod& pod_;
  double bound_ns_;
  bool asked_{};  ///< for what is expected, which takes a while
  std::optional<double> expected_ns_;
};

}  // namespace diecast::platforms
