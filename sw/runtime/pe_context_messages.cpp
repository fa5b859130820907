// SPDX-License-Identifier: Apache-2.0
// Messages of at most one slot: send, receive, and waiting for either.
#include <algorithm>
#include <fmt/format.h>

#include "sw/runtime/firmware_trap.hpp"
#include "sw/runtime/pe_context_impl.hpp"

namespace diecast::sw {
namespace {

/// Does what one task at a time may do; the others' turn comes also when it throws.
template <class Work>
std::uint32_t in_turn(bool& taken, Work&& work) {
  struct turn {
    explicit turn(bool& flag) : taken(flag) { taken = true; }
    ~turn() { taken = false; }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    bool& taken;
  };
  const turn mine(taken);
  return work();
}

}  // namespace

/// A receive takes the oldest message, which must not be promised already.
void pe_context::impl::check_not_promised(comm::direction dir) const {
  const auto at = posted.find(dir);
  if (at != posted.end() && !at->second.open.empty()) {
    throw firmware_trap(
        hal.self(), fmt::format("receive on queue pair {} while {} of its recv_async wait for the same "
                                "messages; expected wait() for each of them first",
                                comm::queue_pair_mark(hal.self(), queue_pair(dir)), at->second.open.size()));
  }
}

queue_state& pe_context::impl::receiver(comm::direction dir) {
  check_not_promised(dir);
  return rx(dir);
}

std::uint32_t pe_context::impl::receive(queue_state& q, std::uint64_t offset) {
  driver.wait_message(q);
  const std::uint32_t bytes = driver.message_bytes(q);
  fetch(q.rx_slot(), offset, bytes);
  compare_check(q, offset, bytes);
  driver.release(q);
  return bytes;
}

/// Receives end in the order of the requests. Of several tasks that wait for a direction, one receives; the
/// others look again when it has done so.
std::uint32_t pe_context::impl::wait_receive(const ticket& t) {
  posted_receives& p = posted[t.dir];
  while (!p.done.contains(t.sequence)) {
    const auto next = static_cast<std::uint32_t>(p.asked - p.open.size());
    if (t.sequence < next || p.open.empty()) {
      throw firmware_trap(hal.self(),
                          fmt::format("wait for receive {} of queue pair {} a second time", t.sequence,
                                      comm::queue_pair_mark(hal.self(), queue_pair(t.dir))));
    }
    if (p.receiving) {
      tasks.block([&p] { return !p.receiving; });
      continue;
    }
    const std::uint32_t bytes = in_turn(p.receiving, [&] { return receive(rx(t.dir), p.open.front()); });
    p.open.pop_front();
    p.done.emplace(next, bytes);
  }
  const std::uint32_t bytes = p.done.at(t.sequence);
  p.done.erase(t.sequence);
  return bytes;
}

// --- send -----------------------------------------------------------------------------------------

void pe_context::send(comm::direction dir, std::uint64_t tcm_offset, std::uint32_t bytes) {
  const ticket t = isend(dir, tcm_offset, bytes);
  impl_->driver.wait_source(impl_->tx(dir), t.sequence);
}

ticket pe_context::isend(comm::direction dir, std::uint64_t tcm_offset, std::uint32_t bytes) {
  impl_->charge();
  impl_->runtime.charge_registration();
  queue_state& q = impl_->tx(dir);
  impl_->driver.wait_space(q);
  return {dir, impl_->driver.ring_doorbell(q, tcm_offset, bytes, impl_->check_of(tcm_offset, bytes))};
}

std::uint32_t pe_context::wait(const ticket& t) {
  impl_->charge();
  if (t.receive) return impl_->wait_receive(t);
  impl_->driver.wait_source(impl_->tx(t.dir), t.sequence);
  return 0;
}

// --- receive --------------------------------------------------------------------------------------

ticket pe_context::recv_async(comm::direction dir, std::uint64_t tcm_offset) {
  impl_->charge();
  (void)impl_->rx(dir);
  impl::posted_receives& p = impl_->posted[dir];
  p.open.push_back(tcm_offset);
  return {dir, p.asked++, true};
}

slot_view pe_context::recv(comm::direction dir) {
  impl_->charge();
  queue_state& q = impl_->receiver(dir);
  impl_->driver.wait_message(q);
  return {q.rx_slot(), impl_->driver.message_bytes(q)};
}

void pe_context::release(comm::direction dir) {
  impl_->charge();
  impl_->driver.release(impl_->rx(dir));
}

void pe_context::fetch(const slot_view& slot, std::uint64_t tcm_offset) {
  impl_->fetch(slot.at, tcm_offset, slot.bytes);
}

std::uint32_t pe_context::recv(comm::direction dir, std::uint64_t tcm_offset) {
  impl_->charge();
  return impl_->receive(impl_->receiver(dir), tcm_offset);
}

comm::direction pe_context::recv_any(const std::vector<comm::direction>& dirs) {
  if (dirs.empty()) throw firmware_trap(impl_->hal.self(), "recv_any of no direction would wait forever");
  impl_->charge();
  std::vector<comm::direction> sorted = dirs;
  std::sort(sorted.begin(), sorted.end());
  std::vector<queue_state*> queues;
  for (const auto d : sorted) {
    queues.push_back(&impl_->receiver(d));
    if (impl_->driver.has_message(*queues.back())) return d;
  }
  for (queue_state* const q : queues) impl_->driver.arm(*q, abi::arm_receive);
  const auto first_known = [&queues] {
    return std::find_if(queues.begin(), queues.end(), [](const queue_state* q) { return q->available > 0; });
  };
  impl_->tasks.block([&] { return first_known() != queues.end(); });
  const comm::direction found = sorted[static_cast<std::size_t>(first_known() - queues.begin())];
  for (queue_state* const q : queues) impl_->driver.withdraw(*q, abi::arm_receive);
  return found;
}

}  // namespace diecast::sw
