// SPDX-License-Identifier: Apache-2.0
// Sums in f32 (ccl.accumulation): the wide vector, and messages of another type than it.
#include "sw/runtime/pe_context_impl.hpp"

namespace diecast::sw {

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

// --- calls of kernels -----------------------------------------------------------------------------

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
  // The kernel's own scratch, and staging at its end, lie behind.
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
