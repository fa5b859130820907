// SPDX-License-Identifier: Apache-2.0
// The table through which firmware enters its kernels: words at the end of each PE's TCM, after the
// pe.tcm_kib of programs. At start it contains the image's addresses. When memory is registered, the
// registration cache's monitor replaces every entry by the address of a stub, which jumps to the old address.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace diecast::abi {

/// Routines entered through the table, in its order.
enum class entry_point : std::uint8_t { collective, barrier, message };
inline constexpr unsigned entry_points = 3;
[[nodiscard]] const char* to_string(entry_point e);

/// Words of the table: entries, and what the monitor has found in each.
inline constexpr unsigned dispatch_words = 2 * entry_points;
using dispatch_image = std::array<std::uint64_t, dispatch_words>;
inline constexpr std::uint64_t dispatch_bytes = sizeof(dispatch_image);

/// Code addresses: of kernels, of the routine in which a core without work sleeps, of the monitor's stubs.
[[nodiscard]] constexpr std::uint64_t routine_of(entry_point e) {
  return 0x4000 + static_cast<std::uint64_t>(e) * 0x200;
}
inline constexpr std::uint64_t sleep_routine = 0x4000 + entry_points * 0x200;
[[nodiscard]] constexpr std::uint64_t stub_of(entry_point e) {
  return 0x8000 + static_cast<std::uint64_t>(e) * 0x40;
}

/// The table of the firmware's image.
[[nodiscard]] constexpr dispatch_image loaded_table() {
  dispatch_image words{};
  for (unsigned i = 0; i < entry_points; ++i) words.at(i) = routine_of(static_cast<entry_point>(i));
  return words;
}
/// Text of where an entry leads: "barrier", "barrier, over the monitor's stub", "sleep", "no routine".
[[nodiscard]] std::string target_text(const dispatch_image& table, entry_point e);

/// The step of a core that a call of `e` led into the sleep routine; and whether a step is such a step.
[[nodiscard]] std::string sleep_step(entry_point e);
[[nodiscard]] bool is_sleep_step(std::string_view step);

}  // namespace diecast::abi
