// SPDX-License-Identifier: Apache-2.0
// Arbitrary bits: maxima and minima of any type, sums and products of i32.
#include "models/random/data_scheme.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

#include "models/numeric/convert.hpp"
#include "models/numeric/elementwise.hpp"
#include "models/numeric/types.hpp"

namespace diecast::random {
namespace {

/// Arbitrary finite values.
class extreme_scheme final : public test_data::scheme {
 public:
  using scheme::scheme;

  void fill(std::uint32_t rank, std::span<std::byte> out) const override {
    switch (request().type) {
      case numeric::dtype::f16: return fill_finite<std::uint16_t>(rank, 0x7c00, out);
      case numeric::dtype::bf16: return fill_finite<std::uint16_t>(rank, 0x7f80, out);
      case numeric::dtype::f32: return fill_finite<std::uint32_t>(rank, 0x7f800000, out);
      case numeric::dtype::i32: return fill_finite<std::uint32_t>(rank, 0, out);
    }
  }

  void expected(std::span<std::byte> out) const override {
    fill(0, out);
    std::vector<std::byte> next(out.size());
    for (std::uint32_t rank = 1; rank < request().ranks; ++rank) {
      fill(rank, next);
      numeric::apply(request().op, request().type, out, out, next);
    }
  }

  [[nodiscard]] std::string why() const override {
    return fmt::format("{} does not round", numeric::to_string(request().op));
  }

 private:
  /// `exponent`: the exponent bits; all of them set would be infinity or NaN.
  template <class Bits>
  void fill_finite(std::uint32_t rank, Bits exponent, std::span<std::byte> out) const {
    const auto top = static_cast<Bits>(exponent & ~(exponent >> 1));
    for_draws<Bits>(rank_stream(rank), request().count, [&](std::uint64_t first, std::span<Bits> draws) {
      for (Bits& draw : draws)
        if ((draw & exponent) == exponent) draw = static_cast<Bits>(draw & ~top);
      write(out, first, draws);
    });
  }
};

/// sum and prod modulo 2^32; avg of a sum that stays in range.
class integer_scheme final : public test_data::scheme {
 public:
  explicit integer_scheme(const data_request& request)
      : scheme(request), cap_(static_cast<std::int32_t>(INT32_MAX / request.ranks)) {}

  void fill(std::uint32_t rank, std::span<std::byte> out) const override {
    for_words(rank, [&](std::uint64_t first, std::span<std::uint32_t> draws) {
      for (std::uint32_t& draw : draws) draw = value(draw);
      write(out, first, draws);
    });
  }

  void expected(std::span<std::byte> out) const override {
    const bool product = request().op == numeric::reduction::prod;
    std::vector<std::uint64_t> totals(request().count, product ? 1 : 0);
    for (std::uint32_t rank = 0; rank < request().ranks; ++rank) {
      for_words(rank, [&](std::uint64_t first, std::span<const std::uint32_t> draws) {
        for (std::size_t i = 0; i < draws.size(); ++i) {
          const auto v = static_cast<std::uint64_t>(static_cast<std::int32_t>(value(draws[i])));
          std::uint64_t& total = totals[first + i];
          total = product ? total * v : total + v;  // modulo 2^64, and so modulo 2^32
        }
      });
    }
    std::vector<std::uint32_t> results(totals.size());
    for (std::size_t i = 0; i < totals.size(); ++i) {
      const auto total = static_cast<std::int64_t>(totals[i]);
      results[i] = static_cast<std::uint32_t>(average() ? rounded_quotient(total, request().ranks) : total);
    }
    if (!results.empty()) std::memcpy(out.data(), results.data(), out.size());
  }

  [[nodiscard]] std::string why() const override {
    return average() ? "the sum stays within i32" : "integers modulo 2^32";
  }

 private:
  template <class Use>
  void for_words(std::uint32_t rank, Use use) const {
    for_draws<std::uint32_t>(rank_stream(rank), request().count, use);
  }
  [[nodiscard]] std::uint32_t value(std::uint32_t draw) const {
    if (average()) return static_cast<std::uint32_t>(signed_mantissa(draw, cap_));
    // Odd factors: even ones would soon make every product 0.
    return request().op == numeric::reduction::prod ? draw | 1u : draw;
  }

