// SPDX-License-Identifier: Apache-2.0
// Registers of the tag-matching unit (models/protocol/tag_core.hpp) and the words they hold.
#pragma once

#include <cstdint>
#include <span>

#include "models/abi/registers.hpp"

namespace diecast::abi {

inline constexpr register_offset tm_base = 0x400;
inline constexpr register_offset tm_end = 0x500;

inline constexpr register_offset tm_ring_base = 0x400;
inline constexpr register_offset tm_slot_bytes = 0x408;
inline constexpr register_offset tm_slots = 0x410;
inline constexpr register_offset tm_peer_credits = 0x418;
inline constexpr register_offset tm_heap_base = 0x420;
inline constexpr register_offset tm_heap_bytes = 0x428;
inline constexpr register_offset tm_entries = 0x430;
inline constexpr register_offset tm_unexpected = 0x438;

inline constexpr register_offset tm_tag = 0x440;
inline constexpr register_offset tm_mask = 0x448;
inline constexpr register_offset tm_buffer = 0x450;
inline constexpr register_offset tm_room = 0x458;
inline constexpr register_offset tm_command = 0x460;
inline constexpr register_offset tm_release = 0x468;

inline constexpr register_offset tm_send_to = 0x470;
inline constexpr register_offset tm_send_source = 0x478;
inline constexpr register_offset tm_send_length = 0x480;
inline constexpr register_offset tm_send = 0x488;
inline constexpr register_offset tm_read_from = 0x490;
inline constexpr register_offset tm_read_to = 0x498;
inline constexpr register_offset tm_read = 0x4a0;
inline constexpr register_offset tm_check = 0x4a8;

inline constexpr register_offset tm_done = 0x4b0;
inline constexpr register_offset tm_arrival = 0x4b8;
inline constexpr register_offset tm_arrival_tag = 0x4c0;
inline constexpr register_offset tm_arrival_source = 0x4c8;
inline constexpr register_offset tm_arrival_length = 0x4d0;
inline constexpr register_offset tm_arrival_va = 0x4d8;
inline constexpr register_offset tm_arrival_rndv = 0x4e0;
inline constexpr register_offset tm_arrival_check = 0x4e8;
inline constexpr register_offset tm_arm = 0x4f0;

/// tm_command: {kind[7:0], index[31:16], seen[47:32]}.
enum class tm_command_kind : std::uint8_t { append = 1, remove = 2, nop = 3 };
struct tm_command_word {
  tm_command_kind kind{};
  std::uint16_t index{};
  std::uint16_t seen{};
  [[nodiscard]] std::uint64_t pack() const {
    return static_cast<std::uint64_t>(kind) | std::uint64_t{index} << 16 | std::uint64_t{seen} << 32;
  }
  [[nodiscard]] static tm_command_word unpack(std::uint64_t w) {
    return {static_cast<tm_command_kind>(w & 0xff), static_cast<std::uint16_t>(w >> 16),
            static_cast<std::uint16_t>(w >> 32)};
  }
};

/// tm_send: {op[7:0], app_ctx[15:8], id[31:16], payload bytes[63:32]}. The op is that of
/// protocol::tag_op. The id comes back with SENT, and in rendezvous with FIN.
struct tm_send_word {
  std::uint8_t op{};
  std::uint8_t app_ctx{};
  std::uint16_t id{};
  std::uint32_t payload{};
  [[nodiscard]] std::uint64_t pack() const {
    return std::uint64_t{op} | std::uint64_t{app_ctx} << 8 | std::uint64_t{id} << 16 |
           std::uint64_t{payload} << 32;
  }
  [[nodiscard]] static tm_send_word unpack(std::uint64_t w) {
    return {static_cast<std::uint8_t>(w), static_cast<std::uint8_t>(w >> 8),
            static_cast<std::uint16_t>(w >> 16), static_cast<std::uint32_t>(w >> 32)};
  }
};

/// tm_done: {kind[7:0], ok[8], more[9], index[31:16], value[63:32]}. Reading pops.
enum class tm_done_kind : std::uint8_t {
  none = 0,
  append = 1,  ///< index: the entry
  remove = 2,  ///< index: the entry; ok: it was in the list
  sent = 3,    ///< index: id of a message whose source has been read
  fin = 4,     ///< index: id of a rendezvous whose receiver has all bytes
  credit = 5,  ///< index: how many; value: the peer, see pack_short_peer
  read = 6     ///< index: id of a read whose bytes are written
};
struct tm_done_word {
  tm_done_kind kind{};
  bool ok{true};
  bool more{};
  std::uint16_t index{};
  std::uint32_t value{};
  [[nodiscard]] std::uint64_t pack() const {
    return static_cast<std::uint64_t>(kind) | std::uint64_t{ok} << 8 | std::uint64_t{more} << 9 |
           std::uint64_t{index} << 16 | std::uint64_t{value} << 32;
  }
  [[nodiscard]] static tm_done_word unpack(std::uint64_t w) {
    return {static_cast<tm_done_kind>(w & 0xff), (w >> 8 & 1) != 0, (w >> 9 & 1) != 0,
            static_cast<std::uint16_t>(w >> 16), static_cast<std::uint32_t>(w >> 32)};
  }
};

/// tm_arrival: {kind[3:0], op[7:4], app_ctx[15:8], index[31:16], slot[47:32], more[48]}. Reading pops and
/// sets the tm_arrival_* registers. The kind is 1 + that of protocol::tag_completion; 0: none.
struct tm_arrival_word {
  std::uint8_t kind{};
  std::uint8_t op{};
  std::uint8_t app_ctx{};
  std::uint16_t index{};
  std::uint16_t slot{};
  bool more{};
  [[nodiscard]] std::uint64_t pack() const {
    return std::uint64_t{kind} | std::uint64_t{op} << 4 | std::uint64_t{app_ctx} << 8 |
           std::uint64_t{index} << 16 | std::uint64_t{slot} << 32 | std::uint64_t{more} << 48;
  }
  [[nodiscard]] static tm_arrival_word unpack(std::uint64_t w) {
    return {static_cast<std::uint8_t>(w & 0xf),  static_cast<std::uint8_t>(w >> 4 & 0xf),
            static_cast<std::uint8_t>(w >> 8),   static_cast<std::uint16_t>(w >> 16),
            static_cast<std::uint16_t>(w >> 32), (w >> 48 & 1) != 0};
  }
};

/// A PE in 24 bits: {pe[7:0], cube[15:8], sip[23:16]}.
[[nodiscard]] constexpr std::uint32_t pack_short_peer(pe_coord p) {
  return p.sip.value << 16 | p.cube.value << 8 | p.pe.value;
}
[[nodiscard]] constexpr pe_coord unpack_short_peer(std::uint32_t w) {
  return {sip_id{w >> 16 & 0xff}, cube_id{w >> 8 & 0xff}, pe_id{w & 0xff}};
}

/// The unit's part of the register map, in address order.
[[nodiscard]] std::span<const register_description> tag_register_map();

}  // namespace diecast::abi
