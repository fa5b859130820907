// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the vector unit on spans of elements: mode "elem", every operation rounded to
// the element type (to nearest, ties to even).
//
// Special values, chosen so that no order of reduction shows:
//   NaN   a NaN operand gives NaN in every operation, max and min included (IEEE 754-2019 maximum
//         and minimum), so a poisoned contribution is never hidden. Every NaN result is the
//         canonical one of convert.hpp.
//   zero  max and min order -0 below +0.
//   i32   sum and prod wrap modulo 2^32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "models/numeric/types.hpp"

namespace diecast::numeric {

/// destination[i] = a[i] op b[i]; avg adds (divide() ends it). `destination` may be `a` or `b`
/// itself but not overlap them partly. Spans of unequal size or not of whole elements:
/// std::invalid_argument.
void apply(reduction op, dtype type, std::span<std::byte> destination, std::span<const std::byte> a,
           std::span<const std::byte> b);

inline constexpr std::uint32_t max_divisor = 1u << 24;

/// elements[i] /= divisor, correctly rounded (i32 too: to nearest, ties to even). A divisor of 0 or
/// above max_divisor, or a span not of whole elements: std::invalid_argument.
void divide(dtype type, std::span<std::byte> elements, std::uint32_t divisor);

}  // namespace diecast::numeric
