// SPDX-License-Identifier: Apache-2.0
// Firmware defects that can be switched on: bits of the register CORE_ERRATA. Firmware tests each at
// one named line.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace diecast::abi {
enum class erratum : std::uint8_t {
  set_without_dcci,
  wait_without_dcci,
  no_round_barrier,
  late_counter,
  no_entry_barrier,
  slot_by_rank,
  packed_flags,
  reused_team_state,
  unchecked_radix,
  exact_count
};

struct erratum_description {
  erratum bit;
  const char* name;
  const char* meaning;
};
/// All of them, in the order of their bits.
[[nodiscard]] std::span<const erratum_description> errata();
[[nodiscard]] std::optional<erratum> erratum_named(std::string_view name);

/// The contents of CORE_ERRATA.
struct errata_word {
  std::uint64_t bits{};
  [[nodiscard]] bool has(erratum e) const { return (bits >> static_cast<unsigned>(e) & 1) != 0; }
  void add(erratum e) { bits |= std::uint64_t{1} << static_cast<unsigned>(e); }
};

/// "none" or names separated by commas; empty when a name is unknown.
[[nodiscard]] std::optional<errata_word> parse_errata(std::string_view text);

}  // namespace diecast::abi

namespace diecast::abi::defect {
// Bits of CORE_ERRATA for defects of the collective runtime, each tested at one line of the firmware that
// names it. The upper half of the register is the number of correct operations before a defect acts. Bits
// below 16 belong to the barriers.

/// The one-call send-receive stages both halves in one page, picked by the number of earlier sends, and
/// orders nothing.
inline constexpr std::uint64_t sendrecv_alias = 1U << 16;

inline constexpr unsigned after_shift = 32;
/// Number of correct operations before the defects act.
[[nodiscard]] constexpr std::uint32_t after(std::uint64_t errata) {
  return static_cast<std::uint32_t>(errata >> after_shift);
}

}  // namespace diecast::abi::defect
