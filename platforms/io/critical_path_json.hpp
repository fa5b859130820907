// SPDX-License-Identifier: Apache-2.0
// critical_path.json: schema diecast.critical_path/1.
#pragma once

#include <string>

#include "models/analysis/critical_path.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// Times count from the common start of the launch; `*_fs` are exact, and the edges' add up to time_fs. A
/// fabric edge names the links its packets cross, by kind and by name.
[[nodiscard]] std::string critical_path_json(const prepared_run& run, const analysis::path_events& events,
                                             const analysis::path& path);

}  // namespace diecast::platforms
