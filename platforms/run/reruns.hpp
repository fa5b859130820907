// SPDX-License-Identifier: Apache-2.0
// How much streams cost each other: each is run alone on the same machine.
#pragma once

#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// Runs every stream of a workload alone, in a process of its own, with the queue pairs and memory it has
/// in the whole, and fills isolated_ns and slowdown of the outcome's streams; or, for a stream that needs the
/// others (messages between them) or deadlocks without them, not_isolated. An outcome that has not finished
/// stays as it is. A stream that is wrong or fails in another way alone gives the outcome its status and
/// message.
void add_isolated_times(const prepared_run& run, const app::registries& tables, run_outcome& o);

// --jitter: how far small delays of the PEs' starts move the time of a run. What two schedules, machines or
// fidelities differ by is a finding only where it exceeds that.

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

// --explain: where the time of a run above its bound went, learnt by running it on machines that lack one
// cause after the other.

/// Fills o.why. A cause is removed by setting its keys to their least cost (rates: four times). Its share is
/// what its removal alone saves above the bound, less the same amount for all where these savings overlap;
/// what is left then goes to causes that save more when others are removed, too (mean of two orders, the
/// list's and the reverse), and else to the rest. Shares add up to the time and are never negative. With
/// --jitter medians are compared. `o` is the run's own outcome; where a run on another machine does not end
/// well its status and message are returned in it, and nothing is explained.
void add_explanation(const prepared_run& run, const app::registries& tables, run_outcome& o);

}  // namespace diecast::platforms
