// SPDX-License-Identifier: Apache-2.0
// Contributions of the ranks of a reduction, made so that every order of reduction gives the same
// bits. Then a verified run may require zero wrong elements of any algorithm.
//
//   sum, avg   per element a random power of two, per rank an integer between -c and c that is not
//              0, with ranks * c within the significand: every partial sum is exact. avg ends
//              with one correctly rounded division.
//   prod       plus or minus powers of two, the sum of |exponents| bounded: every partial product
//              is exact.
//   max, min   arbitrary finite values, zeros and subnormals included.
//   i32        arbitrary integers (sum and prod wrap; prod uses odd ones); avg keeps the sum
//              within the range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "models/numeric/types.hpp"

namespace diecast::random {

enum class data_pattern : std::uint8_t {
  random,
  one_hot,       ///< element e comes from rank e modulo ranks alone, with a value that names the
                 ///< rank; the others contribute the identity of the reduction
  rank_plus_one  ///< every element of a rank is rank + 1
};
[[nodiscard]] const char* to_string(data_pattern p);

class test_data {
 public:
  /// `count` elements per rank; `order`: how sums are nested, for the error bounds. ranks of 0 or above 2^24,
  /// or a rank_plus_one average of i32 whose sum overflows: std::invalid_argument.
  test_data(std::uint64_t seed, numeric::dtype type, numeric::reduction op, std::uint32_t ranks,
            std::uint64_t count, data_pattern pattern = data_pattern::random,
            numeric::summation order = numeric::summation::sequential);
  ~test_data();
  test_data(test_data&&) noexcept;
  test_data& operator=(test_data&&) noexcept;

  /// The contribution of `rank`, in any order of calls. A wrong size or rank: std::invalid_argument.
  void fill(std::uint32_t rank, std::span<std::byte> out) const;

  /// The exact result rounded once to the element type, from the numbers of the data and not by
  /// reducing it. Costs as much as filling for all ranks.
  void expected(std::span<std::byte> out) const;

  /// True when every order of reduction must give expected() bit by bit.
  [[nodiscard]] bool exact() const;
  /// How far from expected() an element may be, for sums nested so, with a rounding per operation; all 0
  /// when exact().
  void error_bounds(std::span<double> out) const;
  /// Text for the result file: whether the data is exact, and why.
  [[nodiscard]] std::string method() const;

  /// Largest rank count for which sums (and averages) of random data are exact: 256 for bf16, 2,048
  /// for f16.
  [[nodiscard]] static std::uint64_t exact_ranks(numeric::dtype type);

  class scheme;

 private:
  std::unique_ptr<scheme> scheme_;
};

/// Values of the one_hot pattern: distinct per rank up to 31,743 ranks in f16 (32,639 in bf16).
/// rank + 1 where all ranks' numbers are exact in the type, else the (rank + 1)-th positive number.
[[nodiscard]] double one_hot_value(numeric::dtype type, std::uint32_t ranks, std::uint32_t rank);

}  // namespace diecast::random
