// SPDX-License-Identifier: Apache-2.0
// Longer messages, cut into slots: exchange, one-sided forms, relay.
#include <vector>

#include "sw/runtime/pe_context_impl.hpp"

namespace diecast::sw {

void pe_context::exchange(comm::direction send_dir, std::uint64_t send_offset, std::uint64_t send_bytes,
                          comm::direction recv_dir, std::uint64_t recv_offset, std::uint64_t recv_bytes,
                          arrival how) {
  if (send_bytes == 0) return recv_all(recv_dir, recv_offset, recv_bytes, how);
  if (recv_bytes == 0) return send_all(send_dir, send_offset, send_bytes);
  queue_driver& driver = impl_->driver;
  queue_state& out = impl_->tx(send_dir);
  queue_state& in = impl_->receiver(recv_dir);
  slot_cut sending = impl_->cut(out, send_bytes);
  slot_cut receiving = impl_->cut(in, recv_bytes);
  const bool same_region = send_offset == recv_offset;
  // In place, what arrives overwrites what was sent: a whole slot of it, also when slots differ in size.
  const auto may_take = [&] {
    return !same_region || !sending.more() || receiving.done + receiving.piece() <= sending.done;
  };
  while (sending.more() || receiving.more()) {
    bool moved = false;
    if (sending.more() && driver.has_space(out)) {
      // Both ends of a swap in place keep what they sent, or they would end with other sums.
      impl_->charge();
      impl_->put_exchanged(out, send_offset + sending.done, sending.piece(), same_region);
      sending.done += sending.piece();
      moved = true;
    }
    if (receiving.more() && may_take() && driver.has_message(in)) {
      impl_->take(in, recv_offset + receiving.done, receiving.piece(), how);
      receiving.done += receiving.piece();
      moved = true;
    }
    if (moved) continue;
    // Neither can go on: whichever becomes possible first must wake this PE, or a ring of exchanges
    // in which one neighbor is late on one side would stand still.
    if (sending.more()) driver.arm(out, abi::arm_send_space);
    const bool taking = receiving.more() && may_take();
    if (taking) driver.arm(in, abi::arm_receive);
    impl_->tasks.block([&] { return (sending.more() && out.free > 0) || (taking && in.available > 0); });
  }
}

void pe_context::send_all(comm::direction dir, std::uint64_t offset, std::uint64_t bytes) {
  send_all(std::vector{dir}, offset, bytes);
}

void pe_context::send_all(const std::vector<comm::direction>& dirs, std::uint64_t offset, std::uint64_t bytes,
                          const std::function<void(comm::direction)>& before) {
  if (dirs.empty() || bytes == 0) return;
  slot_cut sending = impl_->cut(impl_->tx(dirs.front()), bytes);
  for (; sending.more(); sending.done += sending.piece()) {
    for (const auto dir : dirs) {
      if (before) before(dir);
      queue_state& q = impl_->tx(dir);
      impl_->driver.wait_space(q);
      impl_->put(q, offset + sending.done, sending.piece());
    }
  }
}

void pe_context::recv_all(comm::direction dir, std::uint64_t offset, std::uint64_t bytes, arrival how) {
  if (bytes == 0) return;
  queue_state& q = impl_->receiver(dir);
  for (slot_cut receiving = impl_->cut(q, bytes); receiving.more(); receiving.done += receiving.piece()) {
    impl_->driver.wait_message(q);
    impl_->take(q, offset + receiving.done, receiving.piece(), how);
  }
}

void pe_context::reduce_all(const std::vector<comm::direction>& dirs, std::uint64_t offset,
                            std::uint64_t bytes, const std::function<void(comm::direction)>& before) {
  if (dirs.empty() || bytes == 0) return;
  slot_cut receiving = impl_->cut(impl_->rx(dirs.front()), bytes);
  for (; receiving.more(); receiving.done += receiving.piece()) {
    for (const auto dir : dirs) {
      if (before) before(dir);
      queue_state& q = impl_->receiver(dir);
      impl_->driver.wait_message(q);
      impl_->take(q, offset + receiving.done, receiving.piece(), arrival::reduce);
    }
  }
}

void pe_context::relay(const std::vector<comm::direction>& in, const std::vector<comm::direction>& out,
                       const tcm_range& range, arrival how) {
  if (range.bytes == 0 || (in.empty() && out.empty())) return;
  queue_driver& driver = impl_->driver;
  slot_cut cut = impl_->cut(in.empty() ? impl_->tx(out.front()) : impl_->rx(in.front()), range.bytes);
  for (; cut.more(); cut.done += cut.piece()) {
    impl_->charge();
    for (const auto dir : in) {
      queue_state& q = impl_->receiver(dir);
      driver.wait_message(q);
      impl_->take_uncharged(q, range.at + cut.done, cut.piece(), how);
    }
    for (const auto dir : out) {
      queue_state& q = impl_->tx(dir);
      driver.wait_space(q);
      impl_->put_uncharged(q, range.at + cut.done, cut.piece());
    }
  }
}

}  // namespace diecast::sw
