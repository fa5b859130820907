// SPDX-License-Identifier: Apache-2.0
// How far a run of a pod is, between its launches and inside of one.
#pragma once

#include <functional>
#include <optional>

#include "platforms/run/host_side.hpp"
#include "platforms/run/prepare.hpp"
#include "platforms/run/progress.hpp"

namespace diecast::platforms {

class distance {
 public:
  /// `ended`: whether a member has ended its part of the present launch.
  distance(const prepared_run& run, const host_side& hosts, double bound_ns,
           std::function<bool(pe_coord)> ended)
      : run_(run), hosts_(hosts), bound_ns_(bound_ns), ended_(std::move(ended)) {}

  /// Launches that have ended, and of the one under way: ops that have ended where it has several; else its
  /// simulated time against that of the launch before, its estimate or the lower bound (the
  /// note says which), or its PEs that have ended if they are more. Never all before it has ended.
  [[nodiscard]] run_progress at(sim_time now);

 private:
  [[nodiscard]] double ended_pes() const;
  [[nodiscard]] run_progress by_time(sim_time elapsed);

  const prepared_run& run_;
  const host_side& hosts_;
  double bound_ns_;
  std::function<bool(pe_coord)> ended_;
  bool asked_{};  ///< for what is expected, which takes a while
  std::optional<double> expected_ns_;
};

}  // namespace diecast::platforms