  std::int32_t cap_;
};

}  // namespace

std::unique_ptr<test_data::scheme> make_extreme_scheme(const data_request& request) {
  return std::make_unique<extreme_scheme>(request);
}
std::unique_ptr<test_data::scheme> make_integer_scheme(const data_request& request) {
  return std::make_unique<integer_scheme>(request);
}

// Products of floating-point elements: plus or minus powers of two.

namespace {

class product_scheme final : public test_data::scheme {
 public:
  explicit product_scheme(const data_request& request)
      : scheme(request),
        budget_(request.type == numeric::dtype::f16 ? 14 : 126),
        cap_(std::max(1u, budget_ / request.ranks)),
        offsets_(request.count) {
    for_draws<std::uint32_t>(
        element_stream(), request.count, [&](std::uint64_t first, std::span<const std::uint32_t> draws) {
          for (std::size_t i = 0; i < draws.size(); ++i)
            offsets_[first + i] = static_cast<std::uint32_t>(std::uint64_t{draws[i]} * request.ranks >> 32);
        });
  }

  void fill(std::uint32_t rank, std::span<std::byte> out) const override {
    for_factors(rank, [&](std::uint64_t first, std::span<const factor> factors) {
      std::array<float, data_block> values;
      for (std::size_t i = 0; i < factors.size(); ++i)
        values[i] = std::ldexp(factors[i].negative ? -1.0f : 1.0f, factors[i].exponent);
      narrow(out, first, std::span{values}.first(factors.size()));
    });
  }

  void expected(std::span<std::byte> out) const override {
    std::vector<factor> products(request().count);
    for (std::uint32_t rank = 0; rank < request().ranks; ++rank) {
      for_factors(rank, [&](std::uint64_t first, std::span<const factor> factors) {
        for (std::size_t i = 0; i < factors.size(); ++i) {
          products[first + i].negative ^= factors[i].negative;
          products[first + i].exponent += factors[i].exponent;
        }
      });
    }
    std::vector<double> values(products.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = std::ldexp(products[i].negative ? -1.0 : 1.0, products[i].exponent);
    }
    numeric::from_double(request().type, values, out);
  }

  [[nodiscard]] std::string why() const override {
    return fmt::format("powers of two, the magnitudes of their exponents sum to at most {}", budget_);
  }

 private:
  struct factor {
    bool negative{};
    int exponent{};
  };

  /// At most `budget_` ranks have an exponent other than 0 at an element; an offset per element selects them.
  template <class Use>
  void for_factors(std::uint32_t rank, Use use) const {
    const std::uint32_t choices = 2 * cap_ + 1;
    const auto block = [&](std::uint64_t first, std::span<const std::uint16_t> draws) {
      std::array<factor, data_block> factors;
      for (std::size_t i = 0; i < draws.size(); ++i) {
        const bool takes_part = (offsets_[first + i] + rank) % request().ranks < budget_;
        const int exponent = static_cast<int>((draws[i] >> 1) * choices >> 15) - static_cast<int>(cap_);
        factors[i] = {(draws[i] & 1) != 0, takes_part ? exponent : 0};
      }
      use(first, std::span<const factor>{factors}.first(draws.size()));
    };
    for_draws<std::uint16_t>(rank_stream(rank), request().count, block);
  }

  std::uint32_t budget_;  ///< sum over the ranks of |exponent|
  std::uint32_t cap_;     ///< largest factor of one rank
  std::vector<std::uint32_t> offsets_;
};

}  // namespace

std::unique_ptr<test_data::scheme> make_product_scheme(const data_request& request) {
  return std::make_unique<product_scheme>(request);
}

// Sums and averages of floating-point elements.

namespace {

class sum_scheme final : public test_data::scheme {
 public:
  explicit sum_scheme(const data_request& request)
      : scheme(request), precision_(numeric::precision_of(request.type)) {
    const std::int32_t budget = std::int32_t{1} << precision_.significand_bits;
    const int rank_bits = std::bit_width(request.ranks - 1);
    int max_exponent = precision_.max_exponent;
    exact_ = request.ranks <= static_cast<std::uint32_t>(budget);
    cap_ = budget / static_cast<std::int32_t>(request.ranks);
    if (!exact_) {  // full significands, and no sum overflows
      cap_ = budget / 2;
      max_exponent += 1 - rank_bits;
    }
    draw_scales(max_exponent);
  }

