// SPDX-License-Identifier: Apache-2.0
// What --inspect shows of a machine at the end of its run.
#pragma once

#include <string>
#include <vector>

#include "platforms/netlist/pod.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// Where the entries of the members' dispatch tables lead, and led when they were loaded: a line per entry,
/// of each PE or of all whose tables are alike.
[[nodiscard]] std::vector<std::string> dispatch_lines(const prepared_run& run, netlist::pod& pod);

}  // namespace diecast::platforms
