// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "platforms/run/prepare.hpp"

namespace diecast::app {

/// --print-map: every range of addresses at which something answers, with what does and the router it is on.
[[nodiscard]] std::string map_text(const platforms::machine_model& machine);

}  // namespace diecast::app