  void fill(std::uint32_t rank, std::span<std::byte> out) const override {
    for_mantissas(rank, [&](std::uint64_t first, std::span<const std::int32_t> mantissas) {
      std::array<float, data_block> values;
      for (std::size_t i = 0; i < mantissas.size(); ++i)
        values[i] = static_cast<float>(mantissas[i]) * scales_[first + i];
      narrow(out, first, std::span{values}.first(mantissas.size()));
    });
  }

  void expected(std::span<std::byte> out) const override {
    std::vector<std::int64_t> sums = totals([](std::int64_t m) { return m; });
    std::vector<double> values(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      values[i] = static_cast<double>(sums[i]) * static_cast<double>(scales_[i]);
      if (average()) values[i] = rounded_average(request().type, values[i], request().ranks);
    }
    numeric::from_double(request().type, values, out);
  }

  void error_bounds(std::span<double> out) const override {
    if (exact_) return scheme::error_bounds(out);
    const std::vector<std::int64_t> magnitudes = totals([](std::int64_t m) { return m < 0 ? -m : m; });
    const double last_place = std::ldexp(1.0, precision_.min_exponent);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double sum = static_cast<double>(magnitudes[i]) * static_cast<double>(scales_[i]);
      out[i] = numeric::sum_error_bound(request().type, request().order, request().ranks, sum);
      // expected() is itself rounded, by at most half a unit in its last place; so is the division.
      const double rounding = numeric::unit_roundoff(request().type) * sum + last_place / 2;
      out[i] = average() ? (out[i] + 2 * rounding) / request().ranks + last_place : out[i] + rounding;
    }
  }

  [[nodiscard]] bool exact() const override { return exact_; }
  [[nodiscard]] std::string why() const override {
    const std::string name = numeric::to_string(request().type);
    const std::uint64_t limit = test_data::exact_ranks(request().type);
    if (exact_) {
      return fmt::format("the magnitudes of {} ranks sum within the {}-bit significand of {}",
                         request().ranks, precision_.significand_bits, name);
    }
    const bool pairwise = request().order == numeric::summation::pairwise;
    return fmt::format("{}*u*sum|x|: {} ranks exceed the {} for which {} data is exact",
                       pairwise ? "ceil(log2 n)" : "(n-1)", request().ranks, limit, name);
  }

 private:
  void draw_scales(int max_exponent) {
    scales_.resize(request().count);
    const auto span = static_cast<std::uint32_t>(max_exponent - precision_.min_exponent + 1);
    const auto block = [&](std::uint64_t first, std::span<const std::uint16_t> draws) {
      for (std::size_t i = 0; i < draws.size(); ++i) {
        const int step = static_cast<int>(draws[i] * span >> 16);
        scales_[first + i] = std::ldexp(1.0f, precision_.min_exponent + step);
      }
    };
    for_draws<std::uint16_t>(element_stream(), request().count, block);
  }

  template <class Use>
  void for_mantissas(std::uint32_t rank, Use use) const {
    if (numeric::size_of(request().type) == 2) {
      draw_mantissas<std::uint16_t>(rank, use);
    } else {
      draw_mantissas<std::uint32_t>(rank, use);
    }
  }

  template <class Draw, class Use>
  void draw_mantissas(std::uint32_t rank, Use use) const {
    const auto block = [&](std::uint64_t first, std::span<const Draw> draws) {
      std::array<std::int32_t, data_block> mantissas;
      for (std::size_t i = 0; i < draws.size(); ++i) mantissas[i] = signed_mantissa(draws[i], cap_);
      use(first, std::span<const std::int32_t>{mantissas}.first(draws.size()));
    };
    for_draws<Draw>(rank_stream(rank), request().count, block);
  }

  /// Per element, the sum over the ranks of `term(mantissa)`.
  template <class Term>
  [[nodiscard]] std::vector<std::int64_t> totals(Term term) const {
    std::vector<std::int64_t> sums(request().count);
    for (std::uint32_t rank = 0; rank < request().ranks; ++rank) {
      for_mantissas(rank, [&](std::uint64_t first, std::span<const std::int32_t> mantissas) {
        for (std::size_t i = 0; i < mantissas.size(); ++i) sums[first + i] += term(mantissas[i]);
      });
    }
    return sums;
  }

  numeric::precision precision_;
  std::int32_t cap_{};  ///< largest |mantissa| of a rank
  bool exact_{};
  std::vector<float> scales_;  ///< per element, its power of two
};

}  // namespace

std::unique_ptr<test_data::scheme> make_sum_scheme(const data_request& request) {
  return std::make_unique<sum_scheme>(request);
}

}  // namespace diecast::random
