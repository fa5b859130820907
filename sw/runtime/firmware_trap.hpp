// SPDX-License-Identifier: Apache-2.0
// Errors that stop firmware: the engine refused a request, or a kernel violated a rule of the runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fmt/core.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/abi/hal.hpp"
#include "models/abi/registers.hpp"
#include "models/protocol/fault_record.hpp"
#include "models/types/ids.hpp"

namespace diecast::sw {

/// Ends the run; its text names the PE, the queue pair if one is concerned, and the cause.
class firmware_trap : public fault_error {
 public:
  /// The IPCQ engine refused a request on queue pair `dir`.
  firmware_trap(pe_coord pe, comm::direction dir, abi::engine_error error);
  /// A rule of the runtime was violated; `text` names it, the value and the expected one, and has marks of
  /// queue pairs (models/protocol/fault_record.hpp) in place of their names.
  firmware_trap(pe_coord pe, std::string_view text);
  template <class First, class... Rest>
  firmware_trap(pe_coord pe, fmt::format_string<First, Rest...> text, First&& first, Rest&&... rest)
      : firmware_trap(pe, fmt::format(text, std::forward<First>(first), std::forward<Rest>(rest)...)) {}
  /// A fault with a kind of its own; its place is `pe`.
  firmware_trap(pe_coord pe, fault_record r);

  [[nodiscard]] pe_coord pe() const { return *record().pe; }
  [[nodiscard]] std::optional<comm::direction> direction() const { return record().queue_pair; }
  [[nodiscard]] abi::engine_error error() const { return error_; }

 private:
  abi::engine_error error_{abi::engine_error::none};
};

// Checksums that firmware makes over the buffers of its callers (comm.checksum = end_to_end): they see what
// happens to bytes between a buffer and the DMA, which checksums of packets cover from there on.

/// The core reads the bytes, a cache line at a time.
class buffer_check {
 public:
  explicit buffer_check(abi::hal& hal) : hal_(hal) {}
  void add(std::uint64_t tcm_offset, std::uint64_t bytes);
  /// crc32c; 1 in place of 0, which denotes a message without one.
  [[nodiscard]] std::uint32_t value() const;

 private:
  abi::hal& hal_;
  std::vector<std::byte> bytes_;
};

/// What ends a run when the checksum over the bytes received is not the sender's.
[[nodiscard]] firmware_trap end_to_end_mismatch(pe_coord pe, std::uint32_t found, std::uint32_t expected,
                                                std::uint64_t bytes, const std::string& message);

}  // namespace diecast::sw
