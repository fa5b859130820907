// SPDX-License-Identifier: Apache-2.0
// What diecast-noc prints about itself and its network, without running anything.
#pragma once

#include <string>

#include "platforms/noc/study.hpp"

namespace diecast::noc {

/// --list patterns | presets
[[nodiscard]] std::string list_text(const std::string& what);
/// --check-config: size, VCs, buffers and zero-load latencies.
[[nodiscard]] std::string network_text(const network& net, std::uint32_t packet_flits);

}  // namespace diecast::noc
