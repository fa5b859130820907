// SPDX-License-Identifier: Apache-2.0
// The one-call send-receive and its pages, and checksums over the buffers of callers.
#include <algorithm>

#include "models/abi/firmware_defects.hpp"
#include "sw/runtime/buffer_check.hpp"
#include "sw/runtime/messaging.hpp"

namespace diecast::sw {

/// With the defect sendrecv_alias both halves have one page, picked by the number of calls before, and
/// nothing orders them: the message is sent before the copy into the page is done, and what comes is copied
/// out of it before it has come. Both find what earlier calls have left.
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

/// None where the firmware uses none, or the heap has no room for them.
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

/// Of a receive whose bytes are in its caller's buffer.
void messaging::compare_check(const operation& o) {
  if (o.what == kind::send || o.check == 0 || o.status.truncated || o.status.cancelled) return;
  message_buffer received = o.buffer;
  received.bytes = o.status.bytes;
  const std::uint32_t found = check_of(received);
  if (found == o.check) return;
  throw end_to_end_mismatch(runtime_.hal().self(), found, o.check, received.bytes, o.name);
}

}  // namespace diecast::sw
