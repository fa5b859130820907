// SPDX-License-Identifier: Apache-2.0
// Rules of the block hbm: one copy, for --check-config and for the models of memory.
#pragma once

#include <span>

#include "models/config/rule.hpp"

namespace diecast::config {

[[nodiscard]] std::span<const rule> hbm_rules();

/// Throws user_error with every rule that the block breaks, and with the simple model's values that are no
/// rate, latency or size of a queue. Whoever builds a memory from a block that no file was read for calls
/// this. Precondition: every other value is in its own range.
void need_sound(const hbm_block& hbm);

}  // namespace diecast::config
