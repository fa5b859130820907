// SPDX-License-Identifier: Apache-2.0
// Counts and bytes as numbers that are divided.
#pragma once

#include <cstdint>

namespace diecast::cost {

[[nodiscard]] inline double d(std::uint64_t n) { return static_cast<double>(n); }

}  // namespace diecast::cost
