// SPDX-License-Identifier: Apache-2.0
// First-come-first-served servers without a simulator: a rate server (SRAM, a simple DRAM channel)
// and an array of interleaved single-ported banks (TCM).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/types/time.hpp"

namespace diecast::timing {

/// Serves bytes at a fixed rate, in the order of the calls.
class rate_server {
 public:
  /// Precondition: gbytes_s (1e9 bytes/s) is positive and finite.
  explicit rate_server(double gbytes_s) : fs_per_byte_(1e6 / gbytes_s) {}

  /// Serves `bytes` that arrive at `now`; returns the time at which the last of them is served, at least 1 fs
  /// later. Precondition: calls come in ascending `now`.
  sim_time serve(sim_time now, std::uint64_t bytes) {
    const sim_time start = std::max(now, free_);
    const sim_time service = duration(bytes);
    free_ = start + service;
    busy_ += service;
    return free_;
  }
  [[nodiscard]] sim_time duration(std::uint64_t bytes) const {
    const auto fs = static_cast<std::uint64_t>(fs_per_byte_ * static_cast<double>(bytes) + 0.5);
    return {std::max<std::uint64_t>(fs, 1)};
  }
  [[nodiscard]] sim_time busy() const { return busy_; }

 private:
  double fs_per_byte_;
  sim_time free_;
  sim_time busy_;
};

/// Single-ported banks over which consecutive blocks of `bank_bytes` interleave: bank = (offset /
/// bank_bytes) mod banks. A bank serves one block per cycle, whole or in part, first come first served.
class bank_array {
 public:
  /// Precondition: both positive.
  bank_array(std::uint32_t banks, std::uint32_t bank_bytes) : bank_bytes_(bank_bytes), free_(banks, 0) {}

  /// Serves [offset, offset + bytes) from cycle `at` on; returns the cycle after the one in which the
  /// last block is served. Preconditions: bytes > 0; calls come in ascending `at`.
  std::uint64_t serve(std::uint64_t at, std::uint64_t offset, std::uint64_t bytes);

  /// Cycles an access takes when no other one is there.
  [[nodiscard]] std::uint64_t cycles_alone(std::uint64_t offset, std::uint64_t bytes) const {
    return (blocks(offset, bytes) + free_.size() - 1) / free_.size();
  }
  [[nodiscard]] std::uint64_t bytes_per_cycle() const { return std::uint64_t{bank_bytes_} * free_.size(); }
  /// Sum over banks of the cycles they were serving.
  [[nodiscard]] std::uint64_t busy_bank_cycles() const { return busy_bank_cycles_; }

 private:
  [[nodiscard]] std::uint64_t blocks(std::uint64_t offset, std::uint64_t bytes) const {
    return (offset + bytes - 1) / bank_bytes_ - offset / bank_bytes_ + 1;
  }

  [[nodiscard]] std::uint64_t next_bank(std::uint64_t bank) const {
    return bank + 1 == free_.size() ? 0 : bank + 1;
  }

  std::uint32_t bank_bytes_;
  std::vector<std::uint64_t> free_;  ///< per bank, the first cycle it can serve in, unless all_free_ is later
  std::uint64_t all_free_{};         ///< no bank can serve before this cycle
  std::uint64_t latest_{};           ///< every bank can serve from this cycle on
  std::uint64_t busy_bank_cycles_{};
};

}  // namespace diecast::timing
