// SPDX-License-Identifier: Apache-2.0
// Bits of CORE_ERRATA for defects of the collective runtime, each tested at one line of the firmware that
// names it. The upper half of the register says how many operations go right before a defect shows. Bits
// below 16 belong to the barriers.
#pragma once

#include <cstdint>

namespace diecast::abi::defect {

/// The one-call send-receive picks its staging buffer by the history of earlier sends, and it aliases.
inline constexpr std::uint64_t sendrecv_alias = 1U << 16;
/// The registration-cache monitor patches an entry of the dispatch table with a bad target.
inline constexpr std::uint64_t dispatch_corruption = 1U << 17;

inline constexpr unsigned after_shift = 32;
/// Operations that go right first.
[[nodiscard]] constexpr std::uint32_t after(std::uint64_t errata) {
  return static_cast<std::uint32_t>(errata >> after_shift);
}

}  // namespace diecast::abi::defect
