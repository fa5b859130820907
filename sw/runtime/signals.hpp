// SPDX-License-Identifier: Apache-2.0
// Signals: words in global memory through which ranks tell each other something, over data caches that
// are not coherent. One flag lies in one 64-byte line: a store writes the whole line back.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "models/abi/errata.hpp"
#include "models/abi/hal.hpp"

namespace diecast::sw {

class signal_port {
 public:
  /// What the PE does between two reads of a flag in vain; gets what the look was for.
  using between_looks = std::function<void(const abi::signal_watch&)>;

  signal_port(abi::hal& hal, abi::errata_word errata, between_looks idle)
      : hal_(hal), errata_(errata), idle_(std::move(idle)) {}

  /// Stores and cleans the line, so that the value reaches memory. Other writers of the line must not be
  /// at work. Returns before the memory has acknowledged: quiet() waits for that.
  void set(abi::address at, std::uint64_t value);
  /// Atomic at the memory; returns the value before.
  std::uint64_t add(abi::address at, std::uint64_t value);
  /// Looks at the word in memory until the comparison (modulo 2^32) holds. `writer` is who is expected to
  /// set it, for reports.
  void wait_until(abi::address at, abi::compare how, std::uint32_t value, pe_coord writer);
  /// Until the word is `count` or count + 1: the peer may already be in the next round, never further.
  /// `among_ranks`: signal_watch::among_ranks.
  void wait_for_barrier(abi::address at, std::uint32_t count, pe_coord writer, bool among_ranks = false);
  /// What the word holds in memory now.
  [[nodiscard]] std::uint64_t load(abi::address at);

  [[nodiscard]] abi::errata_word errata() const { return errata_; }

  /// Everything this PE has written is in memory, and nothing stale is in its cache. A barrier does not do
  /// this by itself.
  void quiet();
  /// What is written before it reaches memory before what is written after it.
  void fence() { quiet(); }

 private:
  void wait(const abi::signal_watch& wanted);

  abi::hal& hal_;
  abi::errata_word errata_;
  between_looks idle_;
};

}  // namespace diecast::sw
