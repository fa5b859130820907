// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/tag_driver.hpp"

#include "models/abi/address.hpp"

namespace diecast::sw {
using protocol::tag_command;
using protocol::tag_completion;
using protocol::tag_op;

tag_driver::installation tag_driver::read_installation() {
  installation i;
  i.ring_base = hal_.read_register(abi::tm_ring_base);
  i.slot_bytes = hal_.read_register(abi::tm_slot_bytes);
  i.slots = hal_.read_register(abi::tm_slots);
  i.peer_credits = hal_.read_register(abi::tm_peer_credits);
  i.heap_base = hal_.read_register(abi::tm_heap_base);
  i.heap_bytes = hal_.read_register(abi::tm_heap_bytes);
  i.entries = hal_.read_register(abi::tm_entries);
  i.unexpected = static_cast<std::uint32_t>(hal_.read_register(abi::tm_unexpected));
  return i;
}

void tag_driver::command(const tag_command& c) {
  if (c.what == tag_command::kind::append) {
    hal_.write_register(abi::tm_tag, c.wanted.tag);
    hal_.write_register(abi::tm_mask, c.wanted.mask);
    hal_.write_register(abi::tm_buffer, c.buffer);
    hal_.write_register(abi::tm_room, c.room);
  }
  const auto kind = static_cast<abi::tm_command_kind>(static_cast<unsigned>(c.what) + 1);
  hal_.write_register(abi::tm_command,
                      abi::tm_command_word{kind, c.index, static_cast<std::uint16_t>(c.seen)}.pack());
}

void tag_driver::send(pe_coord to, abi::tag_message_op op, std::uint8_t app_ctx, std::uint16_t id,
                      std::uint64_t tag, abi::address source, std::uint64_t length, std::uint32_t payload) {
  hal_.write_register(abi::tm_send_to, abi::mailbox_of(to));
  if (op != abi::tag_message_op::fin) {
    hal_.write_register(abi::tm_tag, tag);
    hal_.write_register(abi::tm_send_source, source);
    hal_.write_register(abi::tm_send_length, length);
  }
  hal_.write_register(abi::tm_send,
                      abi::tm_send_word{static_cast<std::uint8_t>(op), app_ctx, id, payload}.pack());
}

void tag_driver::read(std::uint16_t id, abi::address from, abi::address to, std::uint32_t bytes) {
  hal_.write_register(abi::tm_read_from, from);
  hal_.write_register(abi::tm_read_to, to);
  hal_.write_register(abi::tm_read, std::uint64_t{bytes} << 32 | id);
}

protocol::tag_message tag_driver::last_message(const abi::tm_arrival_word& word) {
  protocol::tag_message m;
  m.op = static_cast<tag_op>(word.op);
  m.app_ctx = word.app_ctx;
  m.tag = hal_.read_register(abi::tm_arrival_tag);
  m.source = hal_.read_register(abi::tm_arrival_source);
  m.length = hal_.read_register(abi::tm_arrival_length);
  const auto kind = static_cast<tag_completion::kind>(word.kind - 1);
  const bool waits = kind == tag_completion::kind::unexpected || kind == tag_completion::kind::no_tag;
  m.payload_bytes = static_cast<std::uint32_t>(m.length);
  if (checks_) m.check = static_cast<std::uint32_t>(hal_.read_register(abi::tm_arrival_check));
  if (m.op != tag_op::rndv && m.app_ctx == 0) return m;
  const std::uint64_t rndv = hal_.read_register(abi::tm_arrival_rndv);
  m.rkey = static_cast<std::uint32_t>(rndv);
  m.payload_bytes = static_cast<std::uint32_t>(rndv >> 32);
  if (waits) m.va = hal_.read_register(abi::tm_arrival_va);
  return m;
}

}  // namespace diecast::sw
