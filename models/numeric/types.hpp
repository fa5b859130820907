// SPDX-License-Identifier: Apache-2.0
// Element types and reductions, by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace diecast::numeric {

enum class dtype : std::uint8_t { f16, bf16, f32, i32 };
inline constexpr std::size_t dtypes = 4;
enum class reduction : std::uint8_t { sum, max, min, prod, avg };

[[nodiscard]] constexpr std::size_t size_of(dtype t) { return t == dtype::f16 || t == dtype::bf16 ? 2 : 4; }
[[nodiscard]] constexpr const char* to_string(dtype t) {
  switch (t) {
    case dtype::f16: return "f16";
    case dtype::bf16: return "bf16";
    case dtype::f32: return "f32";
    case dtype::i32: return "i32";
  }
  return "?";
}
[[nodiscard]] constexpr const char* to_string(reduction r) {
  switch (r) {
    case reduction::sum: return "sum";
    case reduction::max: return "max";
    case reduction::min: return "min";
    case reduction::prod: return "prod";
    case reduction::avg: return "avg";
  }
  return "?";
}
/// Accepts f16|half, bf16|bfloat16, f32|float, i32|int32; empty when unknown.
[[nodiscard]] std::optional<dtype> parse_dtype(std::string_view name);
/// Accepts sum|max|min|prod|avg; empty when unknown.
[[nodiscard]] std::optional<reduction> parse_reduction(std::string_view name);

}  // namespace diecast::numeric
