// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
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

/// --print-map: every range of addresses at which something answers, with what does and the router it is on.
[[nodiscard]] std::string map_text(const platforms::machine_model& machine);

// What a binary prints about itself and its machine, without running anything.

/// --list algorithms | patterns | mappers | presets
[[nodiscard]] std::string list_text(const registries& tables, const std::string& what);
/// --check-config: the balance table, warnings last.
[[nodiscard]] std::string balance_text(const platforms::machine_model& machine);

}  // namespace diecast::app
