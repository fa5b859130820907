// SPDX-License-Identifier: Apache-2.0
// Between messaging and the tag-matching unit: completions, commands, sends as credits allow.
#include <algorithm>
#include <stdexcept>

#include "sw/runtime/firmware_trap.hpp"
#include "sw/runtime/messaging.hpp"
#include "sw/runtime/tag_driver.hpp"

namespace diecast::sw {

using outcome = protocol::tag_shadow::decision::kind;
using protocol::tag_completion;
using protocol::tag_op;

/// Processes all completions of the unit, and gives it the commands that have become possible. A completion
/// that contradicts the shadow is a trap.
void messaging::progress() try {
  for (;;) {
    const abi::tm_done_word word = driver_.pop_done();
    if (word.kind == abi::tm_done_kind::none) break;
    on_done(word);
    if (!word.more) break;
  }
  for (;;) {
    const abi::tm_arrival_word word = driver_.pop_arrival();
    if (word.kind == 0) break;
    on_arrival(word);
    if (!word.more) break;
  }
  shadow_.report_unexpected();
  flush_commands();
  use_heap();
  driver_.arm();
} catch (const protocol::tag_contradiction& e) {
  fault_record r{fault_kind::tag_list_contradiction};
  r.text = e.what();
  throw firmware_trap(runtime_.hal().self(), std::move(r));
} catch (const std::logic_error& e) {
  throw firmware_trap(runtime_.hal().self(), e.what());
}

/// Serves requests that wait for room in the heap, and starts the sends that have credits.
void messaging::use_heap() {
  heap_full_ = false;
  relieve_ring();
  for (auto& [peer, queue] : queued_)
    if (!queue.empty()) start_sends(abi::unpack_short_peer(peer));
}

void messaging::flush_commands() {
  while (const auto c = shadow_.take_command()) driver_.command(*c);
}

void messaging::on_done(const abi::tm_done_word& word) {
  switch (word.kind) {
    case abi::tm_done_kind::append:
      (void)shadow_.command_done({tag_completion::kind::append, true, word.index, 0, {}});
      return;
    case abi::tm_done_kind::remove:
      return on_decision(shadow_.command_done({tag_completion::kind::remove, word.ok, word.index, 0, {}}));
    case abi::tm_done_kind::sent:
    case abi::tm_done_kind::fin: {
      const auto at = sends_.find(word.index);
      if (at == sends_.end()) {
        fault_record r{fault_kind::unknown_send};
        r.sequence = word.index;
        throw firmware_trap(runtime_.hal().self(), std::move(r));
      }
      operation& o = operations_.at(at->second);
      (word.kind == abi::tm_done_kind::sent ? o.source_read : o.fin) = true;
      return end_send(word.index);
    }
    case abi::tm_done_kind::credit:
      credits_.try_emplace(word.value, static_cast<std::uint32_t>(installed_.peer_credits)).first->second +=
          word.index;
      return;
    case abi::tm_done_kind::read: return piece_read(word.index);
    case abi::tm_done_kind::none: return;
  }
}

void messaging::on_arrival(const abi::tm_arrival_word& word) {
  tag_completion c;
  c.what = static_cast<tag_completion::kind>(word.kind - 1);
  c.index = word.index;
  c.slot = word.slot;
  if (c.what == tag_completion::kind::consumed) {
    consumed_arrival_[word.index] = ++arrivals_;
    return on_decision(shadow_.arrived(c, 0));
  }
  c.message = driver_.last_message(word);
  switch (c.what) {
    case tag_completion::kind::expected:
    case tag_completion::kind::consumed_msg: {
      const bool at_once = c.what == tag_completion::kind::consumed_msg;
      const std::uint64_t arrival = at_once ? ++arrivals_ : consumed_arrival_.at(word.index);
      const auto d = shadow_.arrived(c, 0);
      operations_.at(d.receive).status = status_of(c.message, arrival);
      operations_.at(d.receive).check = c.message.check;
      return land_in_place(c.message, d.receive);
    }
    case tag_completion::kind::unexpected: {
      const std::uint32_t id = next_message_++;
      stored& m = messages_[id];
      m.header = c.message;
      m.arrival = ++arrivals_;
      ++(c.message.app_ctx == software_rendezvous ? counts_.unexpected_sw_rndv
         : c.message.op == tag_op::rndv           ? counts_.unexpected_rndv
                                                  : counts_.unexpected_eager);
      m.slot = word.slot;
      ++held_[abi::pack_short_peer(abi::unpack_peer(c.message.source))];
      if (c.message.payload_bytes == 0) free_payload(m);
      const auto d = shadow_.arrived(c, id);
      charge_search(d.searched);
      return on_decision(d);
    }
    default:
      throw firmware_trap(runtime_.hal().self(), "TM_ARRIVAL holds kind {}, op {}; expected a tagged message",
                          word.kind, word.op);
  }
}

void messaging::on_decision(const protocol::tag_shadow::decision& d) {
  if (d.what == outcome::hit) return deliver(d.message, d.receive);
  if (d.what != outcome::cancelled) return;
  operations_.at(d.receive).status.cancelled = true;
  end(d.receive, abi::operation_phase::cancelled);
}

/// Messages to one peer leave in the order of their sends, each with a credit.
void messaging::start_sends(pe_coord peer) {
  const std::uint32_t key = abi::pack_short_peer(peer);
  std::uint32_t& credits =
      credits_.try_emplace(key, static_cast<std::uint32_t>(installed_.peer_credits)).first->second;
  auto& queue = queued_[key];
  while (!queue.empty() && credits > 0) {
    operation& o = operations_.at(queue.front());
    if (!start_send(o, queue.front())) {
      heap_full_ = true;
      return;
    }
    note(queue.front(), abi::operation_phase::started);
    --credits;
    sent_messages& sent = sent_.try_emplace(key, sent_messages{0, o.tag}).first->second;
    ++sent.count;
    sent.one_tag = sent.one_tag && sent.first_tag == o.tag;
    queue.pop_front();
  }
}

std::uint16_t messaging::send_id_for(std::uint32_t request) {
  if (sends_.size() > UINT16_MAX / 2) {
    throw firmware_trap(runtime_.hal().self(), "more than 32767 sends are open");
  }
  while (sends_.contains(next_send_)) ++next_send_;
  sends_[next_send_] = request;
  return next_send_++;
}

/// Puts the request of a software rendezvous, or a strided message in one piece, into the heap. False when
/// the heap has no room for it now.
bool messaging::stage(operation& o, bool request) {
  const std::uint64_t bytes = request ? descriptor_bytes : o.buffer.bytes;
  if (tcm_heap::rounded(bytes) > heap_.bytes()) {
    throw firmware_trap(runtime_.hal().self(),
                        "{}, {} bytes: sending it takes {} bytes of the heap, which has {}; expected a "
                        "larger tag_match.heap_kib",
                        o.name, o.buffer.bytes, tcm_heap::rounded(bytes), heap_.bytes());
  }
  o.staging = heap_.take(bytes);
  if (!o.staging) return false;
  o.staging_bytes = bytes;
  if (request) {
    describe_to(*o.staging, o.buffer);
  } else {
    gather(o.buffer, *o.staging);
  }
  return true;
}

/// False when the heap has no room for what it needs now.
bool messaging::start_send(operation& o, std::uint32_t id) {
  const message_buffer& b = o.buffer;
  const bool eager = b.bytes <= block_.eager_bytes && o.mode == send_mode::standard;
  const bool strided = !b.contiguous();
  // The receive of a message that is shorter than the request may be too short for the request: such a
  // message is gathered and sent as one piece.
  const bool software =
      !eager && (b.bytes > block_.rndv_max_bytes || (strided && b.bytes >= descriptor_bytes));
  if ((software || strided) && !stage(o, software)) return false;
  o.staging_until_fin = !eager && !software;
  const std::uint16_t name = send_id_for(id);
  if (runtime_.options().end_to_end) driver_.check(o.check);
  const abi::address source = runtime_.options().tcm_base + o.staging.value_or(b.offset);
  o.awaits_fin = !eager;
  if (eager) {
    ++counts_.sent_eager;
    driver_.send(o.peer, abi::tag_message_op::eager, 0, name, o.tag, source, b.bytes,
                 static_cast<std::uint32_t>(b.bytes));
  } else if (software) {
    ++counts_.sent_sw_rndv;
    driver_.send(o.peer, abi::tag_message_op::eager, software_rendezvous, name, o.tag, source, b.bytes,
                 descriptor_bytes);
  } else {
    ++counts_.sent_rndv;
    driver_.send(o.peer, abi::tag_message_op::rndv, 0, name, o.tag, source, b.bytes,
                 static_cast<std::uint32_t>(std::min(block_.rndv_inline_bytes, b.bytes)));
  }
  return true;
}

void messaging::end_send(std::uint16_t id) {
  operation& o = operations_.at(sends_.at(id));
  if (o.source_read && o.staging && (o.fin || !o.staging_until_fin)) {
    heap_.give_back(*o.staging, o.staging_bytes);
    o.staging.reset();
  }
  if (!o.source_read || o.awaits_fin != o.fin) return;
  const std::uint32_t request = sends_.at(id);
  sends_.erase(id);
  end(request, abi::operation_phase::completed);
}

/// A peer whose credits are all used by messages in this PE's ring cannot send any more: its messages are
/// moved to the heap. A message that does not fit there leaves the room to shorter ones of other peers.
void messaging::relieve_ring() {
  for (auto& [id, m] : messages_) {
    if (!m.slot) continue;
    const std::uint32_t peer = abi::pack_short_peer(abi::unpack_peer(m.header.source));
    if (held_[peer] < installed_.peer_credits) continue;
    const auto room = heap_.take(m.header.payload_bytes);
    if (!room) {
      heap_full_ = true;
      continue;
    }
    copy(*room, payload_offset(m), m.header.payload_bytes);
    driver_.release(*m.slot);
    --held_[peer];
    m.slot.reset();
    m.heap = room;
    ++counts_.copied_out;
  }
}

}  // namespace diecast::sw
