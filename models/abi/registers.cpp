// SPDX-License-Identifier: Apache-2.0
#include "models/abi/registers.hpp"

#include <array>

namespace diecast::abi {
constexpr register_offset qp(register_offset field) { return ipcq_qp_base + field; }

constexpr auto register_table = std::to_array<register_description>(
    {{ipcq_event, "IPCQ_EVENT", access::read_pops,
      "Oldest queued event {kind[7:0], more[8], qp[31:16], value[63:32]}; kind 0 when none. Reading pops "
      "it."},
     {ipcq_error, "IPCQ_ERROR", access::read_only, "Last refused request {engine_error[31:0], qp[63:32]}."},
     {ipcq_queue_pairs, "IPCQ_QUEUE_PAIRS", access::read_only,
      "Number of queue pairs of this engine (config ipcq.queue_pairs)."},
     {dma_source, "DMA_SOURCE", access::read_write, "Physical source address of the next copy."},
     {dma_destination, "DMA_DESTINATION", access::read_write,
      "Physical destination address of the next copy."},
     {dma_doorbell, "DMA_DOORBELL", access::write_only,
      "Writing N starts a copy of N bytes. Copies complete in order."},
     {dma_status, "DMA_STATUS", access::read_only,
      "{copies done[31:0], copies started[63:32]}. Done means every byte is acknowledged written."},
     {dma_arm, "DMA_ARM", access::write_only,
      "Writing N queues a dma_done event once N copies are done. One-shot."},
     {core_errata, "CORE_ERRATA", access::read_write,
      "{barrier defects[15:0] (ccl.errata, faults), runtime defects[31:16] (faults), operations that go "
      "right first[63:32]}."},
     {core_status, "CORE_STATUS", access::read_only,
      "0 idle, 1 waiting for its start time, 2 running, 3 asleep, 4 done."},
     {core_start_time, "CORE_START_TIME", access::read_only,
      "Instant at which the last kernel started, in femtoseconds."},
     {core_end_time, "CORE_END_TIME", access::read_only,
      "Instant at which the last kernel ended, in femtoseconds."},
     {qp(qp_control), "QP_CONTROL", access::read_write,
      "Bit 0 enables the transmit half, bit 1 the receive half."},
     {qp(qp_my_head), "QP_MY_HEAD", access::read_write,
      "Next sequence number to send, modulo W. Written at install only."},
     {qp(qp_my_tail), "QP_MY_TAIL", access::read_write,
      "Next sequence number to consume, modulo W. Writing it forward releases slots and sends one credit."},
     {qp(qp_peer_head_cache), "QP_PEER_HEAD_CACHE", access::read_write,
      "How far the peer has produced into my receive ring. Written at install only."},
     {qp(qp_peer_tail_cache), "QP_PEER_TAIL_CACHE", access::read_write,
      "How far the peer has consumed what I sent. Written at install only."},
     {qp(qp_rx_base), "QP_RX_BASE", access::read_write,
      "Physical address of my receive ring (n_slots x slot_bytes)."},
     {qp(qp_n_slots), "QP_N_SLOTS", access::read_write, "Slots per ring, equal at both ends."},
     {qp(qp_slot_bytes), "QP_SLOT_BYTES", access::read_write, "Bytes per slot, equal at both ends."},
     {qp(qp_peer_rx_base), "QP_PEER_RX_BASE", access::read_write,
      "Physical address of the peer's receive ring: where I write, and what a credit to me names."},
     {qp(qp_peer_ipcq), "QP_PEER_IPCQ", access::read_write,
      "Mailbox of the peer's engine: where my data, tokens and credits are sent."},
     {qp(qp_peer_coord), "QP_PEER_COORD", access::read_write,
      "Diagnostic only: {pe[15:0], cube[31:16], sip[47:32]} of the peer."},
     {qp(qp_tx_source), "QP_TX_SOURCE", access::read_write,
      "Physical address of the next message's first byte: in this PE's TCM, or in a memory that the DMA then "
      "reads."},
     {qp(qp_tx_doorbell), "QP_TX_DOORBELL", access::write_only,
      "Writing N sends N bytes (0 <= N <= slot_bytes) into the peer's next slot."},
     {qp(qp_tx_status), "QP_TX_STATUS", access::read_only,
      "{free slots[31:0], sends whose source has been read, modulo 2^32[63:32]}."},
     {qp(qp_rx_status), "QP_RX_STATUS", access::read_only,
      "{slots holding data[31:0], bytes in the oldest[63:32]}."},
     {qp(qp_arm), "QP_ARM", access::read_write,
      "One-shot event requests: bit 0 receive, bit 1 send space, bit 2 source read. Writing adds requests, "
      "writing 0 withdraws all. Reads as the requests still pending: the waiters of a pointer dump."},
     {qp(qp_tx_check), "QP_TX_CHECK", access::read_write,
      "32 bits that travel with the next message and are 0 for the one after it."},
     {qp(qp_rx_check), "QP_RX_CHECK", access::read_only, "The 32 check bits of the oldest message."}});

std::span<const register_description> register_map() { return register_table; }

const char* to_string(engine_error e) {
  switch (e) {
    case engine_error::none: return "none";
    case engine_error::oversize: return "message longer than a slot";
    case engine_error::ring_full: return "doorbell while the peer's ring is full";
    case engine_error::tx_disabled: return "doorbell on a queue pair without a transmit half";
    case engine_error::rx_disabled: return "release on a queue pair without a receive half";
    case engine_error::tail_beyond_head: return "release of a slot that holds no data";
    case engine_error::bad_register: return "no such register or queue pair, or not in this direction";
  }
  return "unknown";
}

constexpr auto tag_register_table = std::to_array<register_description>(
    {{tm_ring_base, "TM_RING_BASE", access::read_write,
      "Physical address of the ring of unexpected messages, in this PE's TCM."},
     {tm_slot_bytes, "TM_SLOT_BYTES", access::read_write, "Bytes per slot of the ring."},
     {tm_slots, "TM_SLOTS", access::read_write, "Slots of the ring. Written once, at install."},
     {tm_peer_credits, "TM_PEER_CREDITS", access::read_write,
      "Slots that each peer may fill; kept for firmware."},
     {tm_heap_base, "TM_HEAP_BASE", access::read_write,
      "Physical address of memory for waiting messages; kept for firmware."},
     {tm_heap_bytes, "TM_HEAP_BYTES", access::read_write, "Bytes of that memory; kept for firmware."},
     {tm_entries, "TM_ENTRIES", access::read_only,
      "Entries of the matching list (config tag_match.entries)."},
     {tm_unexpected, "TM_UNEXPECTED", access::read_only,
      "UNEXPECTED completions popped so far, modulo 2^16."},
     {tm_tag, "TM_TAG", access::read_write, "Tag of the next APPEND or of the next message."},
     {tm_mask, "TM_MASK", access::read_write, "Bits of TM_TAG that the next APPEND compares."},
     {tm_buffer, "TM_BUFFER", access::read_write,
      "Physical address of the buffer of the next APPEND, in this PE's TCM."},
     {tm_room, "TM_ROOM", access::read_write, "Bytes of that buffer."},
     {tm_command, "TM_COMMAND", access::write_only,
      "{kind[7:0]: 1 APPEND, 2 REMOVE, 3 NOP; index[31:16]; unexpected messages seen, modulo 2^16[47:32]}. "
      "Commands are executed in order."},
     {tm_release, "TM_RELEASE", access::write_only,
      "Writing a slot's number frees it and sends its credit back."},
     {tm_send_to, "TM_SEND_TO", access::read_write, "Mailbox of the PE the next message goes to."},
     {tm_send_source, "TM_SEND_SOURCE", access::read_write,
      "Physical address of the next message's first byte, in this PE's TCM."},
     {tm_send_length, "TM_SEND_LENGTH", access::read_write, "Bytes of the whole message."},
     {tm_send, "TM_SEND", access::write_only,
      "{op[7:0]: 0 no_tag, 1 eager, 2 rndv, 3 fin; app_ctx[15:8]; id[31:16]; bytes that travel with the "
      "header[63:32]}. Sends the message."},
     {tm_read_from, "TM_READ_FROM", access::read_write,
      "Physical address of the first byte of the next read."},
     {tm_read_to, "TM_READ_TO", access::read_write, "Where its bytes go, in this PE's TCM."},
     {tm_read, "TM_READ", access::write_only, "{id[15:0]; bytes[63:32]}. Starts the read."},
     {tm_check, "TM_CHECK", access::read_write,
      "32 bits that travel with messages until it is written again."},
     {tm_done, "TM_DONE", access::read_pops,
      "Next completion of a command, message or read {kind[7:0]: 0 none, 1 APPEND, 2 REMOVE, 3 SENT, 4 FIN, "
      "5 CREDIT, 6 READ; ok[8]; more[9]; index or count[31:16]; value[63:32]}. Reading pops it. Completions "
      "of commands come first, then the others in their order."},
     {tm_arrival, "TM_ARRIVAL", access::read_pops,
      "Oldest completion of an arrived message {kind[3:0]: 0 none, 3 CONSUMED, 4 EXPECTED, 5 CONSUMED_MSG, 6 "
      "UNEXPECTED, 7 NO_TAG; op[7:4]; app_ctx[15:8]; index[31:16]; slot[47:32]; more[48]}. Reading pops it "
      "and sets the registers below."},
     {tm_arrival_tag, "TM_ARRIVAL_TAG", access::read_only, "Tag of the message."},
     {tm_arrival_source, "TM_ARRIVAL_SOURCE", access::read_only,
      "PE that sent it: {pe[15:0], cube[31:16], sip[47:32]}."},
     {tm_arrival_length, "TM_ARRIVAL_LENGTH", access::read_only, "Bytes of the whole message."},
     {tm_arrival_va, "TM_ARRIVAL_VA", access::read_only,
      "rndv: physical address of the message at its sender."},
     {tm_arrival_rndv, "TM_ARRIVAL_RNDV", access::read_only,
      "{rkey[31:0], bytes that came with the header[63:32]}."},
     {tm_arrival_check, "TM_ARRIVAL_CHECK", access::read_only, "TM_CHECK of the sender."},
     {tm_arm, "TM_ARM", access::write_only,
      "Asks for one event in IPCQ_EVENT when (or as soon as) a completion can be popped."}});

std::span<const register_description> tag_register_map() { return tag_register_table; }

}  // namespace diecast::abi
