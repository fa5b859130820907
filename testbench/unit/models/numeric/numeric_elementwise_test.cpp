// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <rapidcheck.h>

#include "models/numeric/convert.hpp"
#include "models/numeric/elementwise.hpp"
#include "models/numeric/types.hpp"
#include "models/random/stream.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::numeric;

namespace {

constexpr std::array all_types{dtype::f16, dtype::bf16, dtype::f32, dtype::i32};
constexpr std::array reals{dtype::f16, dtype::bf16, dtype::f32};
using bytes = std::vector<std::byte>;

bytes random_bytes(std::size_t n, std::uint64_t seed) {
  bytes out(n);
  const random::stream source{seed, "test", "bytes"};
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::byte>(source.at(i));
  return out;
}

/// Bits of one element computed by apply().
std::uint32_t apply_one(reduction op, dtype t, std::uint32_t a, std::uint32_t b) {
  std::uint32_t out{};
  const auto n = size_of(t);
  apply(op, t, std::as_writable_bytes(std::span{&out, 1}).first(n), std::as_bytes(std::span{&a, 1}).first(n),
        std::as_bytes(std::span{&b, 1}).first(n));
  return out;
}

std::uint32_t bits_of(dtype t, double value) {
  std::uint32_t out{};
  set_element(t, std::as_writable_bytes(std::span{&out, 1}).first(size_of(t)), 0, value);
  return out;
}

std::uint32_t divide_one(dtype t, std::uint32_t bits, std::uint32_t divisor) {
  divide(t, std::as_writable_bytes(std::span{&bits, 1}).first(size_of(t)), divisor);
  return bits;
}

std::uint32_t nan_of(dtype t) { return t == dtype::f16 ? f16_nan : t == dtype::bf16 ? bf16_nan : f32_nan; }

/// Elements of `got` that are not `operation` done in double and rounded once.
template <class Operation>
std::size_t count_unlike(dtype t, const bytes& got, const bytes& a, const bytes& b, Operation operation) {
  std::size_t wrong = 0;
  const std::size_t size = size_of(t);
  for (std::size_t i = 0; i < got.size() / size; ++i) {
    std::uint32_t bits{};
    std::memcpy(&bits, got.data() + i * size, size);
    wrong += bits != bits_of(t, operation(element(t, a, i), element(t, b, i)));
  }
  return wrong;
}

}  // namespace

TEST_CASE("numeric: sums and products of arbitrary elements are correctly rounded") {
  const bytes a = random_bytes(1 << 19, 1), b = random_bytes(1 << 19, 2);
  for (const dtype t : reals) {
    bytes out(a.size());
    apply(reduction::sum, t, out, a, b);
    CHECK(count_unlike(t, out, a, b, [](double x, double y) { return x + y; }) == 0);
    apply(reduction::avg, t, out, a, b);
    CHECK(count_unlike(t, out, a, b, [](double x, double y) { return x + y; }) == 0);
    apply(reduction::prod, t, out, a, b);
    CHECK(count_unlike(t, out, a, b, [](double x, double y) { return x * y; }) == 0);
  }
}

TEST_CASE("numeric: products that underflow are correctly rounded") {
  // Arbitrary significands whose product falls among the subnormals of the type.
  CHECK(rc::check("f16 and bf16", [] {
    for (const dtype t : {dtype::f16, dtype::bf16}) {
      const precision p = precision_of(t);
      const int sum = *rc::gen::inRange(p.min_exponent - 3, p.min_exponent + 24);
      const double a = *rc::gen::inRange(1, 1 << p.significand_bits) * std::ldexp(1.0, sum / 2 - 8);
      const double b = *rc::gen::inRange(1, 1 << p.significand_bits) * std::ldexp(1.0, sum - sum / 2 - 8);
      const std::uint32_t x = bits_of(t, a), y = bits_of(t, b);
      const auto n = size_of(t);
      const double exact = element(t, std::as_bytes(std::span{&x, 1}).first(n), 0) *
                           element(t, std::as_bytes(std::span{&y, 1}).first(n), 0);
      RC_ASSERT(apply_one(reduction::prod, t, x, y) == bits_of(t, exact));
    }
  }));
}

