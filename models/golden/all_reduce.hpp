// SPDX-License-Identifier: Apache-2.0
// The right answer of an all-reduce, from the contributions the ranks really made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/numeric/types.hpp"

namespace diecast::golden {

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

  /// What every rank must hold, given the contributions so far; avg divides by their number.
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

}  // namespace diecast::golden
