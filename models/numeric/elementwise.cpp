// SPDX-License-Identifier: Apache-2.0
#include "models/numeric/elementwise.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "models/numeric/convert.hpp"
#include "models/types/error.hpp"

namespace diecast::numeric {
namespace {

constexpr std::size_t at_a_time = 512;  ///< elements at a time: three arrays stay in the L1 cache

void check_whole(dtype t, std::size_t bytes) {
  if (bytes % size_of(t) == 0) return;
  throw formatted<std::invalid_argument>("{} bytes are not a whole number of {} elements", bytes,
                                         to_string(t));
}

/// Sum or product of floating-point elements via float. Rounding to float and then to f16 or bf16 is correct
/// for one addition or multiplication: float has more than 2p + 2 digits.
void arithmetic(reduction op, dtype t, std::span<std::byte> to, std::span<const std::byte> a,
                std::span<const std::byte> b) {
  std::array<float, at_a_time> x;
  std::array<float, at_a_time> y;
  const std::size_t step = at_a_time * size_of(t);
  for (std::size_t at = 0; at < to.size(); at += step) {
    const std::size_t bytes = std::min(step, to.size() - at);
    const std::size_t n = bytes / size_of(t);
    widen(t, a.subspan(at, bytes), std::span{x}.first(n));
    widen(t, b.subspan(at, bytes), std::span{y}.first(n));
    if (op == reduction::prod) {
      for (std::size_t i = 0; i < n; ++i) x[i] *= y[i];
    } else {
      for (std::size_t i = 0; i < n; ++i) x[i] += y[i];
    }
    narrow(t, std::span<const float>{x}.first(n), to.subspan(at, bytes));
  }
}

/// An operation on the bits of elements; blocks are copied so that loops see aligned, distinct arrays.
template <class Bits, class Operation>
void bitwise(std::span<std::byte> to, std::span<const std::byte> a, std::span<const std::byte> b,
             Operation operation) {
  std::array<Bits, at_a_time> x;
  std::array<Bits, at_a_time> y;
  for (std::size_t at = 0; at < to.size(); at += sizeof x) {
    const std::size_t bytes = std::min(sizeof x, to.size() - at);
    std::memcpy(x.data(), a.data() + at, bytes);
    std::memcpy(y.data(), b.data() + at, bytes);
    for (std::size_t i = 0; i < bytes / sizeof(Bits); ++i) x[i] = operation(x[i], y[i]);
    std::memcpy(to.data() + at, x.data(), bytes);
  }
}

/// Floating-point numbers in the order of their values as signed integers: -0 just below +0.
template <class Bits>
Bits ordered(Bits bits) {
  constexpr unsigned top = sizeof(Bits) * 8 - 1;
  constexpr Bits magnitude = static_cast<Bits>(~(std::make_unsigned_t<Bits>{1} << top));
  return static_cast<Bits>(bits ^ (static_cast<Bits>(bits >> top) & magnitude));
}

/// Bits is signed; `infinity` and `nan` as bits of the type.
template <class Bits>
void extreme(bool maximum, Bits infinity, Bits nan, std::span<std::byte> to, std::span<const std::byte> a,
             std::span<const std::byte> b) {
  constexpr Bits magnitude = std::numeric_limits<Bits>::max();
  bitwise<Bits>(to, a, b, [=](Bits x, Bits y) {
    const bool first = (ordered(x) > ordered(y)) == maximum;
    const bool unordered = ((x & magnitude) > infinity) | ((y & magnitude) > infinity);
    const Bits chosen = first ? x : y;
    return unordered ? nan : chosen;
  });
}

void integer(reduction op, std::span<std::byte> to, std::span<const std::byte> a,
             std::span<const std::byte> b) {
  using u32 = std::uint32_t;
  using i32 = std::int32_t;
  switch (op) {
    case reduction::sum:
    case reduction::avg: return bitwise<u32>(to, a, b, [](u32 x, u32 y) { return x + y; });
    case reduction::prod: return bitwise<u32>(to, a, b, [](u32 x, u32 y) { return x * y; });
    case reduction::max: return bitwise<i32>(to, a, b, [](i32 x, i32 y) { return std::max(x, y); });
    case reduction::min: return bitwise<i32>(to, a, b, [](i32 x, i32 y) { return std::min(x, y); });
  }
}

}  // namespace

void apply(reduction op, dtype type, std::span<std::byte> destination, std::span<const std::byte> a,
           std::span<const std::byte> b) {
  if (a.size() != destination.size() || b.size() != destination.size()) {
    throw formatted<std::invalid_argument>("operands of {} and {} bytes for a destination of {} bytes",
                                           a.size(), b.size(), destination.size());
  }
  check_whole(type, destination.size());
  if (type == dtype::i32) return integer(op, destination, a, b);
  if (op != reduction::max && op != reduction::min) return arithmetic(op, type, destination, a, b);
  const bool maximum = op == reduction::max;
  switch (type) {
    case dtype::f16: return extreme<std::int16_t>(maximum, 0x7c00, f16_nan, destination, a, b);
    case dtype::bf16: return extreme<std::int16_t>(maximum, 0x7f80, bf16_nan, destination, a, b);
    default: return extreme<std::int32_t>(maximum, 0x7f800000, f32_nan, destination, a, b);
  }
}

void divide(dtype type, std::span<std::byte> elements, std::uint32_t divisor) {
  if (divisor == 0 || divisor > max_divisor)
    throw formatted<std::invalid_argument>("divisor {}; expected 1 to {}", divisor, max_divisor);
  check_whole(type, elements.size());
  // In double, the quotient of an element and a divisor of 24 bits is never so close to a tie that
  // rounding it further to f16, bf16 or i32 can give a wrong result; f32 divides as float.
  std::array<double, at_a_time> x;
  const std::size_t step = at_a_time * size_of(type);
  for (std::size_t at = 0; at < elements.size(); at += step) {
    const auto part = elements.subspan(at, std::min(step, elements.size() - at));
    const auto values = std::span{x}.first(part.size() / size_of(type));
    to_double(type, part, values);
    if (type == dtype::f32) {
      for (double& v : values) v = static_cast<float>(v) / static_cast<float>(divisor);
    } else {
      for (double& v : values) v /= divisor;
    }
    from_double(type, values, part);
  }
}

}  // namespace diecast::numeric
