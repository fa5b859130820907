// SPDX-License-Identifier: Apache-2.0
// Register map of one PE. Firmware and host touch the machine through these registers only; the
// table below is what docs/registers.md is generated from. All registers are 64 bits wide.
#pragma once

#include <cstdint>
#include <span>

#include "models/types/ids.hpp"

namespace diecast::abi {

using register_offset = std::uint32_t;  ///< byte offset within the PE's pe_registers region

enum class access : std::uint8_t { read_only, read_write, write_only, read_pops };

struct register_description {
  register_offset offset;
  const char* name;
  access mode;
  const char* meaning;
};

inline constexpr register_offset ipcq_event = 0x000;
inline constexpr register_offset ipcq_error = 0x008;
inline constexpr register_offset ipcq_queue_pairs = 0x010;

inline constexpr register_offset dma_source = 0x100;
inline constexpr register_offset dma_destination = 0x108;
inline constexpr register_offset dma_doorbell = 0x110;
inline constexpr register_offset dma_status = 0x118;
inline constexpr register_offset dma_arm = 0x120;

inline constexpr register_offset core_errata = 0x200;
inline constexpr register_offset core_status = 0x208;
inline constexpr register_offset core_start_time = 0x210;
inline constexpr register_offset core_end_time = 0x218;
/// Whether an access of the PE's firmware or of the host goes to the core; those without a register are
/// refused.
[[nodiscard]] constexpr bool is_core_register(register_offset reg) { return reg >= 0x200 && reg < 0x300; }

inline constexpr register_offset ipcq_qp_base = 0x10000;
inline constexpr register_offset ipcq_qp_stride = 0x100;

inline constexpr register_offset qp_control = 0x00;
inline constexpr register_offset qp_my_head = 0x08;
inline constexpr register_offset qp_my_tail = 0x10;
inline constexpr register_offset qp_peer_head_cache = 0x18;
inline constexpr register_offset qp_peer_tail_cache = 0x20;
inline constexpr register_offset qp_rx_base = 0x28;
inline constexpr register_offset qp_n_slots = 0x30;
inline constexpr register_offset qp_slot_bytes = 0x38;
inline constexpr register_offset qp_peer_rx_base = 0x40;
inline constexpr register_offset qp_peer_ipcq = 0x48;
inline constexpr register_offset qp_peer_coord = 0x50;
inline constexpr register_offset qp_tx_source = 0x58;
inline constexpr register_offset qp_tx_doorbell = 0x60;
inline constexpr register_offset qp_tx_status = 0x68;
inline constexpr register_offset qp_rx_status = 0x70;
inline constexpr register_offset qp_arm = 0x78;
inline constexpr register_offset qp_tx_check = 0x80;
inline constexpr register_offset qp_rx_check = 0x88;

inline constexpr std::uint64_t qp_control_tx_enable = 1;
inline constexpr std::uint64_t qp_control_rx_enable = 2;

/// Bits of qp_arm: one-shot; an event of that kind is queued when (or as soon as) its condition
/// holds. An armed bit is also what a pointer dump reports as a waiter.
inline constexpr std::uint64_t arm_receive = 1;      ///< a slot holds data: my_tail != peer_head_cache
inline constexpr std::uint64_t arm_send_space = 2;   ///< a slot is free: my_head - peer_tail_cache < n_slots
inline constexpr std::uint64_t arm_source_read = 4;  ///< every send rung so far has read its source

[[nodiscard]] constexpr register_offset qp_register(std::uint32_t qp, register_offset field) {
  return ipcq_qp_base + qp * ipcq_qp_stride + field;
}
/// Registers that have no effect before a doorbell is rung: their time may be charged later.
[[nodiscard]] constexpr bool is_staging(register_offset reg) {
  if (reg == dma_source || reg == dma_destination) return true;
  return reg >= ipcq_qp_base && (reg - ipcq_qp_base) % ipcq_qp_stride == qp_tx_source;
}

/// Contents of ipcq_event. Reading pops the oldest event; `valid` false means none was queued.
enum class event_kind : std::uint8_t {
  none = 0,
  receive = 1,
  send_space = 2,
  source_read = 3,
  dma_done = 4,
  error = 5,
  tag_match = 6  ///< a completion of the tag-matching unit can be popped (TM_ARM)
};

struct ipcq_event_word {
  event_kind kind{event_kind::none};
  bool more{};            ///< at least one further event is queued
  std::uint16_t qp{};     ///< queue pair; 0 for dma_done
  std::uint32_t value{};  ///< receive: slots available; send_space: free slots; source_read: sources read;
                          ///< dma_done: jobs done; error: engine_error

  [[nodiscard]] std::uint64_t pack() const {
    return static_cast<std::uint64_t>(kind) | std::uint64_t{more} << 8 | std::uint64_t{qp} << 16 |
           std::uint64_t{value} << 32;
  }
  [[nodiscard]] static ipcq_event_word unpack(std::uint64_t word) {
    return {static_cast<event_kind>(word & 0xff), (word >> 8 & 1) != 0,
            static_cast<std::uint16_t>(word >> 16), static_cast<std::uint32_t>(word >> 32)};
  }
};

/// What the engine refuses; seen by firmware as an `error` event and in ipcq_error.
enum class engine_error : std::uint32_t {
  none = 0,
  oversize = 1,          ///< doorbell with more bytes than slot_bytes
  ring_full = 2,         ///< doorbell while no slot is free
  tx_disabled = 3,       ///< doorbell on a queue pair without a transmit half
  rx_disabled = 4,       ///< my_tail written on a queue pair without a receive half
  tail_beyond_head = 5,  ///< my_tail written past peer_head_cache
  bad_register = 6       ///< no such register or queue pair
};
[[nodiscard]] const char* to_string(engine_error e);

/// Packed halves of the status registers.
struct status_halves {
  std::uint32_t low{};
  std::uint32_t high{};
  [[nodiscard]] std::uint64_t pack() const { return std::uint64_t{high} << 32 | low; }
  [[nodiscard]] static status_halves unpack(std::uint64_t w) {
    return {static_cast<std::uint32_t>(w), static_cast<std::uint32_t>(w >> 32)};
  }
};

/// Contents of qp_peer_coord: {pe[15:0], cube[31:16], sip[47:32]}.
[[nodiscard]] constexpr std::uint64_t pack_peer(pe_coord p) {
  return std::uint64_t{p.sip.value} << 32 | std::uint64_t{p.cube.value} << 16 | p.pe.value;
}
[[nodiscard]] constexpr pe_coord unpack_peer(std::uint64_t w) {
  return {sip_id{static_cast<std::uint32_t>(w >> 32 & 0xffff)},
          cube_id{static_cast<std::uint32_t>(w >> 16 & 0xffff)},
          pe_id{static_cast<std::uint32_t>(w & 0xffff)}};
}

/// The register map, in address order; queue-pair registers with the offsets of queue pair 0.
[[nodiscard]] std::span<const register_description> register_map();

/// Registers of the tag-matching unit (models/protocol/tag_core.hpp) and the words they hold.
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

/// tm_send: {op[7:0], app_ctx[15:8], id[31:16], payload bytes[63:32]}. The op is a protocol::tag_op. SENT,
/// and in rendezvous FIN, carry the id.
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
