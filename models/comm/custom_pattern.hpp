// SPDX-License-Identifier: Apache-2.0
// A pattern given in the config as a list of edges (ccl.patterns).
#pragma once

#include "models/comm/patterns.hpp"
#include "models/config/ccl_tables.hpp"

namespace diecast::comm {

/// Directions with a name of their own ("N", "global_E", "parent") keep their number; other names get the
/// numbers from first_custom on, in the order in which they appear. The entry's build throws user_error for
/// edges that leave the machine or end at PEs that are no members.
[[nodiscard]] pattern_entry custom_pattern(const config::custom_pattern& p);

}  // namespace diecast::comm
