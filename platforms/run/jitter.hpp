// SPDX-License-Identifier: Apache-2.0
// --jitter: how far small delays of the PEs' starts move the time of a run. What two schedules, machines or
// fidelities differ by is a finding only where it exceeds that.
#pragma once

#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// How much later a PE starts in draw number `draw` of a run: uniform in [0, jitter_ns] of its point, by
/// sim.seed; 0 in draw 0, which is the run itself.
[[nodiscard]] sim_time jitter_delay(const prepared_run& run, std::uint64_t draw, pe_coord pe);

/// Simulates draws 1, 2, ... of a run whose point has them, each in a process of its own, and adds the times
/// of all, the outcome's own among them. An outcome that has not finished stays as it is. The first draw that
/// does not end well gives its status and message. Results that differ between draws get a note.
void add_jitter(const prepared_run& run, const app::registries& tables, run_outcome& o);

/// Median, extremes and spreads of draws; the median of an even number is the mean of the middle two.
/// Precondition: at least one time.
[[nodiscard]] jitter_times summary_of(std::vector<double> times_ns, std::vector<double> delays_ns);

}  // namespace diecast::platforms
