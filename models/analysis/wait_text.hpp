// SPDX-License-Identifier: Apache-2.0
// The report of a hang for people.
#pragma once

#include <string>

#include "models/analysis/wait_for.hpp"

namespace diecast::analysis {

/// Roots with their hints, all waits, and the pointer dump. `machine.pes` must be sorted by PE.
[[nodiscard]] std::string wait_text(const machine_shape& shape, const stopped_machine& machine,
                                    const wait_for_report& report, const comm::direction_namer& names);

}  // namespace diecast::analysis
