// SPDX-License-Identifier: Apache-2.0
// Which instances of a run --vcd-scope and --timeline-scope may name.
#pragma once

#include <string>
#include <vector>

#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::observe {

/// Hierarchical names of what a waveform shows: PEs, links and the modules that drive them, then `channels`
/// of memories. No topology: a machine without a fabric.
[[nodiscard]] std::vector<std::string> waveform_instances(const config::machine_config& config,
                                                          const fabric::topology* topology,
                                                          const std::vector<std::string>& channels);
/// The same of a timeline: PEs, links and `channels`.
[[nodiscard]] std::vector<std::string> timeline_instances(const config::machine_config& config,
                                                          const fabric::topology* topology,
                                                          const std::vector<std::string>& channels);

/// A scope that matches nothing is a slip, and an empty file would not tell. Throws user_error of `flag`,
/// with the first of `names` as an example.
void need_a_match(const char* flag, const std::string& glob, const std::vector<std::string>& names);

/// Of the files that are asked for, before anything is run or opened: `vcd`, `timeline`.
void check_scopes(const config::machine_config& config, const fabric::topology& topology, bool vcd,
                  bool timeline);

}  // namespace diecast::observe
