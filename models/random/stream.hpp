// SPDX-License-Identifier: Apache-2.0
// Counter-based random draws: a draw is a function of (seed, instance path, purpose, counter) and
// of nothing else, so neither construction order nor the draws of others can change it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace diecast::random {

/// Philox4x64-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
class stream {
 public:
  stream(std::uint64_t seed, std::string_view path, std::string_view purpose);

  /// Draw number `counter`: 64 uniform bits.
  [[nodiscard]] std::uint64_t at(std::uint64_t counter) const;

  /// Draws first, first + 1, ... : four for the price of one.
  void fill(std::uint64_t first, std::span<std::uint64_t> out) const;

  /// Draws 4 * index to 4 * index + 3, as at() gives them one by one. Precondition: index < 2^62.
  [[nodiscard]] std::array<std::uint64_t, 4> four(std::uint64_t index) const;

  /// Uniform in [0, n), without bias. Uses further words of the same counter when one is rejected.
  /// n = 0: std::invalid_argument.
  [[nodiscard]] std::uint64_t below(std::uint64_t counter, std::uint64_t n) const;

  /// Uniform in [0, 1) with 53 bits.
  [[nodiscard]] double unit(std::uint64_t counter) const;

 private:
  /// Four words; `domain` separates the words of at() from those that below() draws.
  [[nodiscard]] std::array<std::uint64_t, 4> words(std::uint64_t index, std::uint64_t domain) const;

  std::uint64_t seed_;
  std::uint64_t name_;  ///< hash of path and purpose
};

/// Draws of a stream one after the other, for shuffles and generators of workloads.
class sequence {
 public:
  explicit sequence(const stream& source) : source_(source) {}
  [[nodiscard]] std::uint64_t next() { return source_.at(counter_++); }
  [[nodiscard]] std::uint64_t below(std::uint64_t n) { return source_.below(counter_++, n); }

 private:
  stream source_;
  std::uint64_t counter_{};
};

}  // namespace diecast::random
