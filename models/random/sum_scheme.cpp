// SPDX-License-Identifier: Apache-2.0
// Sums and averages of floating-point elements.
#include <bit>
#include <cmath>
#include <fmt/format.h>

#include "models/numeric/convert.hpp"
#include "models/numeric/precision.hpp"
#include "models/random/data_scheme.hpp"

namespace diecast::random {
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
      for (std::size_t i = 0; i < mantissas.size(); ++i) {
        values[i] = static_cast<float>(mantissas[i]) * scales_[first + i];
      }
      numeric::narrow(request().type, std::span<const float>{values}.first(mantissas.size()),
                      elements_of(out, request().type, first, mantissas.size()));
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
    const stream source = element_stream();
    for_blocks(request().count, [&](std::uint64_t first, std::size_t n) {
      std::array<std::uint16_t, data_block> lanes;
      draw_lanes<std::uint16_t>(source, first, std::span{lanes}.first(n));
      for (std::size_t i = 0; i < n; ++i) {
        const int step = static_cast<int>(lanes[i] * span >> 16);
        scales_[first + i] = std::ldexp(1.0f, precision_.min_exponent + step);
      }
    });
  }

  template <class Use>
  void for_mantissas(std::uint32_t rank, Use use) const {
    if (numeric::size_of(request().type) == 2) {
      draw_mantissas<std::uint16_t>(rank, use);
    } else {
      draw_mantissas<std::uint32_t>(rank, use);
    }
  }

  template <class Lane, class Use>
  void draw_mantissas(std::uint32_t rank, Use use) const {
    const stream source = rank_stream(rank);
    for_blocks(request().count, [&](std::uint64_t first, std::size_t n) {
      std::array<Lane, data_block> lanes;
      std::array<std::int32_t, data_block> mantissas;
      draw_lanes<Lane>(source, first, std::span{lanes}.first(n));
      for (std::size_t i = 0; i < n; ++i) mantissas[i] = signed_mantissa(lanes[i], cap_);
      use(first, std::span<const std::int32_t>{mantissas}.first(n));
    });
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
