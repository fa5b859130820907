// SPDX-License-Identifier: Apache-2.0
// Which instances of a run --vcd-scope and --timeline-scope may name.
#pragma once

#include <string>
#include <vector>

#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::observe {

/// Hierarchical names of what waveforms and timelines show. A waveform has the modules that drive links, too.
struct instances {
  std::vector<std::string> pes, links, channels;
};
[[nodiscard]] std::vector<std::string> link_names(const fabric::topology& topology);
/// All instances of a pod.
[[nodiscard]] instances instances_of(const config::machine_config& config, const fabric::topology& topology);

/// A scope that matches nothing is a slip, and an empty file would not tell. To be asked before an earlier
/// file of that name is opened: of the files that are wanted (`vcd`, `timeline`). Throws user_error with a
/// name that there is.
void check_scopes(const config::trace_block& scopes, const instances& all, bool vcd, bool timeline);

}  // namespace diecast::observe
