// SPDX-License-Identifier: Apache-2.0
// Conversions between element types and float or double. Elements lie in byte spans in the order
// of the host (little endian) at any alignment. Rounding is to nearest, ties to even, once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "models/numeric/types.hpp"

namespace diecast::numeric {

/// Bits of the one NaN that arithmetic produces: positive, quiet, without payload.
inline constexpr std::uint16_t f16_nan = 0x7e00;
inline constexpr std::uint16_t bf16_nan = 0x7fc0;
inline constexpr std::uint32_t f32_nan = 0x7fc00000;

/// f16, bf16 or f32 to float, exactly (a NaN stays some NaN). Sizes agree, else
/// std::invalid_argument; so for i32.
void widen(dtype t, std::span<const std::byte> elements, std::span<float> out);

/// float to f16, bf16 or f32. Every NaN becomes the canonical one. Errors as widen.
void narrow(dtype t, std::span<const float> values, std::span<std::byte> out);

/// From one of f16, bf16 and f32 to another (or any type to itself), rounded at most once. Sizes agree, else
/// std::invalid_argument; so for i32 to or from another.
void convert(dtype from, std::span<const std::byte> elements, dtype to, std::span<std::byte> out);

/// Any type to double, exactly. Sizes agree, else std::invalid_argument.
void to_double(dtype t, std::span<const std::byte> elements, std::span<double> out);

/// double to any type with one rounding (never via float). Beyond the largest finite value: infinity; for i32
/// std::out_of_range, also for NaN.
void from_double(dtype t, std::span<const double> values, std::span<std::byte> out);

/// One element of a span; std::out_of_range beyond its end.
[[nodiscard]] double element(dtype t, std::span<const std::byte> elements, std::size_t index);
void set_element(dtype t, std::span<std::byte> elements, std::size_t index, double value);

namespace detail {
/// The two implementations of the f16 conversions: F16C instructions where the processor has them,
/// Eigen's portable code elsewhere. The same bits, which a test proves for every input.
[[nodiscard]] bool has_f16_instructions();
void f16_to_f32_portable(const std::uint16_t* in, float* out, std::size_t n);
void f32_to_f16_portable(const float* in, std::uint16_t* out, std::size_t n);
void f16_to_f32_fast(const std::uint16_t* in, float* out, std::size_t n);
void f32_to_f16_fast(const float* in, std::uint16_t* out, std::size_t n);
/// Round to odd: the float from which rounding on to f16 or bf16 is correct for the double.
[[nodiscard]] float round_to_odd(double value);
}  // namespace detail

}  // namespace diecast::numeric
