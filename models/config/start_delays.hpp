// SPDX-License-Identifier: Apache-2.0
// ccl.start_delays: PEs that begin a launch late (stragglers).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/config/machine_config.hpp"
#include "models/types/ids.hpp"

namespace diecast::config {

struct start_delay {
  std::string match;  ///< glob over PE paths, "pod.sip0.cube_1_2.pe*"
  double delay_ns{};
};

/// The entries of a ccl.start_delays text ("GLOB=NS,GLOB=NS"), in order. Precondition: it has passed its
/// row's check.
[[nodiscard]] std::vector<start_delay> parse_start_delays(std::string_view text);

/// Delay of one PE: of the last entry that matches; 0 for the others.
[[nodiscard]] double start_delay_ns(const machine_config& config, pe_coord pe);

}  // namespace diecast::config
