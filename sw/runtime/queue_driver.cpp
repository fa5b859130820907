// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/queue_driver.hpp"

#include "sw/runtime/firmware_trap.hpp"

namespace diecast::sw {
namespace {

/// Counts run modulo 2^32; the distance between two live ones is far below 2^31.
bool reached(std::uint32_t count, std::uint32_t target) {
  return static_cast<std::int32_t>(count - target) >= 0;
}

}  // namespace

queue_driver::queue_driver(abi::hal& hal, const runtime_options& options, task_scheduler& tasks)
    : hal_(hal), options_(options), tasks_(tasks) {}

std::uint64_t queue_driver::read(const queue_state& q, abi::register_offset field) {
  return hal_.read_register(abi::qp_register(q.dir, field));
}

void queue_driver::write(const queue_state& q, abi::register_offset field, std::uint64_t value) {
  hal_.write_register(abi::qp_register(q.dir, field), value);
}

queue_state& queue_driver::queue(comm::direction dir) {
  if (dir >= queues_.size()) queues_.resize(std::size_t{dir} + 1);
  if (queues_[dir] != nullptr) return *queues_[dir];

  auto fresh = std::make_unique<queue_state>();
  queue_state& q = *fresh;
  q.dir = dir;
  q.control = read(q, abi::qp_control);
  if (q.control == 0) {
    throw firmware_trap(
        hal_.self(),
        "queue pair {} is not installed; the kernel's pattern must have an edge in this direction",
        comm::queue_pair_mark(hal_.self(), dir));
  }
  q.n_slots = static_cast<std::uint32_t>(read(q, abi::qp_n_slots));
  q.slot_bytes = static_cast<std::uint32_t>(read(q, abi::qp_slot_bytes));
  if ((q.control & abi::qp_control_tx_enable) != 0) {
    refresh_tx(q);
    q.sent = q.read;  // finish() of the launch before left no source unread
  }
  if ((q.control & abi::qp_control_rx_enable) != 0) {
    q.space = protocol::sequence_space{q.n_slots};
    q.rx_base = read(q, abi::qp_rx_base);
    q.tail = static_cast<std::uint32_t>(read(q, abi::qp_my_tail));
  }
  queues_[dir] = std::move(fresh);
  return q;
}

queue_state& queue_driver::tx(comm::direction dir) {
  queue_state& q = queue(dir);
  if ((q.control & abi::qp_control_tx_enable) == 0) {
    throw firmware_trap(hal_.self(), dir, abi::engine_error::tx_disabled);
  }
  return q;
}

queue_state& queue_driver::rx(comm::direction dir) {
  queue_state& q = queue(dir);
  if ((q.control & abi::qp_control_rx_enable) == 0) {
    throw firmware_trap(hal_.self(), dir, abi::engine_error::rx_disabled);
  }
  return q;
}

void queue_driver::refresh_tx(queue_state& q) {
  const auto status = abi::status_halves::unpack(read(q, abi::qp_tx_status));
  // With a request armed, the free slots come with its event, which may be queued already: taking
  // them from here as well would let them be used twice.
  if ((q.armed & abi::arm_send_space) == 0) q.free = status.low;
  q.read = status.high;
  forget_sources(q);
}

void queue_driver::forget_sources(queue_state& q) {
  while (!q.sources.empty() && q.source_was_read(q.sources.front().sequence)) q.sources.pop_front();
}

bool queue_driver::has(queue_state& q, const awaited_count& what) {
  if (q.*what.count > 0) return true;
  // While a request is armed its event brings the number; the status register would show the same.
  if ((q.armed & what.arm) != 0) {
    drain();
  } else {
    (this->*what.refresh)(q);
  }
  return q.*what.count > 0;
}

void queue_driver::wait(queue_state& q, const awaited_count& what) {
  while (!has(q, what)) {
    arm(q, what.arm);
    tasks_.block([&q, &what] { return q.*what.count > 0; });
  }
}

std::uint32_t queue_driver::ring_doorbell(queue_state& q, std::uint64_t place, std::uint32_t bytes,
                                          std::uint32_t check) {
  if (check != 0) write(q, abi::qp_tx_check, check);
  write(q, abi::qp_tx_source, options_.address_of(place));
  write(q, abi::qp_tx_doorbell, bytes);
  --q.free;
  ++q.sent;
  if (bytes > 0) q.sources.push_back({q.sent, place, place + bytes});
  return q.sent;
}

void queue_driver::wait_source(queue_state& q, std::uint32_t sequence) {
  if (q.source_was_read(sequence)) return;
  if ((q.armed & abi::arm_source_read) == 0) refresh_tx(q);
  while (!q.source_was_read(sequence)) {
    arm(q, abi::arm_source_read);
    // An event armed for an earlier send may come first and leave this one waiting: arm again.
    tasks_.block(
        [&q, sequence] { return q.source_was_read(sequence) || (q.armed & abi::arm_source_read) == 0; });
  }
}

void queue_driver::wait_sources_in(std::uint64_t offset, std::uint64_t bytes) {
  // While this task waits another may ring a doorbell for the same bytes, on any queue pair: ranges that were
  // free of sources before the wait are checked again.
  bool waited = true;
  while (waited) {
    waited = false;
    for (std::size_t i = 0; i < queues_.size(); ++i) {  // another task may add queues during the wait
      queue_state* q = queues_[i].get();
      if (q == nullptr || q->sources.empty()) continue;
      std::uint32_t last = q->read;
      for (const auto& range : q->sources)
        if (range.begin < offset + bytes && offset < range.end) last = range.sequence;
      if (q->source_was_read(last)) continue;
      wait_source(*q, last);
      waited = true;
    }
  }
}

void queue_driver::refresh_rx(queue_state& q) {
  const auto status = abi::status_halves::unpack(read(q, abi::qp_rx_status));
  q.available = status.low;
  q.oldest_bytes = status.high;
  q.oldest_known = q.available > 0;
}

std::uint32_t queue_driver::message_bytes(queue_state& q) {
  if (!q.oldest_known) refresh_rx(q);
  return q.oldest_bytes;
}

void queue_driver::release(queue_state& q) {
  q.tail = q.space.next(q.tail);
  if (q.available > 0) --q.available;
  q.oldest_known = false;
  write(q, abi::qp_my_tail, q.tail);
}

void queue_driver::arm(queue_state& q, std::uint64_t bit) {
  if ((q.armed & bit) != 0) return;
  q.armed |= bit;
  write(q, abi::qp_arm, bit);
}

void queue_driver::withdraw(queue_state& q, std::uint64_t bit) {
  if ((q.armed & bit) == 0) return;
  q.armed &= ~bit;
  write(q, abi::qp_arm, 0);
  // Its event may be queued already. Left there it would answer the next request of its kind, with an
  // outdated number of messages or slots.
  drain();
  if (q.armed != 0) write(q, abi::qp_arm, q.armed);
}

void queue_driver::sleep(sim_time until) {
  if (until != sim_time::never()) {
    hal_.wait_for_event_until(until);
  } else if (options_.poll) {
    hal_.pause(options_.poll_cycles);
  } else {
    hal_.wait_for_event();
  }
  drain();
}

void queue_driver::drain() {
  abi::ipcq_event_word event;
  do {
    event = abi::ipcq_event_word::unpack(hal_.read_register(abi::ipcq_event));
    dispatch(event);
  } while (event.more);
}

void queue_driver::dispatch(const abi::ipcq_event_word& event) {
  if (event.kind == abi::event_kind::none) return;
  if (event.kind == abi::event_kind::dma_done) {
    dma_armed_.reset();
    if (reached(event.value, dma_done_)) dma_done_ = event.value;
    return;
  }
  if (event.kind == abi::event_kind::tag_match) {
    if (tag_event_) tag_event_();
    return;
  }
  if (event.kind == abi::event_kind::error) {
    throw firmware_trap(hal_.self(), event.qp, static_cast<abi::engine_error>(event.value));
  }
  // An event of a queue pair this launch has not touched was armed by one before; no task waits for it.
  if (event.qp >= queues_.size() || queues_[event.qp] == nullptr) return;
  queue_state& q = *queues_[event.qp];
  // An event whose request was withdrawn too late is out of date.
  switch (event.kind) {
    case abi::event_kind::receive:
      if ((q.armed & abi::arm_receive) != 0) q.available = event.value;
      q.armed &= ~abi::arm_receive;
      break;
    case abi::event_kind::send_space:
      if ((q.armed & abi::arm_send_space) != 0) q.free = event.value;
      q.armed &= ~abi::arm_send_space;
      break;
    case abi::event_kind::source_read:
      if (!q.source_was_read(event.value)) q.read = event.value;
      forget_sources(q);
      q.armed &= ~abi::arm_source_read;
      break;
    default:
      throw firmware_trap(hal_.self(), "IPCQ_EVENT holds unknown kind {}; expected 0 to 6",
                          static_cast<unsigned>(event.kind));
  }
}

void queue_driver::dma_copy(abi::address from, abi::address to, std::uint64_t bytes) {
  wait_copy(start_copy(from, to, bytes));
}

std::uint32_t queue_driver::start_copy(abi::address from, abi::address to, std::uint64_t bytes) {
  if (!dma_known_) {
    const auto status = abi::status_halves::unpack(hal_.read_register(abi::dma_status));
    dma_done_ = status.low;
    dma_started_ = status.high;
    dma_known_ = true;
  }
  hal_.write_register(abi::dma_source, from);
  hal_.write_register(abi::dma_destination, to);
  hal_.write_register(abi::dma_doorbell, bytes);
  return ++dma_started_;
}

void queue_driver::wait_copy(std::uint32_t job) {
  while (!has_copied(job)) {
    arm_copy(job);
    tasks_.block([this, job] { return has_copied(job) || !dma_armed_; });
  }
}

/// The register holds one request. It holds the earliest; a task that waits for a later job arms again when
/// that event has come.
void queue_driver::arm_copy(std::uint32_t job) {
  if (dma_armed_ && reached(job, *dma_armed_)) return;
  dma_armed_ = job;
  hal_.write_register(abi::dma_arm, job);
}

void queue_driver::look_at_copies() {
  if (copies_under_way() == 0) return;
  const auto done = abi::status_halves::unpack(hal_.read_register(abi::dma_status)).low;
  if (reached(done, dma_done_)) dma_done_ = done;
}

bool queue_driver::has_copied(std::uint32_t job) const { return reached(dma_done_, job); }

void queue_driver::wait_sources(comm::direction dir) {
  if (dir >= queues_.size() || queues_[dir] == nullptr) return;
  queue_state& q = *queues_[dir];
  if ((q.control & abi::qp_control_tx_enable) != 0) wait_source(q, q.sent);
}

void queue_driver::finish() {
  for (std::size_t dir = 0; dir < queues_.size(); ++dir) wait_sources(static_cast<comm::direction>(dir));
  drain();
}

}  // namespace diecast::sw
