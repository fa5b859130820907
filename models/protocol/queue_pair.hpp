// SPDX-License-Identifier: Apache-2.0
// The pointer arithmetic of one queue pair: pure, copyable, no time. Pointers are monotonic
// sequence numbers that count modulo W, never indices.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace diecast::protocol {

/// Largest multiple of n_slots of the form n_slots * 2^k that is not above 2^32.
[[nodiscard]] inline std::uint64_t sequence_modulus(std::uint32_t n_slots) {
  if (n_slots == 0) throw std::invalid_argument("sequence_modulus: a ring needs at least 1 slot, got 0");
  constexpr std::uint64_t limit = std::uint64_t{1} << 32;
  std::uint64_t modulus = n_slots;
  while (modulus * 2 <= limit) modulus *= 2;
  return modulus;
}

/// Sequence arithmetic of a ring. W may be given smaller for exhaustive tests.
class sequence_space {
 public:
  sequence_space() = default;
  explicit sequence_space(std::uint32_t n_slots) : sequence_space(n_slots, sequence_modulus(n_slots)) {}
  /// Precondition: modulus is a multiple of n_slots, at least 2 * n_slots (or n_slots > 2^31).
  sequence_space(std::uint32_t n_slots, std::uint64_t modulus) : n_slots_(n_slots), modulus_(modulus) {}

  [[nodiscard]] std::uint32_t n_slots() const { return n_slots_; }
  [[nodiscard]] std::uint64_t modulus() const { return modulus_; }
  [[nodiscard]] std::uint32_t next(std::uint32_t seq) const { return advance(seq, 1); }
  [[nodiscard]] std::uint32_t advance(std::uint32_t seq, std::uint32_t by) const {
    return static_cast<std::uint32_t>((std::uint64_t{seq} + by) % modulus_);
  }
  /// (later - earlier) modulo W.
  [[nodiscard]] std::uint32_t distance(std::uint32_t earlier, std::uint32_t later) const {
    return static_cast<std::uint32_t>((std::uint64_t{later} + modulus_ - earlier) % modulus_);
  }
  [[nodiscard]] std::uint32_t slot(std::uint32_t seq) const { return seq % n_slots_; }

 private:
  std::uint32_t n_slots_{1};
  std::uint64_t modulus_{std::uint64_t{1} << 32};
};

}  // namespace diecast::protocol
