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

}  // namespace diecast::platforms
