// SPDX-License-Identifier: Apache-2.0
// Byte storage of the mock machine: pages appear when they are first written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

namespace diecast::sw {

/// Bytes never written read as `fill`, so that firmware that relies on them shows wrong results.
class page_memory {
 public:
  static constexpr std::byte fill{0xa5};

  void read(std::uint64_t offset, std::span<std::byte> out) const;
  void write(std::uint64_t offset, std::span<const std::byte> in);

 private:
  static constexpr std::uint64_t page_bytes = 4096;
  using page = std::array<std::byte, page_bytes>;
  std::map<std::uint64_t, std::unique_ptr<page>> pages_;
};

}  // namespace diecast::sw
