// SPDX-License-Identifier: Apache-2.0
// A scheme of test data; internal to models/random.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "models/numeric/convert.hpp"
#include "models/numeric/types.hpp"
#include "models/random/stream.hpp"
#include "models/random/test_data.hpp"
#include "models/types/immovable.hpp"

namespace diecast::random {
struct data_request {
  std::uint64_t seed{};
  numeric::dtype type{};
  numeric::reduction op{};
  std::uint32_t ranks{};
  std::uint64_t count{};
  numeric::summation order{numeric::summation::sequential};
};

class test_data::scheme : immovable {
 public:
  explicit scheme(const data_request& request) : request_(request) {}
  virtual ~scheme() = default;

  virtual void fill(std::uint32_t rank, std::span<std::byte> out) const = 0;
  virtual void expected(std::span<std::byte> out) const = 0;
  virtual void error_bounds(std::span<double> out) const { std::ranges::fill(out, 0.0); }
  [[nodiscard]] virtual bool exact() const { return true; }
  [[nodiscard]] virtual std::string why() const = 0;

  [[nodiscard]] const data_request& request() const { return request_; }

 protected:
  /// The random numbers of a rank's contribution.
  [[nodiscard]] stream rank_stream(std::uint32_t rank) const;
  [[nodiscard]] stream element_stream() const { return {request_.seed, "", "test data: element"}; }
  [[nodiscard]] bool average() const { return request_.op == numeric::reduction::avg; }
  [[nodiscard]] std::span<std::byte> elements_of(std::span<std::byte> out, std::uint64_t first,
                                                 std::size_t n) const {
    const std::size_t element = numeric::size_of(request_.type);
    return out.subspan(first * element, n * element);
  }
  /// Puts elements, or what is rounded to elements, at place `first`.
  template <class Bits>
  void write(std::span<std::byte> out, std::uint64_t first, std::span<Bits> elements) const {
    std::memcpy(elements_of(out, first, elements.size()).data(), elements.data(), elements.size_bytes());
  }
  void narrow(std::span<std::byte> out, std::uint64_t first, std::span<const float> values) const {
    numeric::narrow(request_.type, values, elements_of(out, first, values.size()));
  }
  /// Fills `out` with value(e) of every element e.
  template <class Value>
  void fill_with(std::span<std::byte> out, Value value) const;

 private:
  data_request request_;
};

/// Elements worked on at a time.
inline constexpr std::size_t data_block = 1024;

/// An integer of [-cap, cap] without 0 from a uniform draw. No wider than it must be: loops of it become
/// vectors. Precondition for draws of 16 bits: cap < 2^15.
template <class Draw>
[[nodiscard]] constexpr std::int32_t signed_mantissa(Draw draw, std::int32_t cap) {
  using product = std::conditional_t<sizeof(Draw) == 2, std::uint32_t, std::uint64_t>;
  const auto choices = 2 * static_cast<product>(cap);
  const auto choice = static_cast<std::uint32_t>(draw * choices >> (sizeof(Draw) * 8));
  const auto m = static_cast<std::int32_t>(choice - static_cast<std::uint32_t>(cap));
  return m < 0 ? m : m + 1;
}

/// Calls `work(first, n)` for the blocks of `count` elements.
template <class Work>
void for_blocks(std::uint64_t count, Work work) {
  for (std::uint64_t first = 0; first < count; first += data_block)
    work(first, static_cast<std::size_t>(std::min<std::uint64_t>(data_block, count - first)));
}

/// Calls `use(first, draws)` for the blocks of `count` uniform draws, cut from 64-bit words.
template <class Draw, class Use>
void for_draws(const stream& source, std::uint64_t count, Use use) {
  constexpr std::size_t per_word = sizeof(std::uint64_t) / sizeof(Draw);
  static_assert(std::endian::native == std::endian::little, "the first draw is in the lowest bits of a word");
  for_blocks(count, [&](std::uint64_t first, std::size_t n) {
    std::array<std::uint64_t, data_block / per_word> words;
    std::array<Draw, data_block> draws;
    source.fill(first / per_word, std::span{words}.first((n + per_word - 1) / per_word));
    std::memcpy(draws.data(), words.data(), n * sizeof(Draw));
    use(first, std::span{draws}.first(n));
  });
}

template <class Value>
void test_data::scheme::fill_with(std::span<std::byte> out, Value value) const {
  for_blocks(request_.count, [&](std::uint64_t first, std::size_t n) {
    std::array<double, data_block> values;
    for (std::size_t i = 0; i < n; ++i) values[i] = value(first + i);
    numeric::from_double(request_.type, std::span{values}.first(n), elements_of(out, first, n));
  });
}

/// sum / ranks, to nearest, ties to even.
[[nodiscard]] std::int64_t rounded_quotient(std::int64_t sum, std::int64_t ranks);

/// The exact sum `significand` * 2^exponent divided by ranks and rounded to the type once.
[[nodiscard]] double rounded_average(numeric::dtype type, double sum, std::uint32_t ranks);

[[nodiscard]] std::unique_ptr<test_data::scheme> make_sum_scheme(const data_request& request);
[[nodiscard]] std::unique_ptr<test_data::scheme> make_product_scheme(const data_request& request);
[[nodiscard]] std::unique_ptr<test_data::scheme> make_extreme_scheme(const data_request& request);
[[nodiscard]] std::unique_ptr<test_data::scheme> make_integer_scheme(const data_request& request);
[[nodiscard]] std::unique_ptr<test_data::scheme> make_one_hot_scheme(const data_request& request);
[[nodiscard]] std::unique_ptr<test_data::scheme> make_rank_plus_one_scheme(const data_request& request);

}  // namespace diecast::random
