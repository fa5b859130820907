// SPDX-License-Identifier: Apache-2.0
// Slots of longer messages: cutting, sending, receiving; local work; sums in f32.
#include <array>
#include <fmt/format.h>
#include <span>

#include "models/abi/address.hpp"
#include "models/abi/errata.hpp"
#include "sw/runtime/firmware_trap.hpp"
#include "sw/runtime/pe_context_impl.hpp"

namespace diecast::sw {

slot_cut pe_context::impl::cut(const queue_state& q, std::uint64_t bytes) const {
  const std::uint64_t payload = q.slot_bytes / numeric::size_of(wire()) * element();
  if (payload == 0 || bytes % element() != 0) {
    throw firmware_trap(
        hal.self(),
        "{} bytes over queue pair {} with slots of {} bytes; expected a multiple of the {}-byte element",
        bytes, comm::queue_pair_mark(hal.self(), q.dir), q.slot_bytes, element());
  }
  return {bytes, payload};
}

// One page stages the sent, another the received message. The defect sendrecv_alias uses one page for both,
// chosen by the number of earlier sends, without an order: the send's doorbell is rung before the copy into
// the page is done, so the DMA reads the contents of earlier sends and receives.

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
  throw firmware_trap(hal.self(), "message of {} bytes on queue pair {}; the kernel expected {}",
                      q.oldest_bytes, comm::queue_pair_mark(hal.self(), q.dir), on_wire(bytes));
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

// Local work: copies and reductions by the vector unit, copies by the DMA where a slot is outside TCM.

bool pe_context::impl::is_local(abi::address at) const {
  return at >= options.tcm_base && at - options.tcm_base <= abi::max_offset;
}

void pe_context::impl::vector_copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) {
  driver.wait_sources_in(destination, bytes);
  const std::uint64_t count = bytes / element();
  if (count > 0) hal.vector({abi::vector_op::copy, args.type, destination, source, source, count});
  const std::uint64_t rest = bytes - count * element();
  if (rest == 0) return;
  std::array<std::byte, 8> word{};
  hal.load(source + bytes - rest, std::span{word}.first(rest));
  hal.store(destination + bytes - rest, std::span{word}.first(rest));
}

void pe_context::impl::vector_reduce(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) {
  driver.wait_sources_in(destination, bytes);
  if (bytes == 0) return;
  hal.vector({abi::vector_op_of(args.op), args.type, destination, destination, source, bytes / element()});
}

void pe_context::impl::fetch(abi::address slot, std::uint64_t destination, std::uint32_t bytes) {
  const abi::address to = options.address_of(destination);
  if (is_local(slot) && is_local(to)) return vector_copy(destination, slot - options.tcm_base, bytes);
  driver.wait_sources_in(destination, bytes);
  if (bytes > 0) driver.dma_copy(slot, to, bytes);
}

void pe_context::impl::in_staging(const queue_state& q, std::uint32_t message_bytes,
                                  const std::function<void(std::uint64_t)>& use) {
  if (args.scratch_bytes < q.slot_bytes) {
    throw firmware_trap(
        hal.self(),
        "scratch of {} bytes cannot stage a slot of {} bytes of queue pair {}, whose ring is outside TCM",
        args.scratch_bytes, q.slot_bytes, comm::direction_name(q.dir));
  }
  while (staging_busy) tasks.block([this] { return !staging_busy; });
  staging_busy = true;
  const std::uint64_t staging = args.scratch + args.scratch_bytes - q.slot_bytes;
  driver.wait_sources_in(staging, message_bytes);
  if (message_bytes > 0) driver.dma_copy(q.rx_slot(), options.tcm_base + staging, message_bytes);
  use(staging);
  staging_busy = false;
}

void pe_context::impl::fetch_and_reduce(const queue_state& q, std::uint64_t destination,
                                        std::uint32_t bytes) {
  in_staging(q, bytes, [&](std::uint64_t staging) {
    compare_check(q, staging, bytes);
    vector_reduce(destination, staging, bytes);
  });
}

void pe_context::reduce(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) {
  impl_->vector_reduce(destination, source, bytes);
}

void pe_context::copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) {
  impl_->vector_copy(destination, source, bytes);
}

void pe_context::finish_average(const tcm_range& range) {
  const abi::kernel_arguments& a = impl_->args;
  if (a.op != numeric::reduction::avg || range.bytes == 0) return;
  impl_->driver.wait_sources_in(range.at, range.bytes);
  impl_->hal.vector({abi::vector_op::divide_by, a.type, range.at, range.at, range.at,
                     range.bytes / impl_->element(), a.ranks});
}

// Sums in f32 (ccl.accumulation): the f32 vector, and messages of a narrower type.

void pe_context::impl::put_rounded(queue_state& q, std::uint64_t offset, std::uint32_t bytes, bool keep) {
  const std::uint64_t box = outbox_at + next_outbox++ % outboxes * q.slot_bytes;
  const std::uint64_t count = bytes / element();
  driver.wait_sources_in(box, on_wire(bytes));
  hal.vector({abi::vector_op::copy, wire(), box, offset, offset, count, 1, args.type});
  if (keep) hal.vector({abi::vector_op::copy, args.type, offset, box, box, count, 1, wire()});
  driver.ring_doorbell(q, box, on_wire(bytes), check_of(box, on_wire(bytes)));
}

void pe_context::impl::widen_slot(const queue_state& q, std::uint64_t offset, std::uint32_t bytes,
                                  arrival how) {
  const auto from = [&](std::uint64_t source) {
    const abi::vector_op op = how == arrival::copy ? abi::vector_op::copy : abi::vector_op_of(args.op);
    driver.wait_sources_in(offset, bytes);
    compare_check(q, source, on_wire(bytes));
    hal.vector({op, args.type, offset, how == arrival::copy ? source : offset, source, bytes / element(), 1,
                wire()});
  };
  if (is_local(q.rx_slot())) return from(q.rx_slot() - options.tcm_base);
  in_staging(q, on_wire(bytes), from);
}

void pe_context::widen() {
  impl& i = *impl_;
  i.narrow_args = i.args;
  const abi::kernel_arguments& before = i.narrow_args;
  const std::uint64_t wide = before.scratch;
  const bool acc = i.options.accumulate == config::accumulation::f32_acc;
  i.outbox_at = wide + wide_vector_bytes(before.count);
  i.args.type = numeric::dtype::f32;
  i.args.input = i.args.output = wide;
  if (acc) i.wire_type = before.type;
  // The kernel's own scratch, with staging at its end, follows.
  const std::uint64_t used = wide_vector_bytes(before.count) + (acc ? outboxes * i.options.slot_bytes : 0);
  i.args.scratch += used;
  i.args.scratch_bytes -= used;
  if (before.count == 0) return;
  i.hal.vector({abi::vector_op::copy, numeric::dtype::f32, wide, before.input, before.input, before.count, 1,
                before.type});
}

void pe_context::narrow() {
  impl& i = *impl_;
  const std::uint64_t wide = i.args.output;
  i.args = i.narrow_args;
  i.wire_type.reset();
  if (i.args.count == 0) return;
  i.driver.wait_sources_in(i.args.output, i.args.count * i.element());
  i.hal.vector(
      {abi::vector_op::copy, i.args.type, i.args.output, wide, wide, i.args.count, 1, numeric::dtype::f32});
}

std::uint64_t pe_context::message_elements(comm::direction dir) {
  return slot_bytes(dir) / numeric::size_of(impl_->wire());
}

}  // namespace diecast::sw
