// SPDX-License-Identifier: Apache-2.0
// Checksums that firmware makes over the buffers of its callers (comm.checksum = end_to_end): they see what
// happens to bytes between a buffer and the DMA, which checksums of packets cover from there on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/abi/hal.hpp"
#include "sw/runtime/firmware_trap.hpp"

namespace diecast::sw {

/// The core reads the bytes, a cache line at a time.
class buffer_check {
 public:
  explicit buffer_check(abi::hal& hal) : hal_(hal) {}
  void add(std::uint64_t tcm_offset, std::uint64_t bytes);
  /// crc32c; 1 in place of 0, which stands for a message without one.
  [[nodiscard]] std::uint32_t value() const;

 private:
  abi::hal& hal_;
  std::vector<std::byte> bytes_;
};

/// What ends a run when the checksum over the bytes received is not the sender's.
[[nodiscard]] firmware_trap end_to_end_mismatch(pe_coord pe, std::uint32_t found, std::uint32_t expected,
                                                std::uint64_t bytes, const std::string& message);

}  // namespace diecast::sw
