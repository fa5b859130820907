// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <rapidcheck.h>

#include "models/numeric/convert.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::numeric;

namespace {

/// Value of a 16-bit float by its definition.
double by_definition(std::uint16_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = bits >> 15 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1)
    return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

double f16_value(std::uint16_t bits) { return by_definition(bits, 5, 10); }
double bf16_value(std::uint16_t bits) { return by_definition(bits, 8, 7); }

std::uint16_t narrow_one(dtype t, float value) {
  std::uint16_t bits{};
  narrow(t, std::span{&value, 1}, std::as_writable_bytes(std::span{&bits, 1}));
  return bits;
}

std::uint16_t round_one(dtype t, double value) {
  std::uint16_t bits{};
  from_double(t, std::span{&value, 1}, std::as_writable_bytes(std::span{&bits, 1}));
  return bits;
}

std::vector<std::uint16_t> all_16_bits() {
  std::vector<std::uint16_t> all(65536);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  return all;
}

}  // namespace

TEST_CASE("numeric: names of element types and reductions") {
  CHECK(parse_dtype("half") == dtype::f16);
  CHECK(parse_dtype("bfloat16") == dtype::bf16);
  CHECK(parse_dtype("float") == dtype::f32);
  CHECK(parse_dtype("int32") == dtype::i32);
  CHECK_FALSE(parse_dtype("F16"));
  CHECK_FALSE(parse_reduction("mean"));
  for (const dtype t : {dtype::f16, dtype::bf16, dtype::f32, dtype::i32})
    CHECK(parse_dtype(to_string(t)) == t);
  for (const reduction r : {reduction::sum, reduction::max, reduction::min, reduction::prod, reduction::avg})
    CHECK(parse_reduction(to_string(r)) == r);
}

