// SPDX-License-Identifier: Apache-2.0
// One slot of a longer message: cut, put into the queue pair, taken out of it.
#include <fmt/format.h>

#include "models/abi/alignment.hpp"
#include "models/abi/firmware_defects.hpp"
#include "sw/runtime/buffer_check.hpp"
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

// --- the one-call send-receive ------------------------------------------------------------------------
// Pages of its own hold what is sent and received meanwhile, one for each half. The defect sendrecv_alias
// takes one page for both, by the number of sends before, and orders nothing: the send's doorbell rings
// before the copy into the page is done, so the DMA finds there what earlier sends and receives have left.

bool pe_context::impl::uses_pages() const {
  if (options.split_sendrecv || options.through_host || wire() != args.type) return false;
  return options.sendrecv_pages || (errata & abi::defect::sendrecv_alias) != 0;
}

std::uint64_t pe_context::impl::page(unsigned half) const {
  const std::uint64_t bytes = abi::aligned(options.slot_bytes);
  const std::uint64_t end = args.scratch + args.scratch_bytes - abi::aligned(options.staging_bytes);
  return end - (2 - (pages_alias ? runtime.one_call_sends() % 2 : half)) * bytes;
}

void pe_context::impl::put_exchanged(queue_state& q, std::uint64_t offset, std::uint32_t bytes, bool keep) {
  if (options.split_sendrecv) {  // isend, irecv and waitall: each of the three is a call
    charge();
    charge();
  }
  if (!uses_pages() || offset > abi::max_offset || bytes == 0) return put_uncharged(q, offset, bytes, keep);
  runtime.charge_registration();
  const bool defective = (errata & abi::defect::sendrecv_alias) != 0;
  pages_alias = defective && runtime.one_call_sends()++ >= abi::defect::after(errata);
  if (defective) hal.count(abi::firmware_count::alias_chances, 1);
  const std::uint32_t check = check_of(offset, bytes);
  const abi::address from = options.address_of(offset), to = options.address_of(page(0));
  if (pages_alias) {
    hal.count(abi::firmware_count::aliased, 1);
    driver.ring_doorbell(q, page(0), bytes, check);
    (void)driver.start_copy(from, to, bytes);
    return;
  }
  driver.wait_sources_in(page(0), bytes);
  driver.dma_copy(from, to, bytes);
  driver.ring_doorbell(q, page(0), bytes, check);
}

void pe_context::impl::fetch_through_page(queue_state& q, std::uint64_t offset, std::uint32_t bytes) {
  const std::uint64_t through = page(1);
  if (!pages_alias) driver.wait_sources_in(through, bytes);
  driver.dma_copy(q.rx_slot(), options.address_of(through), bytes);
  fetch(options.address_of(through), offset, bytes);
}

// --- checksums over buffers ---------------------------------------------------------------------------

std::uint32_t pe_context::impl::check_of(std::uint64_t offset, std::uint64_t bytes) {
  if (!options.end_to_end || offset > abi::max_offset || bytes == 0) return 0;
  buffer_check sum(hal);
  sum.add(offset, bytes);
  return sum.value();
}

void pe_context::impl::compare_check(const queue_state& q, std::uint64_t offset, std::uint64_t bytes) {
  const std::uint32_t found = check_of(offset, bytes);
  if (found == 0) return;
  const std::uint32_t sent = driver.message_check(q);
  if (sent == 0 || sent == found) return;  // 0: it lay outside the sender's TCM
  throw end_to_end_mismatch(
      hal.self(), found, sent, bytes,
      fmt::format("message {} on queue pair {}", q.tail, comm::queue_pair_mark(hal.self(), q.dir)));
}

void pe_context::impl::put(queue_state& q, std::uint64_t offset, std::uint32_t bytes, bool keep) {
  charge();
  put_uncharged(q, offset, bytes, keep);
}

void pe_context::impl::put_uncharged(queue_state& q, std::uint64_t offset, std::uint32_t bytes, bool keep) {
  runtime.charge_registration();
  if (wire() != args.type) return put_rounded(q, offset, bytes, keep);
  driver.ring_doorbell(q, offset, bytes, check_of(offset, bytes));
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
  check_length(q, bytes);
  if (wire() != args.type) {
    widen_slot(q, offset, bytes, how);
  } else if (how == arrival::copy) {
    uses_pages() && offset <= abi::max_offset&& bytes > 0 ? fetch_through_page(q, offset, bytes)
                                                          : fetch(q.rx_slot(), offset, bytes);
    compare_check(q, offset, bytes);
  } else if (is_local(q.rx_slot())) {
    compare_check(q, q.rx_slot() - options.tcm_base, bytes);
    vector_reduce(offset, q.rx_slot() - options.tcm_base, bytes);
  } else {
    fetch_and_reduce(q, offset, bytes);
  }
}

}  // namespace diecast::sw
