// SPDX-License-Identifier: Apache-2.0
// --explain: where the time of a run above its bound went, learnt by running it on machines that lack one
// cause after the other.
#pragma once

#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// Fills o.why. A cause is removed by setting its keys to their least cost (rates: four times). Its share is
/// what its removal alone saves above the bound, less the same amount for all where these savings overlap;
/// what is left then goes to causes that save more when others are removed, too (mean of two orders, the
/// list's and the reverse), and else to the rest. Shares add up to the time and are never negative. With
/// --jitter medians are compared. `o` is the run's own outcome; where a run on another machine does not end
/// well its status and message are returned in it, and nothing is explained.
void add_explanation(const prepared_run& run, const app::registries& tables, run_outcome& o);

}  // namespace diecast::platforms
