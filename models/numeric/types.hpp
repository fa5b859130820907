// SPDX-License-Identifier: Apache-2.0
// Element types and reductions, by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "models/types/enum_name.hpp"

namespace diecast::numeric {
enum class dtype : std::uint8_t { f16, bf16, f32, i32 };
inline constexpr std::size_t dtypes = 4;
enum class reduction : std::uint8_t { sum, max, min, prod, avg };

[[nodiscard]] constexpr std::size_t size_of(dtype t) { return t == dtype::f16 || t == dtype::bf16 ? 2 : 4; }
[[nodiscard]] constexpr const char* to_string(dtype t) { return enum_name(t); }
[[nodiscard]] constexpr const char* to_string(reduction r) { return enum_name(r); }
/// Accepts f16|half, bf16|bfloat16, f32|float, i32|int32; empty when unknown.
[[nodiscard]] std::optional<dtype> parse_dtype(std::string_view name);
/// Accepts sum|max|min|prod|avg; empty when unknown.
[[nodiscard]] std::optional<reduction> parse_reduction(std::string_view name);

// Parameters of the element types and the rounding error a sum may have.

/// An element type as integers scaled by powers of two: every m * 2^e with |m| <= 2^significand_bits
/// and min_exponent <= e <= max_exponent is exactly representable.
struct precision {
  unsigned significand_bits;  ///< the hidden bit included; 31 for i32
  int min_exponent;           ///< weight of the last place of a subnormal
  int max_exponent;           ///< largest e for which 2^significand_bits * 2^e is finite
};

[[nodiscard]] constexpr precision precision_of(dtype t) {
  switch (t) {
    case dtype::f16: return {11, -24, 4};
    case dtype::bf16: return {8, -133, 119};
    case dtype::f32: return {24, -149, 103};
    case dtype::i32: return {31, 0, 0};
  }
  return {};
}

/// Unit roundoff u: the largest relative error of one rounding to nearest; 0 for i32.
[[nodiscard]] double unit_roundoff(dtype t);

/// How the additions of a sum are nested. Sequential covers every order; of a pairwise sum no term goes
/// through more than ceil(log2 terms) additions.
enum class summation : std::uint8_t { sequential, pairwise };

/// First-order bound of |computed - exact| for a sum of `ranks` terms rounded at every addition: sequential
/// (n-1)*u*sum|x|, pairwise ceil(log2 n)*u*sum|x| (Higham, Accuracy and Stability of Numerical Algorithms,
/// section 4.2).
[[nodiscard]] double sum_error_bound(dtype t, summation order, std::uint32_t ranks, double sum_of_magnitudes);

}  // namespace diecast::numeric
