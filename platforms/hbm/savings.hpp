// SPDX-License-Identifier: Apache-2.0
// What each limit of the memory costs a run: measured by running it once more without the limit.
#pragma once

#include <functional>

#include "platforms/hbm/study.hpp"

namespace diecast::hbm {

/// Runs a point on a config; in a process of its own.
using point_runner = std::function<study_outcome(const study_point&, const config::machine_config&)>;

/// Adds to the outcome of `point` the time that it takes less without each removable limit, and without all
/// of them, in percent of its own: study_outcome::time_saved. A run that does not end well gives the outcome
/// its status and message, and is the last. wall_s stays that of the point. Precondition: the outcome ended
/// well.
void add_savings(const study_point& point, const config::machine_config& config, const point_runner& run,
                 study_outcome& o);

}  // namespace diecast::hbm
