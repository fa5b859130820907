// SPDX-License-Identifier: Apache-2.0
// The patterns one_hot and rank_plus_one.
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <stdexcept>

#include "models/numeric/convert.hpp"
#include "models/numeric/elementwise.hpp"
#include "models/numeric/types.hpp"
#include "models/random/data_scheme.hpp"

namespace diecast::random {
namespace {

using numeric::dtype;
using numeric::reduction;

std::uint32_t positive_finite_values(dtype t) {
  switch (t) {
    case dtype::f16: return 0x7bff;
    case dtype::bf16: return 0x7f7f;
    case dtype::f32: return 0x7f7fffff;
    case dtype::i32: return INT32_MAX;
  }
  return 1;
}

double largest(dtype t) {
  if (t == dtype::i32) return INT32_MAX;
  const numeric::precision p = numeric::precision_of(t);
  const double ulp = std::ldexp(1.0, p.max_exponent);
  return std::ldexp(ulp, static_cast<int>(p.significand_bits)) - ulp;
}

double identity(dtype t, reduction op) {
  switch (op) {
    case reduction::prod: return 1.0;
    case reduction::max: return t == dtype::i32 ? -2147483648.0 : -largest(t);
    case reduction::min: return largest(t);
    case reduction::sum:
    case reduction::avg: break;
  }
  return 0.0;
}

class one_hot_scheme final : public test_data::scheme {
 public:
  using scheme::scheme;

  void fill(std::uint32_t rank, std::span<std::byte> out) const override {
    fill_with(out, [&](std::uint64_t e) {
      return e % request().ranks == rank ? one_hot_value(request().type, request().ranks, rank)
                                         : identity(request().type, request().op);
    });
  }

  void expected(std::span<std::byte> out) const override {
    fill_with(out, [&](std::uint64_t e) {
      const auto rank = static_cast<std::uint32_t>(e % request().ranks);
      const double v = one_hot_value(request().type, request().ranks, rank);
      return average() ? rounded_average(request().type, v, request().ranks) : v;
    });
  }

  [[nodiscard]] std::string why() const override { return "one contributor per element"; }
};

class rank_plus_one_scheme final : public test_data::scheme {
 public:
  explicit rank_plus_one_scheme(const data_request& request) : scheme(request) {
    const double n = request.ranks;
    if (request.type == dtype::i32 && request.op == reduction::avg && n * (n + 1) / 2 > INT32_MAX)
      throw std::invalid_argument(fmt::format("rank_plus_one: the sum of {} ranks is not within i32", n));
    reduce();
    const double limit =
        std::ldexp(1.0, static_cast<int>(numeric::precision_of(request.type).significand_bits));
    const bool integer = request.type == dtype::i32;
    switch (request.op) {
      case reduction::max:
      case reduction::min: exact_ = true; break;
      case reduction::sum:
      case reduction::avg: exact_ = integer || n * (n + 1) / 2 <= limit; break;
      case reduction::prod: exact_ = integer || std::fabs(result_) <= limit; break;
    }
  }

  void fill(std::uint32_t rank, std::span<std::byte> out) const override {
    fill_with(out, [rank](std::uint64_t) { return rank + 1.0; });
  }
  void expected(std::span<std::byte> out) const override {
    const double value = average() ? rounded_average(request().type, result_, request().ranks) : result_;
    fill_with(out, [value](std::uint64_t) { return value; });
  }

  void error_bounds(std::span<double> out) const override {
    if (exact_) return scheme::error_bounds(out);
    // All terms are positive, so the sum equals the sum of magnitudes. In a product every nesting has the
    // same roundings. The expected value and the division add one rounding each.
    using numeric::summation;
    const summation order = request().op == reduction::prod ? summation::sequential : request().order;
    const double bound = numeric::sum_error_bound(request().type, order, request().ranks, result_) +
                         2 * numeric::unit_roundoff(request().type) * result_;
    std::ranges::fill(out, average() ? bound / request().ranks : bound);
  }

  [[nodiscard]] bool exact() const override { return exact_; }
  [[nodiscard]] std::string why() const override {
    return fmt::format("every element is rank + 1, {} ranks {} the exact range of {}", request().ranks,
                       exact_ ? "are within" : "exceed", numeric::to_string(request().type));
  }

 private:
  /// The reduction of the contributions as the type holds them (bf16 rounds 257 to 256).
  void reduce() {
    std::array<std::byte, sizeof(float)> bytes{};
    const auto contribution = std::span{bytes}.first(numeric::size_of(request().type));
    std::uint32_t wrapped = request().op == reduction::prod ? 1 : 0;
    for (std::uint32_t rank = 0; rank < request().ranks; ++rank) {
      numeric::set_element(request().type, contribution, 0, rank + 1.0);
      const double v = numeric::element(request().type, contribution, 0);
      switch (request().op) {
        case reduction::sum: wrapped += rank + 1; [[fallthrough]];
        case reduction::avg: result_ += v; break;
        case reduction::prod:
          wrapped *= rank + 1;
          result_ = rank == 0 ? v : result_ * v;
          break;
        case reduction::max: result_ = v; break;
        case reduction::min: result_ = rank == 0 ? v : result_; break;
      }
    }
    const bool wraps = request().op == reduction::sum || request().op == reduction::prod;
    if (request().type == dtype::i32 && wraps) result_ = static_cast<std::int32_t>(wrapped);
  }

  double result_{};
  bool exact_{};
};

}  // namespace

double one_hot_value(dtype type, std::uint32_t ranks, std::uint32_t rank) {
  if (ranks <= test_data::exact_ranks(type)) return rank + 1.0;
  const std::uint32_t bits = 1 + rank % positive_finite_values(type);
  std::array<std::byte, sizeof bits> bytes{};
  std::memcpy(bytes.data(), &bits, sizeof bits);
  return numeric::element(type, std::span{bytes}.first(numeric::size_of(type)), 0);
}

std::unique_ptr<test_data::scheme> make_one_hot_scheme(const data_request& request) {
  return std::make_unique<one_hot_scheme>(request);
}
std::unique_ptr<test_data::scheme> make_rank_plus_one_scheme(const data_request& request) {
  return std::make_unique<rank_plus_one_scheme>(request);
}

}  // namespace diecast::random
