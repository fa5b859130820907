// SPDX-License-Identifier: Apache-2.0
// The physical address codec: every byte of the pod has exactly one 64-bit address.
//
//   63      56 55      48 47  44 43      36 35                    0
//  +----------+----------+------+----------+----------------------+
//  | SIP      | cube     |region| unit     | offset               |
//  +----------+----------+------+----------+----------------------+
//
// Read in hexadecimal: 0x01'05'1'03'000001000 is SIP 1, cube 5, TCM, PE 3, offset 0x1000.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/types/ids.hpp"

namespace diecast::abi {

using address = std::uint64_t;

/// What answers at an address. Values are part of the encoding; 0 is never valid, so that a forgotten address
/// is an error and not an access to some memory.
enum class region : std::uint8_t {
  tcm = 1,             ///< unit = PE
  pe_registers = 2,    ///< unit = PE; register offsets in models/abi/registers.hpp
  ipcq_mailbox = 3,    ///< unit = PE; where IPCQ data and credits are sent
  sram = 4,            ///< unit = 0
  hbm = 5,             ///< unit = HBM port (channel) of the cube
  host_memory = 6,     ///< unit = 0, cube = the IO cube
  launch_mailbox = 7,  ///< unit = PE, or control_cpu_unit, or io_cpu_unit
  tree = 8             ///< unit = tree_use; sip = cube = 0. Rings of all members at once: routers know whose
};

/// Uses of messages to a tree in the network; the values are units of region::tree.
enum class tree_use : std::uint8_t {
  multicast,  ///< from the root to every other member
  reduce      ///< from every member to the root, combined on the way
};

inline constexpr std::uint32_t control_cpu_unit = 0xfe;
inline constexpr std::uint32_t io_cpu_unit = 0xff;

inline constexpr std::uint32_t max_sips = 256;
inline constexpr std::uint32_t max_cubes_per_sip = 256;
inline constexpr std::uint32_t max_units = 256;
inline constexpr std::uint64_t max_offset = (std::uint64_t{1} << 36) - 1;

/// A decoded address.
struct location {
  sip_id sip;
  cube_id cube;
  region kind{region::tcm};
  std::uint32_t unit{};
  std::uint64_t offset{};
  auto operator<=>(const location&) const = default;
};

/// Precondition: every field within its maximum (checked; throws std::out_of_range).
[[nodiscard]] address encode(const location& where);

/// Offset 0 of the ring that all members of a tree share. The routers know its address at each member.
[[nodiscard]] address tree_address(tree_use use);

/// Empty when the region field is not one of `region`.
[[nodiscard]] std::optional<location> decode(address a);

/// "0x0105103000001000 (sip1 cube5 tcm[3]+0x1000)"
[[nodiscard]] std::string describe(address a);
[[nodiscard]] const char* to_string(region r);

// Alignment in TCM: tensors, slots, tables and heap ranges begin at multiples of 64 bytes.

inline constexpr std::uint64_t tcm_alignment = 64;

/// `bytes`, rounded up to whole lines.
[[nodiscard]] constexpr std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + tcm_alignment - 1) / tcm_alignment * tcm_alignment;
}

// The region at which a PE receives messages and credits.

/// The mailbox of the PE's engines: data, tokens and credits of queue pairs, and tag-matched messages.
[[nodiscard]] inline address mailbox_of(pe_coord pe) {
  return encode({pe.sip, pe.cube, region::ipcq_mailbox, pe.pe.value, 0});
}

}  // namespace diecast::abi
