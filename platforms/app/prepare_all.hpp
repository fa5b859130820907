// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "platforms/app/registries.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::app {

/// All runs of an invocation, prepared before any of them starts. Sizes that do not fit a memory, and what
/// --algorithm all cannot run here, are left out with one line on stderr for each reason. Throws user_error
/// where nothing is left, and for every other problem.
[[nodiscard]] std::vector<std::unique_ptr<platforms::prepared_run>> prepare_all(
    const platforms::machine_model& machine, const registries& tables,
    const std::vector<platforms::run_point>& points);

}  // namespace diecast::app
