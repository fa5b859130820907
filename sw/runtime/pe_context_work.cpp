// SPDX-License-Identifier: Apache-2.0
// Local work: copies and reductions by the vector unit, copies by the DMA where a slot is outside TCM.
#include <array>
#include <fmt/format.h>
#include <span>

#include "sw/runtime/firmware_trap.hpp"
#include "sw/runtime/pe_context_impl.hpp"

namespace diecast::sw {

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
    throw firmware_trap(hal.self(),
                        fmt::format("scratch of {} bytes cannot stage a slot of {} bytes of queue "
                                    "pair {}, whose ring is outside TCM",
                                    args.scratch_bytes, q.slot_bytes, comm::direction_name(q.dir)));
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

// --- calls of kernels -----------------------------------------------------------------------------

void pe_context::reduce(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) {
  impl_->vector_reduce(destination, source, bytes);
}

void pe_context::copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) {
  impl_->vector_copy(destination, source, bytes);
}

void pe_context::finish_average(std::uint64_t destination, std::uint64_t bytes) {
  const abi::kernel_arguments& a = impl_->args;
  if (a.op != numeric::reduction::avg || bytes == 0) return;
  impl_->driver.wait_sources_in(destination, bytes);
  impl_->hal.vector({abi::vector_op::divide_by, a.type, destination, destination, destination,
                     bytes / impl_->element(), a.ranks});
}

}  // namespace diecast::sw
