// SPDX-License-Identifier: Apache-2.0
// Bytes of messages: out of the ring, out of the heap, out of the sender's memory.
#include <algorithm>
#include <array>

#include "sw/runtime/message_layout.hpp"
#include "sw/runtime/messaging.hpp"

namespace diecast::sw {

using protocol::tag_op;

// --- matched by firmware --------------------------------------------------------------------------

void messaging::deliver(std::uint32_t message, std::uint32_t receive) {
  stored m = messages_.at(message);
  messages_.erase(message);
  operation& o = operations_.at(receive);
  o.status = status_of(m.header, m.arrival);
  o.check = m.header.check;
  o.status.truncated = m.header.length > o.buffer.bytes;
  matched(receive, abi::unpack_peer(m.header.source));
  o.rkey = static_cast<std::uint16_t>(m.header.rkey);
  if (m.header.app_ctx == software_rendezvous) {
    const remote_bytes from = described_at(payload_offset(m));
    free_payload(m);
    return read_remote(from, 0, receive);
  }
  const std::uint64_t here = std::min<std::uint64_t>(m.header.payload_bytes, o.buffer.bytes);
  if (here > 0) scatter(payload_offset(m), o.buffer, here);
  free_payload(m);
  if (m.header.op == tag_op::rndv) return read_remote({m.header.va, m.header.length, 0, 0}, here, receive);
  complete_receive(receive);
}

// --- matched by the unit --------------------------------------------------------------------------

/// What the unit wrote is the message, but for a software rendezvous: then it is the request, which has to
/// be read before the message overwrites it.
void messaging::land_in_place(const protocol::tag_message& m, std::uint32_t receive) {
  operation& o = operations_.at(receive);
  o.status.truncated = m.length > o.buffer.bytes;
  matched(receive, abi::unpack_peer(m.source));
  if (m.app_ctx != software_rendezvous) return complete_receive(receive);
  o.rkey = static_cast<std::uint16_t>(m.rkey);
  // A buffer shorter than the request has lost its address; the message would not have fitted either.
  const remote_bytes from =
      o.buffer.bytes < descriptor_bytes ? remote_bytes{} : described_at(o.buffer.offset);
  read_remote(from, 0, receive);
}

void messaging::matched(std::uint32_t receive, pe_coord source) {
  operation& o = operations_.at(receive);
  o.peer = source;
  o.peer_known = true;
  o.matched = true;
  note(receive, abi::operation_phase::started);
}

void messaging::complete_receive(std::uint32_t receive) { end(receive, abi::operation_phase::completed); }

// --- reads from the sender ------------------------------------------------------------------------

/// Reads the message from byte `begin` on, as far as there is room; the last piece sends FIN.
void messaging::read_remote(const remote_bytes& from, std::uint64_t begin, std::uint32_t receive) {
  operation& o = operations_.at(receive);
  o.remote = from;
  o.asked = begin;
  o.end = std::min(from.bytes, o.buffer.bytes);
  if (o.asked >= o.end) return end_reads(receive);
  reading_.push_back(receive);
  read_on();
}

/// A strided message is a read per block: as many are under way as there are names for, the rest follow as
/// these come back.
void messaging::read_on() {
  constexpr std::size_t most_reads = UINT16_MAX / 2;
  while (!reading_.empty() && reads_.size() < most_reads) {
    const std::uint32_t receive = reading_.front();
    operation& o = operations_.at(receive);
    ask_piece(o, receive);
    if (o.asked == o.end) reading_.pop_front();
  }
}

void messaging::ask_piece(operation& o, std::uint32_t receive) {
  const message_buffer source{0, o.remote.bytes, o.remote.block, o.remote.stride};
  const message_buffer::place to = o.buffer.at(o.asked), out = source.at(o.asked);
  const std::uint64_t bytes = std::min({to.run, out.run, o.end - o.asked, std::uint64_t{1} << 30});
  while (reads_.contains(next_read_)) ++next_read_;
  reads_[next_read_] = receive;
  ++o.pieces;
  driver_.read(next_read_++, o.remote.va + out.offset, runtime_.options().tcm_base + to.offset,
               static_cast<std::uint32_t>(bytes));
  o.asked += bytes;
}

void messaging::piece_read(std::uint16_t id) {
  const std::uint32_t receive = reads_.at(id);
  operation& o = operations_.at(receive);
  reads_.erase(id);
  --o.pieces;
  read_on();
  if (o.pieces == 0 && o.asked == o.end) end_reads(receive);
}

void messaging::end_reads(std::uint32_t receive) {
  const operation& o = operations_.at(receive);
  driver_.send(o.peer, abi::tag_message_op::fin, 0, o.rkey, 0, 0, 0, 0);
  complete_receive(receive);
}

messaging::remote_bytes messaging::described_at(std::uint64_t offset) {
  std::array<std::uint64_t, 4> words{};
  runtime_.hal().load(offset, std::as_writable_bytes(std::span{words}));
  return {words[0], words[1], words[2], words[3]};
}

void messaging::describe_to(std::uint64_t offset, const message_buffer& b) {
  const bool whole = b.contiguous();
  const std::array<std::uint64_t, 4> words{runtime_.options().tcm_base + b.offset, b.bytes,
                                           whole ? 0 : b.block, whole ? 0 : b.stride};
  runtime_.hal().store(offset, std::as_bytes(std::span{words}));
}

// --- copies within the TCM ------------------------------------------------------------------------

void messaging::copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) {
  constexpr std::uint64_t element = 4;
  const std::uint64_t count = bytes / element;
  abi::hal& hal = runtime_.hal();
  if (count > 0) hal.vector({abi::vector_op::copy, numeric::dtype::i32, destination, source, source, count});
  const std::uint64_t rest = bytes - count * element;
  if (rest == 0) return;
  std::array<std::byte, element> word{};
  hal.load(source + bytes - rest, std::span{word}.first(rest));
  hal.store(destination + bytes - rest, std::span{word}.first(rest));
}

void messaging::scatter(std::uint64_t source, const message_buffer& to, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes;) {
    const message_buffer::place place = to.at(at);
    const std::uint64_t run = std::min(place.run, bytes - at);
    copy(place.offset, source + at, run);
    at += run;
  }
}

void messaging::gather(const message_buffer& from, std::uint64_t destination) {
  for (std::uint64_t at = 0; at < from.bytes;) {
    const message_buffer::place place = from.at(at);
    copy(destination + at, place.offset, place.run);
    at += place.run;
  }
}

std::uint64_t messaging::payload_offset(const stored& m) const {
  if (m.heap) return *m.heap;
  return installed_.ring_base - runtime_.options().tcm_base +
         std::uint64_t{m.slot.value_or(0)} * installed_.slot_bytes;
}

void messaging::free_payload(stored& m) {
  if (m.slot) {
    driver_.release(*m.slot);
    --held_[abi::pack_short_peer(abi::unpack_peer(m.header.source))];
    m.slot.reset();
  }
  if (m.heap) heap_.give_back(*m.heap, m.header.payload_bytes);
  m.heap.reset();
}

}  // namespace diecast::sw
