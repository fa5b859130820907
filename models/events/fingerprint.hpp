// SPDX-License-Identifier: Apache-2.0
// Fingerprint of a run: an order-free combination of per-instance hashes, so that it depends on
// what happened where and when, never on the order in which modules were built or visited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "models/types/time.hpp"

namespace diecast::events {

/// Hash chain of one instance: path, then (time relative to the run's start, payload) per event.
class instance_fingerprint {
 public:
  instance_fingerprint() = default;
  explicit instance_fingerprint(std::string_view path);
  void add(sim_time at, std::uint64_t payload);
  [[nodiscard]] std::uint64_t value() const { return chain_; }

 private:
  std::uint64_t chain_{};
  std::uint64_t count_{};
};

/// Sum over instances; `add` in any order.
class run_fingerprint {
 public:
  void add(const instance_fingerprint& f);
  void add_bytes(std::string_view path, std::span<const std::byte> bytes);
  /// Adds the sum() of a fingerprint of other instances.
  void add_sum(std::uint64_t sum) { sum_ += sum; }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }
  /// Sixteen hexadecimal digits.
  [[nodiscard]] std::string text() const;

 private:
  std::uint64_t sum_{};
};

/// A good 64-bit mix of two words.
[[nodiscard]] std::uint64_t mix(std::uint64_t a, std::uint64_t b);

}  // namespace diecast::events