TEST_CASE("numeric: all 65536 values of f16 and bf16 widen to their value and narrow back") {
  const std::vector<std::uint16_t> all = all_16_bits();
  for (const dtype t : {dtype::f16, dtype::bf16}) {
    std::vector<float> floats(all.size());
    widen(t, std::as_bytes(std::span{all}), floats);
    std::vector<std::uint16_t> back(all.size());
    narrow(t, floats, std::as_writable_bytes(std::span{back}));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double value = t == dtype::f16 ? f16_value(all[i]) : bf16_value(all[i]);
      if (std::isnan(value)) {
        wrong += !std::isnan(floats[i]) || back[i] != (t == dtype::f16 ? f16_nan : bf16_nan);
      } else {
        wrong += static_cast<double>(floats[i]) != value || std::signbit(floats[i]) != std::signbit(value) ||
                 back[i] != all[i];
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("numeric: f16 instructions and portable code give the same bits") {
  if (!detail::has_f16_instructions()) WARN("no F16C on this processor: both are the portable code");
  const std::vector<std::uint16_t> all = all_16_bits();
  std::vector<float> fast(all.size()), portable(all.size());
  detail::f16_to_f32_fast(all.data(), fast.data(), all.size());
  detail::f16_to_f32_portable(all.data(), portable.data(), all.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool nan = std::isnan(fast[i]) && std::isnan(portable[i]);  // payloads may differ
    wrong += !nan && std::bit_cast<std::uint32_t>(fast[i]) != std::bit_cast<std::uint32_t>(portable[i]);
  }
  // Floats over the whole range of bits, NaNs as narrow() hands them over: canonical.
  for (std::uint64_t bits = 0; bits < 0x1'0000'0000; bits += 997) {
    auto f = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isnan(f)) f = std::bit_cast<float>(f32_nan);
    std::uint16_t a{}, b{};
    detail::f32_to_f16_fast(&f, &a, 1);
    detail::f32_to_f16_portable(&f, &b, 1);
    wrong += a != b;
  }
  CHECK(wrong == 0);
}

TEST_CASE("numeric: rounding is to nearest, ties to even, at every boundary of f16 and bf16") {
  struct format {
    dtype t;
    std::uint16_t largest;
    double (*value)(std::uint16_t);
  };
  for (const format& f : {format{dtype::f16, 0x7bff, f16_value}, format{dtype::bf16, 0x7f7f, bf16_value}}) {
    std::size_t wrong = 0;
    for (std::uint16_t low = 0; low < f.largest; ++low) {
      const double a = f.value(low), b = f.value(static_cast<std::uint16_t>(low + 1));
      const double tie = (a + b) / 2;
      const auto high = static_cast<std::uint16_t>(low + 1);
      const std::uint16_t even = low % 2 == 0 ? low : high;
      wrong += narrow_one(f.t, static_cast<float>(tie)) != even || round_one(f.t, tie) != even;
      wrong += round_one(f.t, -tie) != (even | 0x8000);
      // A hair from the tie: a conversion by way of float would round to the tie first.
      wrong += round_one(f.t, tie + (b - a) * 0x1p-30) != high;
      wrong += round_one(f.t, tie - (b - a) * 0x1p-30) != low;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("numeric: overflow, underflow and NaN of conversions") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(round_one(dtype::f16, 65519.999) == 0x7bff);
  CHECK(round_one(dtype::f16, 65520.0) == 0x7c00);
  CHECK(round_one(dtype::f16, 1e300) == 0x7c00);
  CHECK(round_one(dtype::f16, -inf) == 0xfc00);
  CHECK(round_one(dtype::f16, 0x1p-25) == 0);
  CHECK(round_one(dtype::f16, 0x1.0001p-25) == 1);
  CHECK(round_one(dtype::f16, -1e-300) == 0x8000);
  CHECK(round_one(dtype::f16, -std::nan("")) == f16_nan);
  CHECK(round_one(dtype::bf16, std::nan("")) == bf16_nan);
  CHECK(round_one(dtype::bf16, 3.4e38) == 0x7f80);
}

TEST_CASE("numeric: doubles round to i32, and beyond it is an error") {
  const std::array<double, 5> values{2.5, 3.5, -2.5, 2147483647.4, -2147483648.5};
  std::array<std::int32_t, 5> ints{};
  from_double(dtype::i32, values, std::as_writable_bytes(std::span{ints}));
  CHECK(ints == std::array<std::int32_t, 5>{2, 4, -2, 2147483647, INT32_MIN});
  for (const double bad : {2147483647.5, -2147483649.0, std::nan("")})
    CHECK_THROWS_AS(
        from_double(dtype::i32, std::span{&bad, 1}, std::as_writable_bytes(std::span{ints}).first(4)),
        std::out_of_range);
}

TEST_CASE("numeric: every type survives the way to double and back") {
  CHECK(rc::check("f32 and i32", [](std::uint32_t bits) {
    const auto source = std::as_bytes(std::span{&bits, 1});
    for (const dtype t : {dtype::f32, dtype::i32}) {
      const double v = element(t, source, 0);
      std::uint32_t back{};
      set_element(t, std::as_writable_bytes(std::span{&back, 1}), 0, v);
      RC_ASSERT(back == (t == dtype::f32 && std::isnan(v) ? f32_nan : bits));
    }
  }));
}

TEST_CASE("numeric: conversions refuse sizes that do not agree") {
  std::array<std::byte, 6> bytes{};
  std::array<float, 2> floats{};
  std::array<double, 2> doubles{};
  CHECK_THROWS_AS(widen(dtype::f16, bytes, floats), std::invalid_argument);
  CHECK_THROWS_AS(narrow(dtype::f32, floats, bytes), std::invalid_argument);
  CHECK_THROWS_AS(to_double(dtype::f16, bytes, doubles), std::invalid_argument);
  CHECK_THROWS_AS(widen(dtype::i32, std::span{bytes}.first(4), std::span{floats}.first(1)),
                  std::invalid_argument);
  CHECK_THROWS_AS(element(dtype::f16, bytes, 3), std::out_of_range);
}
