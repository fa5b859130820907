// SPDX-License-Identifier: Apache-2.0
#include "models/abi/tag_registers.hpp"

#include <array>

namespace diecast::abi {
namespace {

constexpr std::array tag_register_table{
    register_description{tm_ring_base, "TM_RING_BASE", access::read_write, 0,
                         "Physical address of the ring of unexpected messages, in this PE's TCM."},
    register_description{tm_slot_bytes, "TM_SLOT_BYTES", access::read_write, 0,
                         "Bytes per slot of the ring."},
    register_description{tm_slots, "TM_SLOTS", access::read_write, 0,
                         "Slots of the ring. Written once, at install."},
    register_description{tm_peer_credits, "TM_PEER_CREDITS", access::read_write, 0,
                         "Slots that each peer may fill; kept for firmware."},
    register_description{tm_heap_base, "TM_HEAP_BASE", access::read_write, 0,
                         "Physical address of memory for waiting messages; kept for firmware."},
    register_description{tm_heap_bytes, "TM_HEAP_BYTES", access::read_write, 0,
                         "Bytes of that memory; kept for firmware."},
    register_description{tm_entries, "TM_ENTRIES", access::read_only, 0,
                         "Entries of the matching list (config tag_match.entries)."},
    register_description{tm_unexpected, "TM_UNEXPECTED", access::read_only, 0,
                         "UNEXPECTED completions popped so far, modulo 2^16."},
    register_description{tm_tag, "TM_TAG", access::read_write, 0,
                         "Tag of the next APPEND or of the next message."},
    register_description{tm_mask, "TM_MASK", access::read_write, 0,
                         "Bits of TM_TAG that the next APPEND compares."},
    register_description{tm_buffer, "TM_BUFFER", access::read_write, 0,
                         "Physical address of the buffer of the next APPEND, in this PE's TCM."},
    register_description{tm_room, "TM_ROOM", access::read_write, 0, "Bytes of that buffer."},
    register_description{
        tm_command, "TM_COMMAND", access::write_only, 0,
        "{kind[7:0]: 1 APPEND, 2 REMOVE, 3 NOP; index[31:16]; unexpected messages seen, modulo 2^16[47:32]}. "
        "Commands are executed in order."},
    register_description{tm_release, "TM_RELEASE", access::write_only, 0,
                         "Writing a slot's number frees it and sends its credit back."},
    register_description{tm_send_to, "TM_SEND_TO", access::read_write, 0,
                         "Mailbox of the PE the next message goes to."},
    register_description{tm_send_source, "TM_SEND_SOURCE", access::read_write, 0,
                         "Physical address of the next message's first byte, in this PE's TCM."},
    register_description{tm_send_length, "TM_SEND_LENGTH", access::read_write, 0,
                         "Bytes of the whole message."},
    register_description{tm_send, "TM_SEND", access::write_only, 0,
                         "{op[7:0]: 0 no_tag, 1 eager, 2 rndv, 3 fin; app_ctx[15:8]; id[31:16]; bytes that "
                         "travel with the header[63:32]}. Sends the message."},
    register_description{tm_read_from, "TM_READ_FROM", access::read_write, 0,
                         "Physical address of the first byte of the next read."},
    register_description{tm_read_to, "TM_READ_TO", access::read_write, 0,
                         "Where its bytes go, in this PE's TCM."},
    register_description{tm_read, "TM_READ", access::write_only, 0,
                         "{id[15:0]; bytes[63:32]}. Starts the read."},
    register_description{tm_check, "TM_CHECK", access::read_write, 0,
                         "32 bits that travel with messages until it is written again."},
    register_description{
        tm_done, "TM_DONE", access::read_pops, 0,
        "Next completion of a command, message or read {kind[7:0]: 0 none, 1 APPEND, 2 REMOVE, 3 SENT, 4 "
        "FIN, 5 CREDIT, 6 READ; ok[8]; more[9]; index or count[31:16]; value[63:32]}. Reading pops it. "
        "Completions of commands come first, then the others in their order."},
    register_description{
        tm_arrival, "TM_ARRIVAL", access::read_pops, 0,
        "Oldest completion of an arrived message {kind[3:0]: 0 none, 3 CONSUMED, 4 EXPECTED, 5 CONSUMED_MSG, "
        "6 UNEXPECTED, 7 NO_TAG; op[7:4]; app_ctx[15:8]; index[31:16]; slot[47:32]; more[48]}. Reading pops "
        "it and sets the registers below."},
    register_description{tm_arrival_tag, "TM_ARRIVAL_TAG", access::read_only, 0, "Tag of the message."},
    register_description{tm_arrival_source, "TM_ARRIVAL_SOURCE", access::read_only, 0,
                         "PE that sent it: {pe[15:0], cube[31:16], sip[47:32]}."},
    register_description{tm_arrival_length, "TM_ARRIVAL_LENGTH", access::read_only, 0,
                         "Bytes of the whole message."},
    register_description{tm_arrival_va, "TM_ARRIVAL_VA", access::read_only, 0,
                         "rndv: physical address of the message at its sender."},
    register_description{tm_arrival_rndv, "TM_ARRIVAL_RNDV", access::read_only, 0,
                         "{rkey[31:0], bytes that came with the header[63:32]}."},
    register_description{tm_arrival_check, "TM_ARRIVAL_CHECK", access::read_only, 0,
                         "TM_CHECK of the sender."},
    register_description{tm_arm, "TM_ARM", access::write_only, 0,
                         "Asks for one event in IPCQ_EVENT when (or as soon as) a completion can be popped."},
};

}  // namespace

std::span<const register_description> tag_register_map() { return tag_register_table; }

}  // namespace diecast::abi
