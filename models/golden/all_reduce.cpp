// SPDX-License-Identifier: Apache-2.0
#include "models/golden/all_reduce.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>

#include "models/numeric/convert.hpp"

namespace diecast::golden {
namespace {

using numeric::dtype;
using numeric::reduction;

constexpr std::size_t block = 1024;

/// The larger of two; NaN if one is, and -0 below +0.
double larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

double combine(reduction op, double a, double b) {
  switch (op) {
    case reduction::prod: return a * b;
    case reduction::max: return larger(a, b);
    case reduction::min: return -larger(-a, -b);
    case reduction::sum:
    case reduction::avg: break;
  }
  return a + b;
}

std::int64_t combine(reduction op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case reduction::prod: return static_cast<std::int32_t>(static_cast<std::uint32_t>(a * b));
    case reduction::max: return std::max(a, b);
    case reduction::min: return std::min(a, b);
    case reduction::sum: return static_cast<std::int32_t>(static_cast<std::uint32_t>(a + b));
    case reduction::avg: break;
  }
  return a + b;
}

/// To nearest, ties to even.
std::int64_t divide_rounded(std::int64_t sum, std::int64_t n) {
  const std::int64_t towards_zero = sum / n;
  const std::int64_t twice_rest = 2 * std::abs(sum % n);
  const bool away = twice_rest > n || (twice_rest == n && towards_zero % 2 != 0);
  return away ? towards_zero + (sum < 0 ? -1 : 1) : towards_zero;
}

}  // namespace

all_reduce::all_reduce(dtype type, reduction op, std::uint64_t count) : type_(type), op_(op), count_(count) {
  if (type == dtype::i32) {
    integers_.resize(count);
  } else {
    reals_.resize(count);
  }
}

void all_reduce::check_size(std::size_t bytes) const {
  if (bytes == count_ * numeric::size_of(type_)) return;
  throw std::invalid_argument(
      fmt::format("{} bytes for {} elements of {}", bytes, count_, numeric::to_string(type_)));
}

void all_reduce::add(std::span<const std::byte> contribution) {
  check_size(contribution.size());
  type_ == dtype::i32 ? add_integers(contribution) : add_reals(contribution);
  ++contributions_;
}

void all_reduce::add_integers(std::span<const std::byte> contribution) {
  std::array<std::int32_t, block> values;
  for (std::size_t first = 0; first < count_; first += block) {
    const std::size_t n = std::min<std::size_t>(block, count_ - first);
    std::memcpy(values.data(), contribution.data() + first * sizeof values[0], n * sizeof values[0]);
    for (std::size_t i = 0; i < n; ++i) {
      std::int64_t& to = integers_[first + i];
      to = contributions_ == 0 ? values[i] : combine(op_, to, std::int64_t{values[i]});
    }
  }
}

void all_reduce::add_reals(std::span<const std::byte> contribution) {
  std::array<double, block> values;
  const std::size_t size = numeric::size_of(type_);
  for (std::size_t first = 0; first < count_; first += block) {
    const std::size_t n = std::min<std::size_t>(block, count_ - first);
    numeric::to_double(type_, contribution.subspan(first * size, n * size), std::span{values}.first(n));
    for (std::size_t i = 0; i < n; ++i) {
      double& to = reals_[first + i];
      to = contributions_ == 0 ? values[i] : combine(op_, to, values[i]);
    }
  }
}

void all_reduce::result(std::span<std::byte> out) const {
  check_size(out.size());
  if (contributions_ == 0) throw std::logic_error("the result of an all-reduce without contributions");
  const bool average = op_ == reduction::avg;
  if (type_ == dtype::i32) {
    std::vector<std::int32_t> rounded(integers_.size());
    for (std::size_t i = 0; i < rounded.size(); ++i) {
      const std::int64_t n = average ? contributions_ : 1;
      rounded[i] = static_cast<std::int32_t>(divide_rounded(integers_[i], n));
    }
    if (!rounded.empty()) std::memcpy(out.data(), rounded.data(), out.size());
    return;
  }
  std::vector<double> values = reals_;
  if (average) {
    for (double& v : values) {
      // An f32 sum rounds before it is divided, as the ranks' does; of exact data it does not change.
      v = type_ == dtype::f32 ? static_cast<float>(v) / static_cast<float>(contributions_)
                              : v / contributions_;
    }
  }
  numeric::from_double(type_, values, out);
}

}  // namespace diecast::golden
