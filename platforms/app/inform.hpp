// SPDX-License-Identifier: Apache-2.0
// What a binary prints about itself and its machine, without running anything.
#pragma once

#include <string>

#include "platforms/app/registries.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::app {

/// --list algorithms | patterns | mappers | presets
[[nodiscard]] std::string list_text(const registries& tables, const std::string& what);
/// --check-config: the balance table, warnings last.
[[nodiscard]] std::string balance_text(const platforms::machine_model& machine);

}  // namespace diecast::app
