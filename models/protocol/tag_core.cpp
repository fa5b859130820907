// SPDX-License-Identifier: Apache-2.0
#include "models/protocol/tag_core.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/abi/address.hpp"
#include "models/types/error.hpp"
#include "models/types/ids.hpp"

namespace diecast::protocol {
namespace {

/// Bit of a read's token. Set: the token has firmware's id; clear: the ticket of a rendezvous.
constexpr std::uint64_t firmware_read = std::uint64_t{1} << 32;

[[noreturn]] void no_such_register(pe_coord self, abi::register_offset reg) {
  throw formatted<std::out_of_range>("tag unit of {}: no register {:#x} in this direction", owner_name(self),
                                     reg);
}

tag_message message_of(const abi::tag_fields& f) {
  return {static_cast<tag_op>(f.op), f.app_ctx, f.tag, f.payload_bytes, f.va, f.id, f.length,
          abi::pack_peer(f.source),  f.check};
}

}  // namespace

tag_core::tag_core(pe_coord self, std::uint32_t entries, std::uint64_t max_packet_bytes,
                   tag_unit::eligibility rule)
    : self_(self), max_packet_bytes_(max_packet_bytes), unit_(entries, 0, tag_unit::counter_modulus, rule) {}

/// Registers that only store the written value.
std::uint64_t* tag_core::stored(abi::register_offset reg) {
  switch (reg) {
    case abi::tm_ring_base: return &ring_base_;
    case abi::tm_slot_bytes: return &slot_bytes_;
    case abi::tm_peer_credits: return &peer_credits_;
    case abi::tm_heap_base: return &heap_base_;
    case abi::tm_heap_bytes: return &heap_bytes_;
    case abi::tm_tag: return &tag_;
    case abi::tm_mask: return &mask_;
    case abi::tm_buffer: return &buffer_;
    case abi::tm_room: return &room_;
    case abi::tm_send_to: return &send_to_;
    case abi::tm_send_source: return &send_source_;
    case abi::tm_send_length: return &send_length_;
    case abi::tm_read_from: return &read_from_;
    case abi::tm_read_to: return &read_to_;
    case abi::tm_check: return &check_;
    default: return nullptr;
  }
}

void tag_core::debug_write(abi::register_offset reg, std::uint64_t value) {
  if (std::uint64_t* const at = stored(reg)) {
    *at = value;
    return;
  }
  if (reg != abi::tm_slots) no_such_register(self_, reg);
  if (value < slots_ || value > UINT16_MAX) {
    throw formatted<std::out_of_range>("TM_SLOTS: {} slots after {}; expected more, at most {}", value,
                                       slots_, UINT16_MAX);
  }
  unit_.add_slots(static_cast<std::uint32_t>(value - slots_));
  slots_ = value;
  slot_owner_.resize(slots_);
}

tag_effects tag_core::write_register(abi::register_offset reg, std::uint64_t value) {
  tag_effects effects;
  switch (reg) {
    case abi::tm_command: effects.command = command_of(value); return effects;
    case abi::tm_release: return release(value);
    case abi::tm_send: return send(value);
    case abi::tm_read:
      effects.read = {read_from_, read_to_, value >> 32, firmware_read | (value & 0xffff)};
      return effects;
    case abi::tm_arm: armed_ = true; return effects;
    default: debug_write(reg, value); return effects;
  }
}

std::uint64_t tag_core::debug_read(abi::register_offset reg) const {
  switch (reg) {
    case abi::tm_slots: return slots_;
    case abi::tm_entries: return unit_.entries();
    case abi::tm_unexpected: return unexpected_popped_;
    case abi::tm_arrival_tag: return last_.tag;
    case abi::tm_arrival_source: return last_.source;
    case abi::tm_arrival_length: return last_.length;
    case abi::tm_arrival_va: return last_.va;
    case abi::tm_arrival_check: return last_.check;
    case abi::tm_arrival_rndv: return std::uint64_t{last_.payload_bytes} << 32 | last_.rkey;
    default: break;
  }
  if (const std::uint64_t* const at = const_cast<tag_core*>(this)->stored(reg)) return *at;
  no_such_register(self_, reg);
}

std::uint64_t tag_core::read_register(abi::register_offset reg) {
  if (reg == abi::tm_done) return pop_done();
  if (reg == abi::tm_arrival) return pop_arrival();
  return debug_read(reg);
}

tag_command tag_core::command_of(std::uint64_t word) const {
  const auto w = abi::tm_command_word::unpack(word);
  if (w.kind < abi::tm_command_kind::append || w.kind > abi::tm_command_kind::nop) {
    throw formatted<std::out_of_range>("TM_COMMAND: kind {}; expected 1 to 3", static_cast<unsigned>(w.kind));
  }
  return {static_cast<tag_command::kind>(static_cast<unsigned>(w.kind) - 1),
          w.seen,
          w.index,
          {tag_, mask_},
          buffer_,
          room_};
}

tag_effects tag_core::send(std::uint64_t word) const {
  const auto w = abi::tm_send_word::unpack(word);
  if (w.op > static_cast<std::uint8_t>(abi::tag_message_op::fin))
    throw formatted<std::out_of_range>("TM_SEND: op {}; expected 0 to 3", w.op);
  tag_effects effects;
  effects.send =
      tag_send_request{send_to_,
                       {static_cast<abi::tag_message_op>(w.op), w.app_ctx, w.id, tag_, send_source_,
                        send_length_, w.payload, self_, static_cast<std::uint32_t>(check_)},
                       send_source_};
  return effects;
}

tag_effects tag_core::release(std::uint64_t slot) {
  if (slot >= slots_) throw formatted<std::out_of_range>("TM_RELEASE: slot {} of {}", slot, slots_);
  unit_.release(static_cast<std::uint16_t>(slot));
  tag_effects effects;
  effects.send = answer(slot_owner_[slot], abi::tag_message_op::credit);
  return effects;
}

/// The next completion: those of commands first, then SENT, FIN, CREDIT and READ in order. Consecutive
/// credits of one peer are one completion.
std::uint64_t tag_core::pop_done() {
  abi::tm_done_word word;
  if (const auto c = unit_.pop_command_done()) {
    word.kind =
        c->what == tag_completion::kind::append ? abi::tm_done_kind::append : abi::tm_done_kind::remove;
    word.ok = c->ok;
    word.index = c->index;
  } else if (!done_.empty()) {
    word = done_.front();
    done_.pop_front();
  }
  word.more = done_ready();
  return word.pack();
}

std::uint64_t tag_core::pop_arrival() {
  abi::tm_arrival_word word;
  if (const auto c = unit_.pop_arrival()) {
    word.kind = static_cast<std::uint8_t>(static_cast<unsigned>(c->what) + 1);
    word.op = static_cast<std::uint8_t>(c->message.op);
    word.app_ctx = static_cast<std::uint8_t>(c->message.app_ctx);
    word.index = c->index;
    word.slot = c->slot;
    last_ = c->message;
    if (c->what == tag_completion::kind::unexpected) ++unexpected_popped_;
  }
  word.more = unit_.arrival_ready();
  return word.pack();
}

tag_send_request tag_core::answer(const abi::tag_fields& message, abi::tag_message_op op) const {
  abi::tag_fields f;
  f.op = op;
  f.id = message.id;
  f.source = self_;
  return {abi::mailbox_of(message.source), f, 0};
}

std::uint32_t tag_core::cost_of(const abi::tag_fields& message) const {
  return message.op == abi::tag_message_op::no_tag ? 0 : unit_.comparisons(message.tag);
}

tag_core::placement tag_core::arrive(const abi::tag_fields& message) {
  const bool whole = message.op == abi::tag_message_op::eager && message.payload_bytes <= max_packet_bytes_;
  tag_unit::verdict v;
  try {
    v = unit_.arrive(message_of(message), whole);
  } catch (const std::overflow_error& e) {
    throw protocol_error("{}: {}", owner_name(self_), e.what());
  }
  placement p;
  p.ticket = v.ticket;
  p.looked_at = v.looked_at;
  const bool matched = v.what == tag_unit::verdict::kind::matched;
  if (matched) {
    p.to = v.buffer;
    p.room = v.room;
    p.credit = answer(message, abi::tag_message_op::credit);
  } else {
    if (message.payload_bytes > slot_bytes_) {
      throw protocol_error("{}: unexpected message of {} bytes; expected at most a slot of {}",
                           owner_name(self_), message.payload_bytes, slot_bytes_);
    }
    p.to = ring_base_ + v.slot * slot_bytes_;
    p.room = slot_bytes_;
    slot_owner_.at(v.slot) = message;
  }
  incoming_.push_back({v.ticket, message, matched, v.buffer, v.room});
  return p;
}

tag_effects tag_core::payload_written(std::uint32_t ticket) {
  const auto at = std::ranges::find(incoming_, ticket, &incoming::ticket);
  if (at == incoming_.end()) throw formatted<std::logic_error>("tag unit: no message {}", ticket);
  const abi::tag_fields& m = at->message;
  const std::uint64_t wanted = std::min(m.length, at->room);
  if (at->matched && m.op == abi::tag_message_op::rndv && wanted > m.payload_bytes) {
    tag_effects effects;
    effects.read = {m.va + m.payload_bytes, at->buffer + m.payload_bytes, wanted - m.payload_bytes, ticket};
    return effects;
  }
  const incoming done = *at;
  incoming_.erase(at);
  return landed(done);
}

tag_effects tag_core::landed(const incoming& message) {
  unit_.landed(message.ticket);
  tag_effects effects;
  if (message.matched && message.message.op == abi::tag_message_op::rndv)
    effects.send = answer(message.message, abi::tag_message_op::fin);
  return effects;
}

tag_effects tag_core::read_done(std::uint64_t token) {
  if ((token & firmware_read) != 0) {
    abi::tm_done_word word;
    word.kind = abi::tm_done_kind::read;
    word.index = static_cast<std::uint16_t>(token);
    done_.push_back(word);
    return {};
  }
  const auto at = std::ranges::find(incoming_, token, &incoming::ticket);
  if (at == incoming_.end()) throw formatted<std::logic_error>("tag unit: no message {}", token);
  const incoming done = *at;
  incoming_.erase(at);
  return landed(done);
}

void tag_core::complete(const abi::tag_fields& message) {
  abi::tm_done_word word;
  if (message.op == abi::tag_message_op::credit) {
    word.kind = abi::tm_done_kind::credit;
    word.value = abi::pack_short_peer(message.source);
    word.index = 1;
    if (!done_.empty() && done_.back().kind == word.kind && done_.back().value == word.value) {
      ++done_.back().index;
      return;
    }
  } else {
    word.kind = abi::tm_done_kind::fin;
    word.index = message.id;
  }
  done_.push_back(word);
}

void tag_core::source_read(std::uint16_t id) {
  abi::tm_done_word word;
  word.kind = abi::tm_done_kind::sent;
  word.index = id;
  done_.push_back(word);
}

}  // namespace diecast::protocol
