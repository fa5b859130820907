// SPDX-License-Identifier: Apache-2.0
// Rules between keys. Types and ranges of single keys are checked by their rows (field.hpp).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "models/config/machine_config.hpp"
#include "models/types/error.hpp"

namespace diecast::config {

/// Every broken rule; `where` is the dotted path of the key to change first. Rules that use a key
/// of `broken` are left out: its value was refused already, and what stands there is another.
/// Precondition: every value is in its own range.
[[nodiscard]] std::vector<problem> check(const machine_config& config,
                                         const std::set<std::string>& broken = {});

}  // namespace diecast::config
