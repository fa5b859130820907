// SPDX-License-Identifier: Apache-2.0
// What --estimate prints.
#pragma once

#include <string>
#include <vector>

#include "platforms/io/result_json.hpp"
#include "platforms/run/estimate.hpp"

namespace diecast::platforms {

/// Rows of a size and rank set follow each other, the fastest first; below them what has no time, and why.
[[nodiscard]] std::string estimate_table(const std::vector<run_estimate>& rows);
/// Schema diecast.estimate/1.
[[nodiscard]] std::string estimate_json(const result_context& context, const std::vector<run_estimate>& rows);
[[nodiscard]] std::string estimate_csv(const std::vector<run_estimate>& rows);

}  // namespace diecast::platforms
