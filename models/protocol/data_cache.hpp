// SPDX-License-Identifier: Apache-2.0
// The lines of a PE's data cache: bytes of their own, apart from the memory's, so that a stale line
// really holds old bytes. Write-back, write-allocate, least recently used, not coherent with anybody.
// Without time and memory: the owner fetches the lines for fill() and writes back the lines that leave.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/abi/address.hpp"

namespace diecast::protocol {
inline constexpr std::uint64_t cache_line_bytes = 64;
using line_bytes = std::array<std::byte, cache_line_bytes>;

[[nodiscard]] constexpr abi::address line_of(abi::address at) {
  return at / cache_line_bytes * cache_line_bytes;
}
/// Whether [at, at + bytes) lies within one line.
[[nodiscard]] constexpr bool within_a_line(abi::address at, std::uint64_t bytes) {
  return bytes <= cache_line_bytes && at % cache_line_bytes <= cache_line_bytes - bytes;
}

class data_cache {
 public:
  struct line {
    abi::address at{};  ///< address of its first byte
    line_bytes bytes{};
    bool dirty{};
  };

  /// Precondition: both at least 1.
  data_cache(std::uint64_t sets, std::uint64_t ways);

  /// The line that holds `at`, as it is; no effect on its age.
  [[nodiscard]] const line* find(abi::address at) const;

  /// Preconditions: the bytes lie within one line, and the line is here.
  void read(abi::address at, std::span<std::byte> out);
  void write(abi::address at, std::span<const std::byte> in);

  /// Stores a line; returns the line that it replaces if that is dirty and must be written back.
  /// Precondition: the line is not here.
  [[nodiscard]] std::optional<line> fill(abi::address at, const line_bytes& bytes);
  /// Drops the line; returned when it is dirty.
  [[nodiscard]] std::optional<line> clean_and_invalidate(abi::address at);
  /// Cleans and invalidates every line; returns the dirty ones by set and way.
  [[nodiscard]] std::vector<line> clean_and_invalidate_all();

 private:
  struct way {
    line content;
    bool valid{};
    std::uint64_t used{};  ///< stamp of the last access
  };
  [[nodiscard]] std::size_t first_way(abi::address at) const {
    return static_cast<std::size_t>(at / cache_line_bytes % sets_ * ways_);
  }
  [[nodiscard]] way* lookup(abi::address at);
  way& present(abi::address at);

  std::uint64_t sets_;
  std::uint64_t ways_;
  std::vector<way> lines_;  ///< empty before the first fill: most PEs of a large machine never cache anything
  std::uint64_t stamp_{};
};

// Checks of a core's accesses to global memory, on every machine.

/// Throws protocol_error unless the access is to bytes of one cache line of HBM or SRAM. `who` and `what`
/// are for the error.
void check_global_access(const std::string& who, const char* what, abi::address at, std::uint64_t bytes);
/// Checks an addition at the memory, which takes a whole word.
void check_atomic_access(const std::string& who, abi::address at);

}  // namespace diecast::protocol
