// SPDX-License-Identifier: Apache-2.0
// The NoC's calendar of due ports: a timing wheel with one bit per port and cycle. Putting, moving and
// taking an entry costs a few instructions, an entry cannot be put twice, and the ports of a cycle come
// out in ascending order whatever order they went in.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace diecast::hw {

class port_wheel {
 public:
  static constexpr std::uint64_t never = UINT64_MAX;
  static constexpr std::uint32_t none = UINT32_MAX;

  /// `span`: cycles ahead that can be entered, a power of two and at least 64.
  port_wheel(std::uint32_t ports, std::uint32_t span)
      : span_(span), words_((ports + 63) / 64), rows_(std::size_t{span} * words_), due_(span) {}

  [[nodiscard]] std::uint32_t span() const { return span_; }
  [[nodiscard]] std::size_t state_bytes() const { return rows_.size() * sizeof rows_[0] + due_.size(); }

  /// Precondition: every entry lies in a window of `span` cycles.
  void put(std::uint64_t cycle, std::uint32_t port) {
    const std::size_t slot = cycle & (span_ - 1);
    rows_[slot * words_ + port / 64] |= bit(port);
    due_[slot] = 1;
  }

  /// The index of entries is updated in next(), which is called less often.
  void remove(std::uint64_t cycle, std::uint32_t port) {
    rows_[(cycle & (span_ - 1)) * words_ + port / 64] &= ~bit(port);
  }

  /// The first cycle from `from` on with an entry. Precondition: nothing was entered before `from`.
  [[nodiscard]] std::uint64_t next(std::uint64_t from) {
    const std::size_t start = from & (span_ - 1);
    const std::size_t slot = first_holding(start, span_);
    if (slot != span_) return from + (slot - start);
    const std::size_t around = first_holding(0, start);
    return around != start ? from + (span_ - start) + around : never;
  }

  /// Visits the ports of a cycle in ascending order.
  template <class Visit>
  void visit(std::uint64_t cycle, Visit visit) const {
    const std::uint64_t* const row = &rows_[(cycle & (span_ - 1)) * words_];
    for (std::uint32_t w = 0; w < words_; ++w) {
      for (std::uint64_t b = row[w]; b != 0; b &= b - 1) {
        visit(w * 64 + static_cast<std::uint32_t>(std::countr_zero(b)));
      }
    }
  }

  /// The entries of a cycle, taken out one by one.
  class taken {
   public:
    /// The next port, in ascending order; none when there are no more.
    [[nodiscard]] std::uint32_t next() {
      while (bits_ == 0) {
        if (word_ == end_) return none;
        bits_ = std::exchange(*word_++, 0);
        first_ += 64;
      }
      const auto port = first_ + static_cast<std::uint32_t>(std::countr_zero(bits_));
      bits_ &= bits_ - 1;
      return port;
    }

   private:
    friend class port_wheel;
    taken(std::uint64_t* row, std::uint32_t words) : word_(row), end_(row + words) {}
    std::uint64_t* word_;
    std::uint64_t* end_;
    std::uint64_t bits_{};
    std::uint32_t first_{UINT32_MAX - 63};  ///< port of the lowest bit; wraps to 0 with the first word
  };
  /// Nothing may be entered for the cycle before all are taken out.
  [[nodiscard]] taken take(std::uint64_t cycle) {
    const std::size_t slot = cycle & (span_ - 1);
    due_[slot] = 0;
    return {&rows_[slot * words_], words_};
  }

 private:
  /// Slots from `first` on before `last`; `last`: none.
  [[nodiscard]] std::size_t first_holding(std::size_t first, std::size_t last) {
    for (; first != last; ++first) {
      if (due_[first] == 0) {
        const void* const found = std::memchr(&due_[first], 1, last - first);
        if (found == nullptr) return last;
        first = static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - due_.data());
      }
      if (holds_any(first)) return first;
      due_[first] = 0;
    }
    return last;
  }
  [[nodiscard]] bool holds_any(std::size_t slot) const {
    const std::uint64_t* const row = &rows_[slot * words_];
    return std::any_of(row, row + words_, [](std::uint64_t word) { return word != 0; });
  }
  static constexpr std::uint64_t bit(std::size_t n) { return std::uint64_t{1} << (n % 64); }

  std::uint32_t span_;
  std::uint32_t words_;              ///< words of a slot
  std::vector<std::uint64_t> rows_;  ///< [slot]: a bit per port
  std::vector<std::uint8_t> due_;    ///< by slot; 0: the slot is empty
};

}  // namespace diecast::hw
