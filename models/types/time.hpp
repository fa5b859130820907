// SPDX-License-Identifier: Apache-2.0
// Simulated time is an integer count of femtoseconds; a clock domain turns cycles into it.
#pragma once

#include <compare>
#include <cstdint>

namespace diecast {

/// A point in simulated time or a duration, in femtoseconds (2^64 fs is five hours).
struct sim_time {
  std::uint64_t fs{};

  auto operator<=>(const sim_time&) const = default;
  sim_time& operator+=(sim_time other) {
    fs += other.fs;
    return *this;
  }
  friend sim_time operator+(sim_time a, sim_time b) { return {a.fs + b.fs}; }
  /// Durations never go negative: the caller proves a >= b.
  friend sim_time operator-(sim_time a, sim_time b) { return {a.fs - b.fs}; }
  friend sim_time operator*(sim_time a, std::uint64_t n) { return {a.fs * n}; }

  [[nodiscard]] double ns() const { return static_cast<double>(fs) * 1e-6; }
  static constexpr sim_time never() { return {UINT64_MAX}; }
};

[[nodiscard]] constexpr sim_time femtoseconds(std::uint64_t n) { return {n}; }
[[nodiscard]] constexpr sim_time picoseconds(std::uint64_t n) { return {n * 1000}; }
/// Rounds to the nearest femtosecond; `ns` must be finite and not negative.
[[nodiscard]] constexpr sim_time nanoseconds(double ns) {
  return {static_cast<std::uint64_t>(ns * 1e6 + 0.5)};
}

/// A clock. All edges are at multiples of the period from time zero.
struct clock_domain {
  sim_time period{1'000'000};

  static constexpr clock_domain from_ghz(double ghz) { return {nanoseconds(1.0 / ghz)}; }
  [[nodiscard]] sim_time cycles(std::uint64_t n) const { return period * n; }
  /// The first edge at or after `t`, at which a signal from another clock domain is seen.
  [[nodiscard]] sim_time edge_at_or_after(sim_time t) const {
    return {(t.fs + period.fs - 1) / period.fs * period.fs};
  }
  /// Whole cycles that cover a duration, rounded up.
  [[nodiscard]] std::uint64_t cycles_covering(sim_time d) const { return (d.fs + period.fs - 1) / period.fs; }
};

}  // namespace diecast
