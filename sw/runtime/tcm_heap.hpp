// SPDX-License-Identifier: Apache-2.0
// Firmware's memory for messages that have to wait: first fit over a range of TCM.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

#include "models/abi/alignment.hpp"

namespace diecast::sw {

class tcm_heap {
 public:
  tcm_heap(std::uint64_t base, std::uint64_t bytes) : bytes_(bytes) {
    if (bytes > 0) free_[base] = bytes;
  }

  /// Offset of `bytes` bytes, rounded up to 64; empty when no gap is long enough.
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint64_t bytes) {
    const std::uint64_t wanted = rounded(bytes);
    for (auto at = free_.begin(); at != free_.end(); ++at) {
      if (at->second < wanted) continue;
      const std::uint64_t offset = at->first;
      const std::uint64_t rest = at->second - wanted;
      free_.erase(at);
      if (rest > 0) free_[offset + wanted] = rest;
      return offset;
    }
    return std::nullopt;
  }
  /// Precondition: what take() gave, with the same size.
  void give_back(std::uint64_t offset, std::uint64_t bytes) {
    std::uint64_t size = rounded(bytes);
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && next->first == offset + size) {
      size += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += size;
        return;
      }
    }
    free_[offset] = size;
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// What a range of `bytes` takes of the heap.
  static std::uint64_t rounded(std::uint64_t bytes) {
    return bytes == 0 ? abi::tcm_alignment : abi::aligned(bytes);
  }

 private:
  std::map<std::uint64_t, std::uint64_t> free_;  ///< offset -> bytes
  std::uint64_t bytes_{};
};

}  // namespace diecast::sw
