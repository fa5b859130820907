// SPDX-License-Identifier: Apache-2.0
// The NoC's calendar of due ports: a timing wheel with one bit per port and cycle. Putting, moving and
// taking an entry costs a few instructions, an entry cannot be put twice, and the ports of a cycle come
// out in ascending order whatever order they went in.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace diecast::hw {

class port_wheel {
 public:
  static constexpr std::uint64_t never = UINT64_MAX;

  /// `span`: cycles ahead that can be entered, a power of two and at least 64.
  port_wheel(std::uint32_t ports, std::uint32_t span)
      : span_(span), words_((ports + 63) / 64), rows_(std::size_t{span} * words_), due_(span / 64) {}

  [[nodiscard]] std::uint32_t span() const { return span_; }
  [[nodiscard]] std::size_t state_bytes() const {
    return (rows_.size() + due_.size()) * sizeof(std::uint64_t);
  }

  /// Precondition: every entry lies in a window of `span` cycles.
  void put(std::uint64_t cycle, std::uint32_t port) {
    const std::size_t slot = cycle & (span_ - 1);
    rows_[slot * words_ + port / 64] |= bit(port);
    due_[slot / 64] |= bit(slot);
  }

  /// What tells where entries are is left to next(), which comes by less often.
  void remove(std::uint64_t cycle, std::uint32_t port) {
    rows_[(cycle & (span_ - 1)) * words_ + port / 64] &= ~bit(port);
  }

  /// The first cycle from `from` on with an entry. Precondition: nothing was entered before `from`.
  [[nodiscard]] std::uint64_t next(std::uint64_t from) {
    const std::size_t start = from & (span_ - 1);
    const std::size_t words = due_.size();
    for (std::size_t k = 0; k <= words; ++k) {
      const std::size_t w = (start / 64 + k) % words;
      std::uint64_t b = due_[w];
      if (k == 0) b &= ~std::uint64_t{0} << (start % 64);
      if (k == words) b &= ~(~std::uint64_t{0} << (start % 64));
      for (; b != 0; b &= b - 1) {
        const std::size_t slot = w * 64 + static_cast<std::size_t>(std::countr_zero(b));
        if (holds_any(slot)) return from + ((slot - start) & (span_ - 1));
        due_[w] &= ~bit(slot);
      }
    }
    return never;
  }

  /// Takes out all entries of a cycle and visits their ports in ascending order. `visit` must not
  /// enter anything for the same cycle.
  template <class Visit>
  void take(std::uint64_t cycle, Visit visit) {
    const std::size_t slot = cycle & (span_ - 1);
    std::uint64_t* const row = &rows_[slot * words_];
    due_[slot / 64] &= ~bit(slot);
    for (std::uint32_t w = 0; w < words_; ++w) {
      for (std::uint64_t b = std::exchange(row[w], 0); b != 0; b &= b - 1) {
        visit(w * 64 + static_cast<std::uint32_t>(std::countr_zero(b)));
      }
    }
  }

 private:
  [[nodiscard]] bool holds_any(std::size_t slot) const {
    const std::uint64_t* const row = &rows_[slot * words_];
    return std::any_of(row, row + words_, [](std::uint64_t word) { return word != 0; });
  }
  static constexpr std::uint64_t bit(std::size_t n) { return std::uint64_t{1} << (n % 64); }

  std::uint32_t span_;
  std::uint32_t words_;              ///< of a slot
  std::vector<std::uint64_t> rows_;  ///< [slot]: a bit per port
  std::vector<std::uint64_t> due_;   ///< bit per slot
};

}  // namespace diecast::hw
