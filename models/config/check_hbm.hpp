// SPDX-License-Identifier: Apache-2.0
// Rules of the block hbm: one copy, for --check-config and for the models of memory.
#pragma once

#include <span>

#include "models/config/rule.hpp"

namespace diecast::config {

[[nodiscard]] std::span<const rule> hbm_rules();

/// Throws user_error with every number that is out of its key's range and every rule that the others break.
/// To be called by code that builds a memory from a block that was not read from a file.
void need_sound(const hbm_block& hbm);

}  // namespace diecast::config
