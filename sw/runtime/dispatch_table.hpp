// SPDX-License-Identifier: Apache-2.0
// The table through which firmware calls its runtime. On one architecture the monitor of the registration
// cache patches entries of such tables at start-up, and gets one wrong; a core that follows a bad entry is
// lost, so a call through one traps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "models/abi/hal.hpp"

namespace diecast::sw {

/// Entry points of the runtime, in the order of the table.
enum class entry_point : std::uint8_t { send, receive, reduce, copy };

class dispatch_table {
 public:
  /// `errata`: CORE_ERRATA; `monitor`: comm.mr_cache_monitor.
  dispatch_table(abi::hal& hal, std::uint64_t errata, bool monitor);

  /// Throws firmware_trap with table, index and value when the entry does not lead where it must.
  void call(entry_point e) const {
    if (targets_[static_cast<std::size_t>(e)] != target_of(e)) trap(e);
  }

 private:
  /// Code addresses of the firmware image.
  static constexpr std::uint64_t text_base = 0x4000;
  static constexpr std::uint64_t entry_bytes = 0x200;
  static constexpr std::size_t entries = 4;
  static constexpr std::uint64_t target_of(entry_point e) {
    return text_base + static_cast<std::uint64_t>(e) * entry_bytes;
  }
  [[noreturn]] void trap(entry_point e) const;

  abi::hal& hal_;
  std::array<std::uint64_t, entries> targets_{};
};

}  // namespace diecast::sw
