// SPDX-License-Identifier: Apache-2.0
// The context itself, messages, tasks, and the end of a kernel. Pipelines and single slots are in
// pe_context_stream.cpp and pe_context_slots.cpp.
#include "sw/runtime/pe_context.hpp"

#include <algorithm>

#include "models/types/immovable.hpp"
#include "sw/runtime/firmware_trap.hpp"
#include "sw/runtime/pe_context_impl.hpp"

namespace diecast::sw {

comm::direction pe_context::impl::queue_pair(comm::direction dir) const {
  if (map.empty()) return dir;
  if (dir < map.size() && map[dir] != comm::no_direction) return map[dir];
  throw firmware_trap(hal.self(), "the kernel uses direction {}, in which its pattern has no edge here",
                      comm::direction_name(dir));
}

pe_context::pe_context(abi::hal& hal, const abi::kernel_arguments& arguments, const runtime_options& options)
    : impl_(std::make_unique<impl>(std::make_unique<pe_runtime>(hal, options), arguments)) {}
pe_context::pe_context(pe_runtime& runtime, const abi::kernel_arguments& arguments, direction_map queue_pairs)
    : impl_(std::make_unique<impl>(runtime, arguments, std::move(queue_pairs))) {}
pe_context::pe_context(pe_runtime& runtime, const abi::kernel_arguments& arguments, const kernel_tail* before,
                       kernel_tail& own)
    : pe_context(runtime, arguments, {}) {
  impl_->before = before;
  impl_->tail = &own;
}
pe_context::~pe_context() = default;

void pe_context::impl::wait_for_before() {
  if (before != nullptr && !before->ended()) tasks.block([this] { return before->ended(); });
}
queue_state& pe_context::impl::tx(comm::direction dir) {
  wait_for_before();
  return driver.tx(queue_pair(dir));
}
queue_state& pe_context::impl::rx(comm::direction dir) {
  wait_for_before();
  return driver.rx(queue_pair(dir));
}

const abi::kernel_arguments& pe_context::args() const { return impl_->args; }
abi::hal& pe_context::hal() { return impl_->hal; }
void pe_context::enter(abi::entry_point e) { impl_->runtime.enter(e); }
std::uint32_t pe_context::slot_bytes(comm::direction dir) { return impl_->queue(dir).slot_bytes; }
std::uint32_t pe_context::n_slots(comm::direction dir) { return impl_->queue(dir).n_slots; }

void pe_context::step(std::string_view name, std::uint32_t index) { impl_->hal.mark_step({name, index}); }

void pe_context::run_tasks(const std::vector<std::function<void()>>& tasks) { impl_->tasks.run(tasks); }

void pe_context::sleep_until(sim_time when) { impl_->tasks.sleep_until(when); }

void pe_context::wait_until(const std::function<bool()>& ready) {
  if (ready()) return;
  if (!impl_->tasks.running()) {
    throw firmware_trap(impl_->hal.self(), "wait_until outside run_tasks: no other task can make it true");
  }
  impl_->tasks.block(ready);
}

void pe_context::check_ended() const {
  for (const auto& [dir, receives] : impl_->posted) {
    const std::size_t open = receives.open.size() + receives.done.size();
    if (open == 0) continue;
    throw firmware_trap(
        impl_->hal.self(),
        "the kernel ends with {} recv_async of queue pair {} open; expected a wait() for each", open,
        comm::queue_pair_mark(impl_->hal.self(), impl_->queue_pair(dir)));
  }
  if (impl_->open_left_copies > 0) {
    throw firmware_trap(impl_->hal.self(),
                        "the kernel ends with {} left_copies open, whose slots may not be copied yet or keep "
                        "their credits; expected a finish() for each",
                        impl_->open_left_copies);
  }
}

void pe_context::finish() {
  check_ended();
  if (impl_->map.empty()) return impl_->driver.finish();
  for (const comm::direction queue_pair : impl_->map)
    if (queue_pair != comm::no_direction) impl_->driver.wait_sources(queue_pair);
  impl_->driver.drain();
}

// Messages of at most one slot: send, receive, and waiting for either.

namespace {

/// Runs `work`, which only one task at a time may do. Clears `taken` also when it throws.
template <class Work>
std::uint32_t in_turn(bool& taken, Work&& work) {
  struct turn : private immovable {
    explicit turn(bool& flag) : taken(flag) { taken = true; }
    ~turn() { taken = false; }
    bool& taken;
  };
  const turn mine(taken);
  return work();
}

}  // namespace

/// Traps when a recv_async has reserved the oldest message, which a receive would take.
void pe_context::impl::check_not_promised(comm::direction dir) const {
  const auto at = posted.find(dir);
  if (at != posted.end() && !at->second.open.empty()) {
    throw firmware_trap(hal.self(),
                        "receive on queue pair {} while {} of its recv_async wait for the same messages; "
                        "expected wait() for each of them first",
                        comm::queue_pair_mark(hal.self(), queue_pair(dir)), at->second.open.size());
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
/// others check again afterwards.
std::uint32_t pe_context::impl::wait_receive(const ticket& t) {
  posted_receives& p = posted[t.dir];
  while (!p.done.contains(t.sequence)) {
    const auto next = static_cast<std::uint32_t>(p.requested - p.open.size());
    if (t.sequence < next || p.open.empty()) {
      throw firmware_trap(hal.self(), "wait for receive {} of queue pair {} a second time", t.sequence,
                          comm::queue_pair_mark(hal.self(), queue_pair(t.dir)));
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

ticket pe_context::recv_async(comm::direction dir, std::uint64_t tcm_offset) {
  impl_->charge();
  (void)impl_->rx(dir);
  impl::posted_receives& p = impl_->posted[dir];
  p.open.push_back(tcm_offset);
  return {dir, p.requested++, true};
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
  std::ranges::sort(sorted);
  std::vector<queue_state*> queues;
  for (const auto d : sorted) {
    queues.push_back(&impl_->receiver(d));
    if (impl_->driver.has_message(*queues.back())) return d;
  }
  for (queue_state* const q : queues) impl_->driver.arm(*q, abi::arm_receive);
  const auto first_known = [&queues] {
    return std::ranges::find_if(queues, [](const queue_state* q) { return q->available > 0; });
  };
  impl_->tasks.block([&] { return first_known() != queues.end(); });
  const comm::direction found = sorted[static_cast<std::size_t>(first_known() - queues.begin())];
  for (queue_state* const q : queues) impl_->driver.withdraw(*q, abi::arm_receive);
  return found;
}

// Longer messages, cut into slots: exchange, one-sided forms, relay.

void pe_context::exchange(comm::direction send_dir, const tcm_range& sent, comm::direction recv_dir,
                          const tcm_range& received, arrival how) {
  if (sent.bytes == 0) return recv_all(recv_dir, received, how);
  if (received.bytes == 0) return send_all(send_dir, sent);
  queue_driver& driver = impl_->driver;
  queue_state& out = impl_->tx(send_dir);
  queue_state& in = impl_->receiver(recv_dir);
  slot_cut sending = impl_->cut(out, sent.bytes);
  slot_cut receiving = impl_->cut(in, received.bytes);
  const bool same_region = sent.at == received.at;
  // In place, an arriving slot overwrites a sent one as a whole, also when slots differ in size.
  const auto may_take = [&] {
    return !same_region || !sending.more() || receiving.done + receiving.piece() <= sending.done;
  };
  while (sending.more() || receiving.more()) {
    bool moved = false;
    if (sending.more() && driver.has_space(out)) {
      // Both ends of a swap in place keep the rounded values that they sent, or their sums would differ.
      impl_->charge();
      impl_->put_exchanged(out, sent.at + sending.done, sending.piece(), same_region);
      sending.done += sending.piece();
      moved = true;
    }
    if (receiving.more() && may_take() && driver.has_message(in)) {
      impl_->take(in, received.at + receiving.done, receiving.piece(), how);
      receiving.done += receiving.piece();
      moved = true;
    }
    if (moved) continue;
    // Neither the send nor the receive can continue. Whichever becomes possible first must wake this PE:
    // otherwise a ring of exchanges with one late neighbor would stop.
    if (sending.more()) driver.arm(out, abi::arm_send_space);
    const bool taking = receiving.more() && may_take();
    if (taking) driver.arm(in, abi::arm_receive);
    impl_->tasks.block([&] { return (sending.more() && out.free > 0) || (taking && in.available > 0); });
  }
}

void pe_context::send_all(comm::direction dir, const tcm_range& range) { send_all(std::vector{dir}, range); }

void pe_context::send_all(const std::vector<comm::direction>& dirs, const tcm_range& range,
                          const std::function<void(comm::direction)>& before) {
  if (dirs.empty() || range.bytes == 0) return;
  slot_cut sending = impl_->cut(impl_->tx(dirs.front()), range.bytes);
  for (; sending.more(); sending.done += sending.piece()) {
    for (const auto dir : dirs) {
      if (before) before(dir);
      queue_state& q = impl_->tx(dir);
      impl_->driver.wait_space(q);
      impl_->put(q, range.at + sending.done, sending.piece());
    }
  }
}

void pe_context::recv_all(comm::direction dir, const tcm_range& range, arrival how) {
  if (range.bytes == 0) return;
  queue_state& q = impl_->receiver(dir);
  for (slot_cut receiving = impl_->cut(q, range.bytes); receiving.more();
       receiving.done += receiving.piece()) {
    impl_->driver.wait_message(q);
    impl_->take(q, range.at + receiving.done, receiving.piece(), how);
  }
}

void pe_context::reduce_all(const std::vector<comm::direction>& dirs, const tcm_range& range,
                            const std::function<void(comm::direction)>& before) {
  if (dirs.empty() || range.bytes == 0) return;
  slot_cut receiving = impl_->cut(impl_->rx(dirs.front()), range.bytes);
  for (; receiving.more(); receiving.done += receiving.piece()) {
    for (const auto dir : dirs) {
      if (before) before(dir);
      queue_state& q = impl_->receiver(dir);
      impl_->driver.wait_message(q);
      impl_->take(q, range.at + receiving.done, receiving.piece(), arrival::reduce);
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