TEST_CASE("numeric: max and min of arbitrary elements") {
  const bytes a = random_bytes(1 << 18, 3), b = random_bytes(1 << 18, 4);
  for (const dtype t : all_types) {
    bytes out(a.size());
    apply(reduction::max, t, out, a, b);
    CHECK(count_unlike(t, out, a, b, [](double x, double y) {
            return std::isnan(x) || std::isnan(y) ? std::nan("") : std::max(x, y);
          }) == 0);
    apply(reduction::min, t, out, a, b);
    CHECK(count_unlike(t, out, a, b, [](double x, double y) {
            return std::isnan(x) || std::isnan(y) ? std::nan("") : std::min(x, y);
          }) == 0);
  }
}

TEST_CASE("numeric: NaN poisons every operation, infinities and zeros have their order") {
  const double inf = std::numeric_limits<double>::infinity();
  for (const dtype t : reals) {
    const std::uint32_t one = bits_of(t, 1.0), nan = nan_of(t);
    const std::uint32_t sign = size_of(t) == 2 ? 0x8000u : 0x80000000u;
    const std::uint32_t other_nan = nan | sign | 1;
    for (const reduction op : {reduction::sum, reduction::max, reduction::min, reduction::prod}) {
      CHECK(apply_one(op, t, one, other_nan) == nan);
      CHECK(apply_one(op, t, other_nan, one) == nan);
      CHECK(apply_one(op, t, other_nan, bits_of(t, -inf)) == nan);
    }
    CHECK(apply_one(reduction::sum, t, bits_of(t, inf), bits_of(t, -inf)) == nan);
    CHECK(apply_one(reduction::prod, t, bits_of(t, inf), 0) == nan);
    CHECK(apply_one(reduction::max, t, bits_of(t, -inf), one) == one);
    CHECK(apply_one(reduction::min, t, bits_of(t, inf), one) == one);
    for (const auto& [x, y] : {std::pair{0u, sign}, std::pair{sign, 0u}}) {
      CHECK(apply_one(reduction::max, t, x, y) == 0);
      CHECK(apply_one(reduction::min, t, x, y) == sign);
      CHECK(apply_one(reduction::sum, t, x, y) == 0);
      CHECK(apply_one(reduction::prod, t, x, y) == sign);
    }
    CHECK(apply_one(reduction::sum, t, sign, sign) == sign);
  }
}

TEST_CASE("numeric: i32 sums and products wrap") {
  CHECK(apply_one(reduction::sum, dtype::i32, 0x7fffffff, 1) == 0x80000000);
  CHECK(apply_one(reduction::avg, dtype::i32, 0x80000000, 0x80000000) == 0);
  CHECK(apply_one(reduction::prod, dtype::i32, 0x10001, 0x10001) == 0x20001);
  CHECK(apply_one(reduction::max, dtype::i32, 0xffffffff, 1) == 1);
  CHECK(apply_one(reduction::min, dtype::i32, 0xffffffff, 1) == 0xffffffff);
}

TEST_CASE("numeric: division is correctly rounded") {
  CHECK(rc::check("the nearest element", [](std::uint32_t bits) {
    const std::uint32_t n =
        *rc::gen::oneOf(rc::gen::inRange(1u, 300u), rc::gen::inRange(1u, max_divisor + 1));
    for (const dtype t : reals) {
      const std::uint32_t x = size_of(t) == 2 ? bits & 0x7fff : bits & 0x7fffffff;
      const std::uint32_t infinity = bits_of(t, std::numeric_limits<double>::infinity());
      if (x >= infinity) continue;
      const std::uint32_t q = divide_one(t, x, n);
      const auto value = [&](std::uint32_t b) {
        return static_cast<long double>(element(t, std::as_bytes(std::span{&b, 1}).first(size_of(t)), 0));
      };
      // Products of a neighbor's midpoint (25 bits) and n (25 bits) are exact in long double.
      const long double above = (value(q) + value(q + 1)) / 2 * n;
      RC_ASSERT(value(x) <= above);
      RC_ASSERT(value(x) < above || q % 2 == 0);
      if (q == 0) continue;
      const long double below = (value(q) + value(q - 1)) / 2 * n;
      RC_ASSERT(value(x) >= below);
      RC_ASSERT(value(x) > below || q % 2 == 0);
    }
    const auto x = static_cast<std::int32_t>(bits);
    const auto q = static_cast<std::int32_t>(divide_one(dtype::i32, bits, n));
    const std::int64_t rest = 2 * (x - std::int64_t{q} * n);
    RC_ASSERT(std::abs(rest) <= n);
    RC_ASSERT(std::abs(rest) < n || q % 2 == 0);
  }));
  CHECK(divide_one(dtype::f16, f16_nan | 0x8000, 3) == f16_nan);
}

