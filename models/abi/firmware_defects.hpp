// SPDX-License-Identifier: Apache-2.0
// Bits of CORE_ERRATA for defects of the collective runtime, each tested at one line of the firmware that
// names it. The upper half of the register says how many operations go right before a defect shows. Bits
// below 16 belong to the barriers.
#pragma once

#include <cstdint>

namespace diecast::abi::defect {

/// The one-call send-receive stages both halves in one page, picked by the number of earlier sends, and
/// orders nothing.
inline constexpr std::uint64_t sendrecv_alias = 1U << 16;

inline constexpr unsigned after_shift = 32;
/// Operations that go right first.
[[nodiscard]] constexpr std::uint32_t after(std::uint64_t errata) {
  return static_cast<std::uint32_t>(errata >> after_shift);
}

}  // namespace diecast::abi::defect
