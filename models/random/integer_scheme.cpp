// SPDX-License-Identifier: Apache-2.0
// Arbitrary bits: maxima and minima of any type, sums and products of i32.
#include <cstring>
#include <fmt/format.h>

#include "models/numeric/convert.hpp"
#include "models/numeric/elementwise.hpp"
#include "models/random/data_scheme.hpp"

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
    const stream source = rank_stream(rank);
    const auto top = static_cast<Bits>(exponent & ~(exponent >> 1));
    for_blocks(request().count, [&](std::uint64_t first, std::size_t n) {
      std::array<Bits, data_block> lanes;
      draw_lanes<Bits>(source, first, std::span{lanes}.first(n));
      for (std::size_t i = 0; i < n; ++i) {
        if ((lanes[i] & exponent) == exponent) lanes[i] = static_cast<Bits>(lanes[i] & ~top);
      }
      std::memcpy(elements_of(out, request().type, first, n).data(), lanes.data(), n * sizeof(Bits));
    });
  }
};

/// sum and prod modulo 2^32; avg of a sum that stays in range.
class integer_scheme final : public test_data::scheme {
 public:
  explicit integer_scheme(const data_request& request)
      : scheme(request), cap_(static_cast<std::int32_t>(INT32_MAX / request.ranks)) {}

  void fill(std::uint32_t rank, std::span<std::byte> out) const override {
    const stream source = rank_stream(rank);
    for_blocks(request().count, [&](std::uint64_t first, std::size_t n) {
      std::array<std::uint32_t, data_block> lanes;
      draw_lanes<std::uint32_t>(source, first, std::span{lanes}.first(n));
      for (std::size_t i = 0; i < n; ++i) lanes[i] = value(lanes[i]);
      std::memcpy(elements_of(out, request().type, first, n).data(), lanes.data(), n * sizeof lanes[0]);
    });
  }

  void expected(std::span<std::byte> out) const override {
    const bool product = request().op == numeric::reduction::prod;
    std::vector<std::uint64_t> totals(request().count, product ? 1 : 0);
    for (std::uint32_t rank = 0; rank < request().ranks; ++rank) {
      const stream source = rank_stream(rank);
      for_blocks(request().count, [&](std::uint64_t first, std::size_t n) {
        std::array<std::uint32_t, data_block> lanes;
        draw_lanes<std::uint32_t>(source, first, std::span{lanes}.first(n));
        for (std::size_t i = 0; i < n; ++i) {
          const auto v = static_cast<std::uint64_t>(static_cast<std::int32_t>(value(lanes[i])));
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
  [[nodiscard]] std::uint32_t value(std::uint32_t lane) const {
    if (average()) return static_cast<std::uint32_t>(signed_mantissa(lane, cap_));
    // Odd factors: even ones would soon make every product 0.
    return request().op == numeric::reduction::prod ? lane | 1u : lane;
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

}  // namespace diecast::random
