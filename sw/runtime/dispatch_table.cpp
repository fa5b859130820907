// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/dispatch_table.hpp"

#include <fmt/format.h>

#include "models/abi/firmware_defects.hpp"
#include "sw/runtime/firmware_trap.hpp"

namespace diecast::sw {

dispatch_table::dispatch_table(abi::hal& hal, std::uint64_t errata, bool monitor) : hal_(hal) {
  for (std::size_t i = 0; i < entries; ++i) targets_[i] = target_of(static_cast<entry_point>(i));
  constexpr std::uint64_t half = 0xFFFF'FFFF;
  if (monitor && (errata & abi::defect::dispatch_corruption) != 0)
    targets_.front() = targets_.front() << 32 | half;
}

void dispatch_table::trap(entry_point e) const {
  hal_.count(abi::firmware_count::corrupted_calls, 1);
  throw firmware_trap(
      hal_.self(),
      fmt::format("call through a bad entry: table runtime_calls, index {}, value {:#x}; expected {:#x}",
                  static_cast<unsigned>(e), targets_[static_cast<std::size_t>(e)], target_of(e)));
}

}  // namespace diecast::sw
