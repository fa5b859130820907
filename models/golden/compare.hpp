// SPDX-License-Identifier: Apache-2.0
// Comparison of a result with the right answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/numeric/types.hpp"

namespace diecast::golden {

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

/// Elements farther from `expected` than `bounds` says (one bound per element); a NaN matches a NaN
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

}  // namespace diecast::golden
