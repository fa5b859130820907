// SPDX-License-Identifier: Apache-2.0
// Right outputs of collectives.
//
// The right answer of an all-reduce, from the contributions the ranks really made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/comm/collective.hpp"
#include "models/numeric/types.hpp"
#include "models/random/test_data.hpp"

namespace diecast::golden {

// Comparison of a result with the right answer.

/// One element that is not as expected.
struct wrong_element {
  std::uint64_t index{};
  double got{};
  double expected{};
};
/// "element 12: got 7, expected 8"
[[nodiscard]] std::string to_string(const wrong_element& w);

/// Elements that differ. Bit by bit: -0 differs from +0, and NaNs must be the same one. The rules of
/// numeric/elementwise.hpp make even those independent of the order of reduction.
/// Spans of unequal size or not of whole elements: std::invalid_argument.
[[nodiscard]] std::uint64_t count_wrong(numeric::dtype type, std::span<const std::byte> got,
                                        std::span<const std::byte> expected);

/// Elements farther from `expected` than their bound in `bounds`; a NaN matches a NaN
/// and an infinity the same infinity.
[[nodiscard]] std::uint64_t count_beyond(numeric::dtype type, std::span<const std::byte> got,
                                         std::span<const std::byte> expected, std::span<const double> bounds);

/// The first elements that differ bit by bit, at most `limit`, for messages.
[[nodiscard]] std::vector<wrong_element> first_wrong(numeric::dtype type, std::span<const std::byte> got,
                                                     std::span<const std::byte> expected, std::size_t limit);

/// The first element that count_beyond counts.
[[nodiscard]] std::optional<wrong_element> first_beyond(numeric::dtype type, std::span<const std::byte> got,
                                                        std::span<const std::byte> expected,
                                                        std::span<const double> bounds);

/// Reduces contributions in double (i32: in integers) and rounds once at the end. Independent of the
/// vector unit's arithmetic and of how the data was made; holds one accumulator per element, not the
/// contributions. The result of exact data (random::test_data::exact) is exact; of other data, sums
/// and products carry the error of double, far below a rounding of the element type.
/// NaN, zeros and wrapping as in numeric/elementwise.hpp.
class all_reduce {
 public:
  all_reduce(numeric::dtype type, numeric::reduction op, std::uint64_t count);

  /// Adds one rank's contribution. A wrong size: std::invalid_argument.
  void add(std::span<const std::byte> contribution);

  /// The vector that every rank must hold after the contributions so far; avg divides by their number.
  /// No contribution yet: std::logic_error; a wrong size: std::invalid_argument.
  void result(std::span<std::byte> out) const;

  [[nodiscard]] std::uint32_t contributions() const { return contributions_; }

 private:
  void add_integers(std::span<const std::byte> contribution);
  void add_reals(std::span<const std::byte> contribution);
  void check_size(std::size_t bytes) const;

  numeric::dtype type_;
  numeric::reduction op_;
  std::uint64_t count_;
  std::uint32_t contributions_{};
  std::vector<double> reals_;           ///< f16, bf16, f32
  std::vector<std::int64_t> integers_;  ///< i32
};

// Test data of one collective and the right output of every rank.

/// Inputs are made from (seed, rank) by random::test_data; right outputs are put together from them by
/// the definition of the collective, without any algorithm's order. Where nothing is computed, data is
/// arbitrary and every bit counts.
class collective_check {
 public:
  /// `op` has no meaning for collectives that only move data; `order`: how the algorithm nests its sums. The
  /// root must be a rank.
  collective_check(const comm::collective_shape& shape, numeric::dtype type, numeric::reduction op,
                   std::uint64_t seed, random::data_pattern pattern = random::data_pattern::random,
                   numeric::summation order = numeric::summation::sequential);

  [[nodiscard]] std::uint64_t input_bytes(std::uint32_t rank) const;
  [[nodiscard]] std::uint64_t output_bytes(std::uint32_t rank) const;

  /// What `rank` contributes; empty for ranks that contribute nothing.
  [[nodiscard]] std::vector<std::byte> input(std::uint32_t rank) const;
  /// What `rank` must end with; empty for ranks without an output.
  [[nodiscard]] std::vector<std::byte> output(std::uint32_t rank) const;
  /// Elements of `got`, an output of `rank`, that are wrong: other bits, or beyond the error bound where
  /// the data is not exact. A wrong size: std::invalid_argument.
  [[nodiscard]] std::uint64_t count_wrong(std::uint32_t rank, std::span<const std::byte> got) const;

  /// The first wrong element; nothing when all are right.
  [[nodiscard]] std::optional<wrong_element> first_wrong(std::uint32_t rank,
                                                         std::span<const std::byte> got) const;

  /// Every order of reduction gives these bits, so that wrong means other bits.
  [[nodiscard]] bool exact() const { return bounds_.empty(); }
  /// How an output is judged, for the result file.
  [[nodiscard]] std::string method() const;
  [[nodiscard]] const comm::collective_shape& shape() const { return shape_; }

 private:
  /// The bounds of the elements that `rank` ends with. Precondition: not exact().
  [[nodiscard]] std::span<const double> bounds_of(std::uint32_t rank) const;
  void reduce_all();
  void gather_all();
  void transpose_all();
  /// Bytes of elements [begin, begin + count) of whole_.
  [[nodiscard]] std::vector<std::byte> slice(const comm::element_range& r) const;

  comm::collective_shape shape_;
  numeric::dtype type_;
  numeric::reduction op_;
  random::test_data data_;
  std::vector<std::byte> whole_;                ///< the reduced, gathered or root's vector
  std::vector<std::vector<std::byte>> blocks_;  ///< all_to_all: per rank
  std::vector<double> bounds_;                  ///< per element of whole_; empty when exact
};

}  // namespace diecast::golden
