// SPDX-License-Identifier: Apache-2.0
#include "models/numeric/convert.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <eigen3/Eigen/Core>
#include <fmt/format.h>
#include <stdexcept>
#include <vector>

namespace diecast::numeric {
namespace {

constexpr std::size_t block = 512;  ///< elements converted at a time on the stack

void check_sizes(dtype t, std::size_t bytes, std::size_t values) {
  if (bytes == values * size_of(t)) return;
  throw std::invalid_argument(
      fmt::format("{} bytes of {} do not hold {} elements", bytes, to_string(t), values));
}

void check_float(dtype t) {
  if (t == dtype::i32) throw std::invalid_argument("i32 elements do not convert to float");
}

/// Works through a conversion block by block: `convert(first, n)`.
template <class Convert>
void in_blocks(std::size_t count, Convert convert) {
  for (std::size_t first = 0; first < count; first += block) convert(first, std::min(block, count - first));
}

float canonical(float f) { return f != f ? std::bit_cast<float>(f32_nan) : f; }

std::uint16_t to_bf16(float canonical_value) {
  using namespace Eigen::bfloat16_impl;
  // The template argument leaves out the handling of NaN: the canonical NaN rounds to itself.
  return float_to_bfloat16_rtne<true>(canonical_value).value;
}

std::int32_t to_i32(double value) {
  const double rounded = std::nearbyint(value);
  if (!(rounded >= -2147483648.0 && rounded <= 2147483647.0))
    throw std::out_of_range(fmt::format("{} is not within i32", value));
  return static_cast<std::int32_t>(rounded);
}

}  // namespace

namespace detail {

void f16_to_f32_portable(const std::uint16_t* in, float* out, std::size_t n) {
  using namespace Eigen::half_impl;
  for (std::size_t i = 0; i < n; ++i) out[i] = half_to_float(raw_uint16_to_half(in[i]));
}

void f32_to_f16_portable(const float* in, std::uint16_t* out, std::size_t n) {
  using namespace Eigen::half_impl;
  for (std::size_t i = 0; i < n; ++i) out[i] = float_to_half_rtne(in[i]).x;
}

float round_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;  // towards zero
  return std::bit_cast<float>(bits | 1u);
}

}  // namespace detail

void widen(dtype t, std::span<const std::byte> elements, std::span<float> out) {
  check_float(t);
  check_sizes(t, elements.size(), out.size());
  if (t == dtype::f32) {
    if (!out.empty()) std::memcpy(out.data(), elements.data(), elements.size());
    return;
  }
  in_blocks(out.size(), [&](std::size_t first, std::size_t n) {
    std::array<std::uint16_t, block> bits;
    std::memcpy(bits.data(), elements.data() + first * 2, n * 2);
    float* to = out.data() + first;
    if (t == dtype::f16) {
      detail::f16_to_f32_fast(bits.data(), to, n);
    } else {
      for (std::size_t i = 0; i < n; ++i) to[i] = std::bit_cast<float>(std::uint32_t{bits[i]} << 16);
    }
  });
}

void narrow(dtype t, std::span<const float> values, std::span<std::byte> out) {
  check_float(t);
  check_sizes(t, out.size(), values.size());
  in_blocks(values.size(), [&](std::size_t first, std::size_t n) {
    std::array<float, block> clean;
    for (std::size_t i = 0; i < n; ++i) clean[i] = canonical(values[first + i]);
    if (t == dtype::f32) {
      std::memcpy(out.data() + first * 4, clean.data(), n * 4);
      return;
    }
    std::array<std::uint16_t, block> bits;
    if (t == dtype::f16) {
      detail::f32_to_f16_fast(clean.data(), bits.data(), n);
    } else {
      for (std::size_t i = 0; i < n; ++i) bits[i] = to_bf16(clean[i]);
    }
    std::memcpy(out.data() + first * 2, bits.data(), n * 2);
  });
}

void convert(dtype from, std::span<const std::byte> elements, dtype to, std::span<std::byte> out) {
  if (from == to) {
    if (elements.size() != out.size()) throw std::invalid_argument("convert: spans of unequal size");
    if (!out.empty()) std::memmove(out.data(), elements.data(), out.size());
    return;
  }
  std::vector<float> values(elements.size() / size_of(from));
  widen(from, elements, values);
  narrow(to, values, out);
}

void to_double(dtype t, std::span<const std::byte> elements, std::span<double> out) {
  check_sizes(t, elements.size(), out.size());
  in_blocks(out.size(), [&](std::size_t first, std::size_t n) {
    if (t == dtype::i32) {
      std::array<std::int32_t, block> ints;
      std::memcpy(ints.data(), elements.data() + first * 4, n * 4);
      for (std::size_t i = 0; i < n; ++i) out[first + i] = ints[i];
      return;
    }
    std::array<float, block> floats;
    widen(t, elements.subspan(first * size_of(t), n * size_of(t)), std::span{floats}.first(n));
    for (std::size_t i = 0; i < n; ++i) out[first + i] = static_cast<double>(floats[i]);
  });
}

void from_double(dtype t, std::span<const double> values, std::span<std::byte> out) {
  check_sizes(t, out.size(), values.size());
  in_blocks(values.size(), [&](std::size_t first, std::size_t n) {
    const auto to = out.subspan(first * size_of(t), n * size_of(t));
    if (t == dtype::i32) {
      std::array<std::int32_t, block> ints;
      for (std::size_t i = 0; i < n; ++i) ints[i] = to_i32(values[first + i]);
      std::memcpy(to.data(), ints.data(), n * 4);
      return;
    }
    std::array<float, block> floats;
    for (std::size_t i = 0; i < n; ++i) {
      const double v = values[first + i];
      floats[i] = t == dtype::f32 ? static_cast<float>(v) : detail::round_to_odd(v);
    }
    narrow(t, std::span<const float>{floats}.first(n), to);
  });
}

double element(dtype t, std::span<const std::byte> elements, std::size_t index) {
  if (index >= elements.size() / size_of(t)) throw std::out_of_range(fmt::format("element {}", index));
  double value{};
  to_double(t, elements.subspan(index * size_of(t), size_of(t)), std::span{&value, 1});
  return value;
}

void set_element(dtype t, std::span<std::byte> elements, std::size_t index, double value) {
  if (index >= elements.size() / size_of(t)) throw std::out_of_range(fmt::format("element {}", index));
  from_double(t, std::span{&value, 1}, elements.subspan(index * size_of(t), size_of(t)));
}

}  // namespace diecast::numeric
