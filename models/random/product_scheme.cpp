// SPDX-License-Identifier: Apache-2.0
// Products of floating-point elements: plus or minus powers of two.
#include <cmath>
#include <fmt/format.h>

#include "models/numeric/convert.hpp"
#include "models/random/data_scheme.hpp"

namespace diecast::random {
namespace {

class product_scheme final : public test_data::scheme {
 public:
  explicit product_scheme(const data_request& request)
      : scheme(request),
        budget_(request.type == numeric::dtype::f16 ? 14 : 126),
        cap_(std::max(1u, budget_ / request.ranks)),
        offsets_(request.count) {
    const stream source = element_stream();
    for_blocks(request.count, [&](std::uint64_t first, std::size_t n) {
      std::array<std::uint32_t, data_block> lanes;
      draw_lanes<std::uint32_t>(source, first, std::span{lanes}.first(n));
      for (std::size_t i = 0; i < n; ++i) {
        offsets_[first + i] = static_cast<std::uint32_t>(std::uint64_t{lanes[i]} * request.ranks >> 32);
      }
    });
  }

  void fill(std::uint32_t rank, std::span<std::byte> out) const override {
    for_factors(rank, [&](std::uint64_t first, std::span<const factor> factors) {
      std::array<float, data_block> values;
      for (std::size_t i = 0; i < factors.size(); ++i) {
        values[i] = std::ldexp(factors[i].negative ? -1.0f : 1.0f, factors[i].exponent);
      }
      numeric::narrow(request().type, std::span<const float>{values}.first(factors.size()),
                      elements_of(out, request().type, first, factors.size()));
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

  /// Of each element, `budget_` ranks at most have an exponent other than 0; an offset per element
  /// decides which.
  template <class Use>
  void for_factors(std::uint32_t rank, Use use) const {
    const stream source = rank_stream(rank);
    const std::uint32_t choices = 2 * cap_ + 1;
    for_blocks(request().count, [&](std::uint64_t first, std::size_t n) {
      std::array<std::uint16_t, data_block> lanes;
      std::array<factor, data_block> factors;
      draw_lanes<std::uint16_t>(source, first, std::span{lanes}.first(n));
      for (std::size_t i = 0; i < n; ++i) {
        const bool takes_part = (offsets_[first + i] + rank) % request().ranks < budget_;
        const int exponent = static_cast<int>((lanes[i] >> 1) * choices >> 15) - static_cast<int>(cap_);
        factors[i] = {(lanes[i] & 1) != 0, takes_part ? exponent : 0};
      }
      use(first, std::span<const factor>{factors}.first(n));
    });
  }

  std::uint32_t budget_;  ///< sum over the ranks of |exponent|
  std::uint32_t cap_;     ///< largest factor of one rank
  std::vector<std::uint32_t> offsets_;
};

}  // namespace

std::unique_ptr<test_data::scheme> make_product_scheme(const data_request& request) {
  return std::make_unique<product_scheme>(request);
}

}  // namespace diecast::random
