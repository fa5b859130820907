// SPDX-License-Identifier: Apache-2.0
// The report of a hang as text.
#pragma once

#include "models/analysis/wait_for.hpp"

namespace diecast::analysis {

/// Writes text and summary of a report whose edges and roots are known: roots with their hints, all waits,
/// and the pointer dump. `machine.pes` must be sorted by PE.
void write_waits(const machine_shape& shape, const stopped_machine& machine,
                 const comm::direction_namer& names, wait_for_report& report);

}  // namespace diecast::analysis
