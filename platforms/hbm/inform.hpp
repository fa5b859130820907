// SPDX-License-Identifier: Apache-2.0
// What an HBM binary prints about itself and its memory, without running anything.
#pragma once

#include <string>

#include "platforms/hbm/study.hpp"

namespace diecast::hbm {

/// --list patterns | presets
[[nodiscard]] std::string list_text(const registries& tables, const std::string& what);
/// --check-config: organization, peak and the closed-form limits of the patterns.
[[nodiscard]] std::string memory_text(const config::hbm_block& hbm);

}  // namespace diecast::hbm
