// SPDX-License-Identifier: Apache-2.0
// Bytes of messages: out of the ring, out of the heap, out of the sender's memory.
#include <algorithm>
#include <array>

#include "models/abi/errata.hpp"
#include "sw/runtime/firmware_trap.hpp"
#include "sw/runtime/messaging.hpp"
#include "sw/runtime/tag_driver.hpp"

namespace diecast::sw {

using protocol::tag_op;

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

/// The unit has written the message; for a software rendezvous it has written the request, which must be read
/// before the message overwrites it.
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

/// Reads the message from byte `begin` on, as far as there is room; the last piece sends FIN.
void messaging::read_remote(const remote_bytes& from, std::uint64_t begin, std::uint32_t receive) {
  operation& o = operations_.at(receive);
  o.remote = from;
  o.requested = begin;
  o.end = std::min(from.bytes, o.buffer.bytes);
  if (o.requested >= o.end) return end_reads(receive);
  reading_.push_back(receive);
  read_on();
}

/// A strided message is a read per block: as many are in flight as there are read numbers; the rest follow as
/// these complete.
void messaging::read_on() {
  constexpr std::size_t most_reads = UINT16_MAX / 2;
  while (!reading_.empty() && reads_.size() < most_reads) {
    const std::uint32_t receive = reading_.front();
    operation& o = operations_.at(receive);
    request_piece(o, receive);
    if (o.requested == o.end) reading_.pop_front();
  }
}

void messaging::request_piece(operation& o, std::uint32_t receive) {
  const message_buffer source{0, o.remote.bytes, o.remote.block, o.remote.stride};
  const message_buffer::place to = o.buffer.at(o.requested), out = source.at(o.requested);
  const std::uint64_t bytes = std::min({to.run, out.run, o.end - o.requested, std::uint64_t{1} << 30});
  while (reads_.contains(next_read_)) ++next_read_;
  reads_[next_read_] = receive;
  ++o.pieces;
  driver_.read(next_read_++, o.remote.va + out.offset, runtime_.options().tcm_base + to.offset,
               static_cast<std::uint32_t>(bytes));
  o.requested += bytes;
}

void messaging::piece_read(std::uint16_t id) {
  const std::uint32_t receive = reads_.at(id);
  operation& o = operations_.at(receive);
  reads_.erase(id);
  --o.pieces;
  read_on();
  if (o.pieces == 0 && o.requested == o.end) end_reads(receive);
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

// The one-call send-receive and its pages, and checksums over the buffers of callers.

/// With the defect sendrecv_alias both halves have one page, picked by the number of calls before, and
/// nothing orders them: the message is sent before the copy into the page is done, and the received message
/// is copied out of the page before it has arrived. Both then see the bytes of earlier calls.
message_status messaging::sendrecv(const communicator& c, std::uint32_t to, std::uint32_t send_tag,
                                   const message_buffer& source, std::uint32_t from, std::uint64_t tag,
                                   const message_buffer& destination, send_mode mode) {
  const std::uint64_t bytes = std::max(source.bytes, destination.bytes);
  const auto pages = take_pages(bytes);
  const message_buffer arrives = pages ? message_buffer{pages->in, destination.bytes} : destination;
  const message_request receive = irecv(c, from, tag, arrives);
  if (pages && !pages->alias) gather(source, pages->out);
  const message_buffer leaves = pages ? message_buffer{pages->out, source.bytes} : source;
  const message_request send = post_send(c, to, send_tag, leaves, mode, check_of(source));
  if (pages && pages->alias) {
    const runtime_options& o = runtime_.options();
    if (source.contiguous()) {
      (void)runtime_.driver().start_copy(o.address_of(source.offset), o.address_of(pages->out), source.bytes);
    } else {
      gather(source, pages->out);
    }
    scatter(pages->in, destination, destination.bytes);
  }
  (void)wait(send);
  if (!pages) return wait(receive);
  block_until(
      find(receive).name, [this, receive] { return find(receive).done; },
      [this, receive] { return std::vector{note_of(receive.id, abi::operation_phase::awaited)}; });
  operation& o = find(receive);
  if (!pages->alias) scatter(pages->in, destination, std::min(o.status.bytes, destination.bytes));
  o.buffer = destination;
  const message_status status = wait(receive);
  if (!pages->alias) {
    heap_.give_back(pages->out, bytes);
    heap_.give_back(pages->in, bytes);
    reuse_room();
  }
  return status;
}

bool messaging::has_pages() const {
  const runtime_options& o = runtime_.options();
  if (o.split_sendrecv || o.through_host) return false;
  return o.sendrecv_pages || (runtime_.hal().errata() & abi::defect::sendrecv_alias) != 0;
}

/// Pages for a sendrecv; none where the firmware uses none, or the heap has no room for them.
std::optional<messaging::page_pair> messaging::take_pages(std::uint64_t bytes) {
  if (!has_pages()) return {};
  const std::uint64_t errata = runtime_.hal().errata();
  if ((errata & abi::defect::sendrecv_alias) != 0) {
    runtime_.hal().count(abi::firmware_count::alias_chances, 1);
    if (runtime_.one_call_sends()++ >= abi::defect::after(errata)) {
      const auto page = kept_page(bytes);
      if (!page) return {};
      runtime_.hal().count(abi::firmware_count::aliased, 1);
      return page_pair{*page, *page, true};
    }
  }
  const auto out = heap_.take(bytes);
  if (!out) return {};
  if (const auto in = heap_.take(bytes)) return page_pair{*out, *in, false};
  heap_.give_back(*out, bytes);
  return {};
}

std::optional<std::uint64_t> messaging::kept_page(std::uint64_t bytes) {
  auto& [offset, room] = kept_pages_[runtime_.one_call_sends() % kept_pages_.size()];
  if (room >= bytes && room > 0) return offset;
  if (room > 0) heap_.give_back(offset, room);
  const auto fresh = heap_.take(bytes);
  room = fresh ? tcm_heap::rounded(bytes) : 0;
  offset = fresh.value_or(0);
  return fresh;
}

std::uint32_t messaging::check_of(const message_buffer& b) {
  if (!runtime_.options().end_to_end || b.bytes == 0) return 0;
  buffer_check sum(runtime_.hal());
  for (std::uint64_t at = 0; at < b.bytes;) {
    const message_buffer::place place = b.at(at);
    sum.add(place.offset, place.run);
    at += place.run;
  }
  return sum.value();
}

/// Checks a receive whose bytes are in its caller's buffer against the sender's checksum.
void messaging::compare_check(const operation& o) {
  if (o.what == kind::send || o.check == 0 || o.status.truncated || o.status.cancelled) return;
  message_buffer received = o.buffer;
  received.bytes = o.status.bytes;
  const std::uint32_t found = check_of(received);
  if (found == o.check) return;
  throw end_to_end_mismatch(runtime_.hal().self(), found, o.check, received.bytes, o.name);
}

}  // namespace diecast::sw
