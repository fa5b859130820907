// SPDX-License-Identifier: Apache-2.0
// --algorithm auto: which algorithm a point runs, and why.
#pragma once

#include <memory>
#include <vector>

#include "models/config/machine_config.hpp"
#include "models/cost/rules.hpp"
#include "platforms/app/registries.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

// What the user wants instead of the choice by estimates.

/// ccl.algorithm_rules, then the rows of the table ccl.tuner. Throws user_error with everything that is
/// wrong: malformed rules, a table that cannot be read, algorithms that do not exist.
[[nodiscard]] std::vector<cost::algorithm_rule> user_rules(const config::ccl_block& ccl,
                                                           const app::registries& tables);

/// The name that asks for a choice.
inline constexpr const char* automatic_algorithm = "auto";

/// The point's run. Its algorithm is taken as it is unless it is "auto": then by the first match of
/// ccl.algorithm_rules, of the table ccl.tuner, else the fastest by estimates (sw::race) among those
/// that can run here (enough queue pairs, tensors that fit). Throws user_error with every problem.
[[nodiscard]] std::unique_ptr<prepared_run> prepare_point(const machine_model& machine,
                                                          const app::registries& tables, run_point point);

}  // namespace diecast::platforms
