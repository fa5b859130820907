// SPDX-License-Identifier: Apache-2.0
// One slot of a longer message: cut, put into the queue pair, taken out of it.
#include <fmt/format.h>
#include <utility>

#include "models/abi/firmware_defects.hpp"
#include "sw/runtime/firmware_trap.hpp"
#include "sw/runtime/pe_context_impl.hpp"

namespace diecast::sw {

slot_cut pe_context::impl::cut(const queue_state& q, std::uint64_t bytes) const {
  const std::uint64_t payload = q.slot_bytes / numeric::size_of(wire()) * element();
  if (payload == 0 || bytes % element() != 0) {
    throw firmware_trap(
        hal.self(), fmt::format("{} bytes over queue pair {} with slots of {} bytes; expected a "
                                "multiple of the {}-byte element",
                                bytes, comm::queue_pair_mark(hal.self(), q.dir), q.slot_bytes, element()));
  }
  return {bytes, payload};
}

/// Where the send half of an exchange reads its next piece. As isend, irecv and waitall each of the three is
/// a call; as one call, the sources of earlier sends are history the call keeps.
std::uint64_t pe_context::impl::exchange_source(std::uint64_t offset) {
  if (options.split_sendrecv) {
    charge();
    charge();
    return offset;
  }
  const std::uint64_t earlier = std::exchange(last_source, offset);
  const bool first = one_call_sends++ <= abi::defect::after(errata);
  if ((errata & abi::defect::sendrecv_alias) == 0) return offset;
  hal.count(abi::firmware_count::alias_chances, 1);
  if (first) return offset;
  hal.count(abi::firmware_count::aliased, 1);
  return earlier;
}

void pe_context::impl::put(queue_state& q, std::uint64_t offset, std::uint32_t bytes, bool keep) {
  charge();
  put_uncharged(q, offset, bytes, keep);
}

void pe_context::impl::put_uncharged(queue_state& q, std::uint64_t offset, std::uint32_t bytes, bool keep) {
  calls.call(entry_point::send);
  if (wire() != args.type) return put_rounded(q, offset, bytes, keep);
  driver.ring_doorbell(q, offset, bytes);
}

void pe_context::impl::take(queue_state& q, std::uint64_t offset, std::uint32_t bytes, arrival how) {
  charge();
  take_uncharged(q, offset, bytes, how);
}

void pe_context::impl::check_length(const queue_state& q, std::uint32_t bytes) {
  if (!q.oldest_known || q.oldest_bytes == on_wire(bytes)) return;
  throw firmware_trap(
      hal.self(), fmt::format("message of {} bytes on queue pair {}; the kernel expected {}", q.oldest_bytes,
                              comm::queue_pair_mark(hal.self(), q.dir), on_wire(bytes)));
}

void pe_context::impl::take_uncharged(queue_state& q, std::uint64_t offset, std::uint32_t bytes,
                                      arrival how) {
  take_out(q, offset, bytes, how);
  driver.release(q);
}

void pe_context::impl::take_out(queue_state& q, std::uint64_t offset, std::uint32_t bytes, arrival how) {
  calls.call(entry_point::receive);
  check_length(q, bytes);
  if (wire() != args.type) {
    widen_slot(q, offset, bytes, how);
  } else if (how == arrival::copy) {
    fetch(q.rx_slot(), offset, bytes);
  } else if (is_local(q.rx_slot())) {
    vector_reduce(offset, q.rx_slot() - options.tcm_base, bytes);
  } else {
    fetch_and_reduce(q, offset, bytes);
  }
}

}  // namespace diecast::sw
