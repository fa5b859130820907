// SPDX-License-Identifier: Apache-2.0
// Where things begin in TCM: tensors, slots, tables and heap ranges lie at whole lines of 64 bytes.
#pragma once

#include <cstdint>

namespace diecast::abi {

inline constexpr std::uint64_t tcm_alignment = 64;

/// `bytes`, rounded up to whole lines.
[[nodiscard]] constexpr std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + tcm_alignment - 1) / tcm_alignment * tcm_alignment;
}

}  // namespace diecast::abi
