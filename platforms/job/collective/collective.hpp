// SPDX-License-Identifier: Apache-2.0
// --collective NAME: one of the algorithms of a collective, or the fastest (auto).
#pragma once

#include <memory>

#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// A run of the algorithm that the point names.
[[nodiscard]] std::unique_ptr<prepared_run> prepare_named(const machine_model& machine,
                                                          const app::registries& tables,
                                                          const run_point& point);
/// A run of the algorithm that is chosen: by the first match of ccl.algorithm_rules, of the table ccl.tuner,
/// else the fastest by estimates (sw::race) among those that can run here (enough queue pairs, tensors that
/// fit). Throws user_error with every problem.
[[nodiscard]] std::unique_ptr<prepared_run> prepare_chosen(const machine_model& machine,
                                                           const app::registries& tables,
                                                           const run_point& point);

}  // namespace diecast::platforms
