// SPDX-License-Identifier: Apache-2.0
// What --explain found, for the table and for result.json.
#pragma once

#include <string>

#include "platforms/io/result_envelope.hpp"
#include "platforms/run/run_point.hpp"

namespace diecast::platforms {

/// A line for the bound, for each cause from the largest on, and for the rest. Precondition: o.why.
[[nodiscard]] std::string explanation_text(const run_outcome& o);
[[nodiscard]] result_node explanation_json(const explanation& e);

}  // namespace diecast::platforms
