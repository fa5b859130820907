// SPDX-License-Identifier: Apache-2.0
// Packet headers as plain values. Nothing here holds a pointer, so that a packet can
// leave its SIP as bytes.
#pragma once

#include <cstdint>

#include "models/abi/address.hpp"
#include "models/types/ids.hpp"

namespace diecast::abi {

/// Virtual-channel classes, each with its own buffers. Consumption is guaranteed so:
/// response, comm and sideband always sink; request may wait only on response; message has
/// per-peer eager credits.
enum class traffic_class : std::uint8_t { request, response, comm, message, sideband };
inline constexpr unsigned traffic_classes = 5;
[[nodiscard]] const char* to_string(traffic_class c);

/// Where a packet enters or leaves the fabric: a terminal of one cube's NoC.
struct node_address {
  std::uint16_t sip{};
  std::uint16_t cube{};
  std::uint16_t terminal{};
  auto operator<=>(const node_address&) const = default;
};

/// Destination of a packet that belongs to a tree in the network and to no single block: {0, tree_use,
/// tree_terminal}. The last router before a member puts the member's own address in its place.
inline constexpr std::uint16_t tree_terminal = UINT16_MAX;
[[nodiscard]] constexpr bool is_tree(const node_address& a) { return a.terminal == tree_terminal; }

/// Flows of a tree. Each has its own VC on every link, so that none waits for another in a buffer.
enum class tree_flow : std::uint8_t {
  down,    ///< from the root: multicast data, and the credits of a reduction
  up,      ///< contributions to a reduction
  credits  ///< to the root: the credits of a multicast
};
inline constexpr unsigned tree_flows = 3;

enum class packet_kind : std::uint8_t {
  ipcq_data,       ///< comm: part of one IPCQ message; carries the token
  ipcq_credit,     ///< sideband
  read_request,    ///< request: answered by one read_response per request
  read_response,   ///< response
  write_request,   ///< request: answered by write_response when the bytes are written
  write_response,  ///< response
  atomic_add,      ///< request: adds its 8-byte payload; answered by read_response with the word before
  launch,          ///< request: host -> IO CPU -> control CPU -> PE
  launch_done,     ///< response to launch
  tag_message,     ///< message: part of a message between tag-matching units, or a fin or credit
  synthetic        ///< traffic generators
};
[[nodiscard]] const char* to_string(packet_kind k);
[[nodiscard]] traffic_class class_of(packet_kind k);

/// Token of an IPCQ message (ipcq_data) or the credit that returns its slot (ipcq_credit).
/// The engine matches by address alone; `source` and `source_direction` are for logs and dumps.
struct ipcq_fields {
  address match_address{};   ///< data: slot address in the receiver's ring; credit: base of the freed ring
  std::uint32_t sequence{};  ///< data: the sender's my_head; credit: my_tail after the increment
  std::uint32_t message_bytes{};  ///< data: bytes of the whole message
  pe_coord source{};
  std::uint16_t source_direction{};
  std::uint32_t check{};  ///< data: what the sender's firmware wrote to QP_TX_CHECK
  auto operator<=>(const ipcq_fields&) const = default;
};

/// Kinds of messages between tag-matching units. The first four are protocol::tag_op.
enum class tag_message_op : std::uint8_t {
  no_tag,
  eager,
  rndv,
  fin,    ///< the receiver of a rendezvous has all bytes
  credit  ///< the receiver has room for one more message of this sender
};

/// Header of a message between tag-matching units. Counted as part of the one header flit, for any
/// noc.flit_bytes.
struct tag_fields {
  tag_message_op op{tag_message_op::eager};
  std::uint8_t app_ctx{};
  std::uint16_t id{};  ///< rndv: the sender's name for it, returned in fin
  std::uint64_t tag{};
  address va{};                   ///< rndv: of the message at its sender
  std::uint64_t length{};         ///< bytes of the whole message
  std::uint32_t payload_bytes{};  ///< payload bytes that travel with the header
  pe_coord source{};
  std::uint32_t check{};  ///< value that the sender's firmware wrote to TM_CHECK
  auto operator<=>(const tag_fields&) const = default;
};

/// First source and last destination of a packet that goes through host memory (comm.path = staged). The
/// header's source and destination are those of one of its two parts.
struct staged_ends {
  bool set{};
  node_address from, to;
  auto operator<=>(const staged_ends&) const = default;
};

struct packet_header {
  packet_kind kind{packet_kind::synthetic};
  node_address source;
  node_address destination;
  address target{};               ///< memory address written or read; mailbox for IPCQ and launch
  std::uint32_t payload_bytes{};  ///< bytes this packet carries after its header
  std::uint32_t offset{};         ///< offset of the payload within its message or transaction
  std::uint32_t request_bytes{};  ///< read_request: bytes wanted
  std::uint64_t transaction{};    ///< requester's tag, returned unchanged in the response
  ipcq_fields ipcq;
  std::uint64_t checksum{};  ///< under comm.checksum: ipcq_data, tag_message, read_response to the unit
  tag_fields tag;
  staged_ends staged;
  auto operator<=>(const packet_header&) const = default;
};

/// Set in the transaction of a read of the tag-matching unit (bulk of a rendezvous), whose answer goes there.
inline constexpr std::uint64_t tag_read_bit = std::uint64_t{1} << 61;
/// Set in the transaction of an access of the core itself.
inline constexpr std::uint64_t core_access_bit = std::uint64_t{1} << 32;
[[nodiscard]] constexpr bool answers_rendezvous(const packet_header& h) {
  return h.kind == packet_kind::read_response && (h.transaction & tag_read_bit) != 0;
}

/// The block that made a packet, also when it was staged.
[[nodiscard]] constexpr const node_address& origin_of(const packet_header& h) {
  return h.staged.set ? h.staged.from : h.source;
}
/// Kinds of packets that comm.path stages: data of messages, puts and reads; not control packets, and not a
/// core's own accesses to flags.
[[nodiscard]] bool is_staged_kind(const packet_header& h);

/// Precondition: is_tree(h.destination).
[[nodiscard]] tree_flow flow_of(const packet_header& h);

/// Flits of a packet: one header flit and as many payload flits as it takes. A credit (16 bytes)
/// and every packet without payload fit the header flit.
[[nodiscard]] constexpr std::uint32_t flits_of(std::uint32_t payload_bytes, std::uint32_t flit_bytes) {
  return 1 + (payload_bytes + flit_bytes - 1) / flit_bytes;
}

// Common properties of the operations between tag-matching units.

/// A fin or credit: an answer of one packet without payload, which no receive waits for.
[[nodiscard]] constexpr bool carries_no_bytes(tag_message_op op) {
  return op == tag_message_op::fin || op == tag_message_op::credit;
}

}  // namespace diecast::abi
