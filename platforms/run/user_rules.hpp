// SPDX-License-Identifier: Apache-2.0
// What the user wants instead of the choice by estimates.
#pragma once

#include <vector>

#include "models/config/machine_config.hpp"
#include "models/cost/rules.hpp"
#include "platforms/app/registries.hpp"

namespace diecast::platforms {

/// ccl.algorithm_rules, then the rows of the table ccl.tuner. Throws user_error with everything that is
/// wrong: malformed rules, a table that cannot be read, algorithms that do not exist.
[[nodiscard]] std::vector<cost::algorithm_rule> user_rules(const config::ccl_block& ccl,
                                                           const app::registries& tables);

}  // namespace diecast::platforms