TEST_CASE("numeric: any length and alignment, in place or not") {
  for (const dtype t : all_types) {
    for (const std::size_t n : {0u, 1u, 7u, 511u, 512u, 513u, 1500u}) {
      for (const std::size_t shift : {0u, 1u, 3u}) {
        const std::size_t size = n * size_of(t);
        bytes a = random_bytes(size + shift, 5), b = random_bytes(size + shift, 6), out(size + shift + 1);
        out.back() = std::byte{0x5a};
        const auto sa = std::span{a}.subspan(shift), sb = std::span{b}.subspan(shift);
        const auto so = std::span{out}.subspan(shift, size);
        apply(reduction::sum, t, so, sa, sb);
        CHECK(out.back() == std::byte{0x5a});
        bytes one_by_one(size);
        for (std::size_t i = 0; i < size; i += size_of(t))
          apply(reduction::sum, t, std::span{one_by_one}.subspan(i, size_of(t)), sa.subspan(i, size_of(t)),
                sb.subspan(i, size_of(t)));
        CHECK(std::equal(so.begin(), so.end(), one_by_one.begin()));
        bytes in_place_b = b;
        apply(reduction::sum, t, std::span{in_place_b}.subspan(shift), sa,
              std::span{in_place_b}.subspan(shift));
        CHECK(
            std::equal(one_by_one.begin(), one_by_one.end(), in_place_b.begin() + static_cast<long>(shift)));
        apply(reduction::sum, t, sa, sa, sb);
        CHECK(std::equal(one_by_one.begin(), one_by_one.end(), sa.begin()));
      }
    }
  }
}

TEST_CASE("numeric: spans that do not fit are refused") {
  bytes four(4), six(6);
  CHECK_THROWS_AS(apply(reduction::sum, dtype::f16, four, four, six), std::invalid_argument);
  CHECK_THROWS_AS(apply(reduction::sum, dtype::f32, six, six, six), std::invalid_argument);
  CHECK_THROWS_AS(divide(dtype::f32, six, 2), std::invalid_argument);
  CHECK_THROWS_WITH(divide(dtype::f16, four, 0), Catch::Contains("divisor 0"));
  CHECK_THROWS_AS(divide(dtype::f16, four, max_divisor + 1), std::invalid_argument);
}

TEST_CASE("numeric: the error of a sum stays within its bound, and comes near it in the worst case") {
  CHECK(sum_error_bound(dtype::f16, summation::sequential, 9, 4.0) == 8 * 0x1p-11 * 4.0);
  CHECK(sum_error_bound(dtype::bf16, summation::pairwise, 9, 4.0) == 4 * 0x1p-8 * 4.0);
  CHECK(sum_error_bound(dtype::f32, summation::pairwise, 8, 1.0) == 3 * 0x1p-24);
  CHECK(sum_error_bound(dtype::bf16, summation::pairwise, 2, 1.0) == 0x1p-8);
  for (const auto order : {summation::sequential, summation::pairwise}) {
    CHECK(sum_error_bound(dtype::f16, order, 1, 1.0) == 0.0);
    CHECK(sum_error_bound(dtype::i32, order, 100, 1e9) == 0.0);
  }
  CHECK(rc::check("sequential sums of f16", [](std::uint64_t seed) {
    const std::uint32_t n = *rc::gen::inRange(2u, 200u);
    const random::stream source{seed, "test", "terms"};
    std::uint32_t sum = 0;
    double exact = 0, magnitudes = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t term = bits_of(dtype::f16, source.unit(i) - 0.25);
      const double value = element(dtype::f16, std::as_bytes(std::span{&term, 1}).first(2), 0);
      exact += value;
      magnitudes += std::fabs(value);
      sum = i == 0 ? term : apply_one(reduction::sum, dtype::f16, sum, term);
    }
    const double got = element(dtype::f16, std::as_bytes(std::span{&sum, 1}).first(2), 0);
    RC_ASSERT(std::fabs(got - exact) <= sum_error_bound(dtype::f16, summation::sequential, n, magnitudes));
  }));
}
