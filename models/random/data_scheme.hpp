// SPDX-License-Identifier: Apache-2.0
// How one family of test data is made; internal to models/random.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

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
  virtual void error_bounds(std::span<double> out) const { std::fill(out.begin(), out.end(), 0.0); }
  [[nodiscard]] virtual bool exact() const { return true; }
  [[nodiscard]] virtual std::string why() const = 0;

  [[nodiscard]] const data_request& request() const { return request_; }

 protected:
  /// The random numbers behind a rank's contribution.
  [[nodiscard]] stream rank_stream(std::uint32_t rank) const;
  [[nodiscard]] stream element_stream() const { return {request_.seed, "", "test data: element"}; }
  [[nodiscard]] bool average() const { return request_.op == numeric::reduction::avg; }

 private:
  data_request request_;
};

/// Elements worked on at a time.
inline constexpr std::size_t data_block = 1024;

/// Uniform draws, cut from 64-bit words: draw i of the stream, for i in [first, first + n). A block
/// starts at a multiple of data_block.
template <class Draw>
void fill_draws(const stream& source, std::uint64_t first, std::span<Draw> draws) {
  constexpr std::size_t per_word = sizeof(std::uint64_t) / sizeof(Draw);
  std::array<std::uint64_t, data_block / per_word> words;
  const std::size_t n = (draws.size() + per_word - 1) / per_word;
  source.fill(first / per_word, std::span{words}.first(n));
  static_assert(std::endian::native == std::endian::little, "the first draw is in the lowest bits of a word");
  std::memcpy(draws.data(), words.data(), draws.size_bytes());
}

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

[[nodiscard]] inline std::span<std::byte> elements_of(std::span<std::byte> bytes, numeric::dtype type,
                                                      std::uint64_t first, std::size_t n) {
  return bytes.subspan(first * numeric::size_of(type), n * numeric::size_of(type));
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
