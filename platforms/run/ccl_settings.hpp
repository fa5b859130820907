// SPDX-License-Identifier: Apache-2.0
// What the config's ccl.algorithms and ccl.patterns change about a run.
#pragma once

#include <memory>
#include <string>

#include "models/comm/patterns.hpp"
#include "platforms/app/registries.hpp"
#include "platforms/run/run_point.hpp"

namespace diecast::platforms {

struct machine_model;

/// Throws user_error with every name in ccl.algorithms and ccl.patterns that is in no table, and every
/// pattern of the config that has the name of one in the tables.
void check_ccl(const app::registries& tables, const config::machine_config& config);

/// The settings of an algorithm; empty ones when the config has none.
[[nodiscard]] config::algorithm_settings settings_of(const config::machine_config& config,
                                                     const std::string& algorithm);

/// The machine with the algorithm's own ring memory; null when the given one already is.
[[nodiscard]] std::unique_ptr<const machine_model> machine_for(const machine_model& machine,
                                                               const std::string& algorithm);

/// Members of a run: by --ranks, else by the algorithm's mapper, else its first rank set. Throws user_error
/// when the algorithm does not run on them or when the tensor layout does not fit the validator.
[[nodiscard]] comm::group members_for(const app::registries& tables, const config::machine_config& config,
                                      const sw::kernel_entry& kernel, const run_point& point);

/// The kernel's pattern, or the one that the config gives it.
[[nodiscard]] comm::pattern_entry pattern_for(const app::registries& tables,
                                              const config::machine_config& config,
                                              const sw::kernel_entry& kernel);

}  // namespace diecast::platforms
