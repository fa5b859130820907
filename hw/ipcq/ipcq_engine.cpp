// SPDX-License-Identifier: Apache-2.0
#include "hw/ipcq/ipcq_engine.hpp"

#include "models/types/error.hpp"

namespace diecast::hw {
namespace {

constexpr bool is_queue_pair_register(abi::register_offset reg) { return reg >= abi::ipcq_qp_base; }

std::uint16_t queue_pair_of(abi::register_offset reg) {
  return static_cast<std::uint16_t>((reg - abi::ipcq_qp_base) / abi::ipcq_qp_stride);
}

}  // namespace

ipcq_engine::ipcq_engine(sc_core::sc_module_name name, const pe_setup& setup)
    : sc_module(name),
      setup_(setup),
      clock_(clock_domain::from_ghz(setup.config.noc.clock_ghz)),
      core_(setup.self, setup.config.ipcq),
      fingerprint_(this->name()),
      tracked_(setup.config.ipcq.queue_pairs) {}

void ipcq_engine::write_register(abi::register_offset reg, std::uint64_t value) {
  if (protocol::copy_port::owns(reg)) return write_copy_register(reg, value);
  auto effects = core_.write_register(reg, value);
  if (effects.send) {
    const auto& fields = effects.send->fields;
    ++messages_sent_;
    bytes_sent_ += fields.message_bytes;
    ++tracked_[effects.send->qp].so_far.sends;
    tracked_[effects.send->qp].so_far.bytes += fields.message_bytes;
    publish_message(events::message_phase::sent, effects.send->qp, fields.sequence, fields.message_bytes);
    work w;
    w.message = *effects.send;
    later(work_kind::send_message, setup_.config.ipcq.check_cycles, std::move(w));
  }
  if (effects.credit) {
    publish_message(events::message_phase::released, effects.credit->qp, effects.credit->fields.sequence, 0);
    work w;
    w.credit = *effects.credit;
    later(work_kind::send_credit, setup_.config.ipcq.check_cycles, std::move(w));
  }
  if (is_queue_pair_register(reg)) {
    track_waits(queue_pair_of(reg));
    if (effects.credit) track_occupancy(effects.credit->qp);
    if (effects.send || effects.credit) {
      ++moves_;
      publish_state(queue_pair_of(reg));
    }
  }
  note_event();
}

void ipcq_engine::write_copy_register(abi::register_offset reg, std::uint64_t value) {
  const auto effects = copies_.write_register(reg, value);
  if (!effects) throw protocol_error("{}: register {:#x} cannot be written", name(), reg);
  if (effects->start) {
    if (setup_.events.wants(events::transfers))
      setup_.events.publish(events::copy_started{now(), setup_.self, effects->start->bytes});
    dma->start_copy(*effects->start);
  }
  if (effects->event) core_.push_event(*effects->event);
  note_event();
}

std::uint64_t ipcq_engine::read_register(abi::register_offset reg) {
  if (const auto value = copies_.read_register(reg)) return *value;
  const std::uint64_t value = core_.read_register(reg);
  if (reg == abi::ipcq_event && !core_.event_pending()) pending_since_ = sim_time::never();
  note_event();  // a register that does not exist queues an error
  return value;
}

void ipcq_engine::debug_write_register(abi::register_offset reg, std::uint64_t value) {
  core_.debug_write(reg, value);
}

std::uint64_t ipcq_engine::debug_read_register(abi::register_offset reg) {
  if (const auto value = copies_.read_register(reg)) return *value;
  return core_.debug_read(reg);
}

void ipcq_engine::later(work_kind what, std::uint64_t cycles, work w) {
  w.what = what;
  const auto kind = static_cast<unsigned>(what);
  const sim_time at = clock_.edge_at_or_after(now()) + clock_.cycles(cycles);
  work_.put(at, work_key(kind, sequence_[kind]++), std::move(w));
}

void ipcq_engine::source_read(std::uint16_t qp) {
  work w;
  w.value = qp;
  later(work_kind::source_read, 1, std::move(w));
}

void ipcq_engine::message_arrived(const abi::ipcq_fields& token) {
  work w;
  w.fields = token;
  later(work_kind::token, setup_.config.ipcq.match_cycles, std::move(w));
}

void ipcq_engine::credit_arrived(const abi::ipcq_fields& credit) {
  work w;
  w.fields = credit;
  later(work_kind::credit, setup_.config.ipcq.match_cycles, std::move(w));
}

void ipcq_engine::copies_done(std::uint32_t count) {
  work w;
  w.value = count;
  later(work_kind::copies_done, 1, std::move(w));
}

void ipcq_engine::register_written(abi::register_offset reg, std::uint64_t value) {
  if (!is_queue_pair_register(reg)) {
    throw protocol_error("{}: a packet writes register {:#x}; expected one of a queue pair, from {:#x}",
                         name(), reg, abi::ipcq_qp_base);
  }
  work w;
  w.reg = reg;
  w.content = value;
  later(work_kind::register_write, 1, std::move(w));
}

void ipcq_engine::post_event(abi::ipcq_event_word event) {
  work w;
  w.content = event.pack();
  later(work_kind::event, 1, std::move(w));
}

void ipcq_engine::apply(const work& w) {
  ++moves_;
  switch (w.what) {
    case work_kind::source_read: core_.source_read(static_cast<std::uint16_t>(w.value)); break;
    case work_kind::copies_done:
      if (const auto event = copies_.done(w.value)) core_.push_event(*event);
      break;
    case work_kind::register_write: guard_access(name(), [&] { write_register(w.reg, w.content); }); break;
    case work_kind::token: {
      const std::uint16_t qp = core_.token_arrived(w.fields);
      fingerprint_.add(now() - kernel_start_, events::mix(w.fields.match_address, w.fields.sequence));
      publish_message(events::message_phase::visible, qp, w.fields.sequence, w.fields.message_bytes);
      ++tracked_[qp].so_far.received;
      tracked_[qp].so_far.bytes_received += w.fields.message_bytes;
      publish_state(qp);
      track_waits(qp);
      track_occupancy(qp);
      break;
    }
    case work_kind::credit: {
      const std::uint16_t qp = core_.credit_arrived(w.fields);
      fingerprint_.add(now() - kernel_start_,
                       events::mix(w.fields.match_address, ~std::uint64_t{w.fields.sequence}));
      tracked& t = tracked_[qp];
      const std::uint32_t returned = core_.queue_pairs()[qp].space.distance(t.credit, w.fields.sequence);
      if (returned > 1) t.skipped += returned - 1;
      t.credit = w.fields.sequence;
      publish_message(events::message_phase::credited, qp, w.fields.sequence, 0);
      publish_state(qp);
      track_waits(qp);
      break;
    }
    case work_kind::send_message: dma->send_message(w.message); break;
    case work_kind::send_credit: dma->send_credit(w.credit); break;
    case work_kind::event: core_.push_event(abi::ipcq_event_word::unpack(w.content)); break;
  }
  note_event();
}

void ipcq_engine::act() {
  guarded(setup_.faults, name(), [this] {
    work w;
    while (work_.take(w)) apply(w);
  });
}

sim_time ipcq_engine::pending_since() const {
  return core_.event_pending() ? pending_since_ : sim_time::never();
}

void ipcq_engine::note_event() {
  if (!core_.event_pending() || pending_since_ != sim_time::never()) return;
  pending_since_ = now();
  raised_.notify();
}

namespace {

/// Adds the time since `since`, if it is open, up to now.
void count_up(sim_time& total, sim_time since) {
  if (since != sim_time::never()) total += now() - since;
}

void count_level(std::vector<sim_time>& levels, std::uint32_t level, sim_time since) {
  if (levels.size() <= level) levels.resize(level + 1);
  levels[level] += now() - since;
}

}  // namespace

/// A queue pair waits while firmware has the matching request armed.
void ipcq_engine::track_waits(std::uint16_t qp) {
  if (qp >= tracked_.size()) return;
  const std::uint64_t armed = core_.queue_pairs()[qp].armed;
  const auto track = [](bool waiting, sim_time& since, sim_time& total) {
    if (waiting == (since != sim_time::never())) return;
    count_up(total, since);
    since = waiting ? now() : sim_time::never();
  };
  tracked& t = tracked_[qp];
  track((armed & abi::arm_send_space) != 0, t.stalled_since, t.so_far.credit_stall);
  track((armed & abi::arm_receive) != 0, t.empty_since, t.so_far.empty_wait);
}

/// The number of visible messages has changed.
void ipcq_engine::track_occupancy(std::uint16_t qp) {
  tracked& t = tracked_[qp];
  if (ever_started_) count_level(t.so_far.occupancy, t.occupied, t.occupied_since);
  t.occupied = core_.queue_pairs()[qp].available();
  t.occupied_since = now();
}

void ipcq_engine::kernel_started(sim_time at) {
  kernel_start_ = at;
  if (ever_started_) return;
  ever_started_ = true;
  for (tracked& t : tracked_) t.occupied_since = now();
}

ipcq_engine::statistics ipcq_engine::statistics_of(std::uint16_t qp) const {
  const tracked& t = tracked_.at(qp);
  statistics s = t.so_far;
  count_up(s.credit_stall, t.stalled_since);
  count_up(s.empty_wait, t.empty_since);
  if (ever_started_ && core_.queue_pairs()[qp].rx) count_level(s.occupancy, t.occupied, t.occupied_since);
  return s;
}

sim_time ipcq_engine::credit_stall() const {
  sim_time total;
  for (const tracked& t : tracked_) {
    total += t.so_far.credit_stall;
    count_up(total, t.stalled_since);
  }
  return total;
}

sim_time ipcq_engine::empty_wait() const {
  sim_time total;
  for (const tracked& t : tracked_) {
    total += t.so_far.empty_wait;
    count_up(total, t.empty_since);
  }
  return total;
}

void ipcq_engine::visit_flights(
    const std::function<void(bool credit, const abi::ipcq_fields&)>& visit) const {
  work_.visit([&](const work& w) {
    switch (w.what) {
      case work_kind::token: return visit(false, w.fields);
      case work_kind::credit: return visit(true, w.fields);
      case work_kind::send_message: return visit(false, w.message.fields);
      case work_kind::send_credit: return visit(true, w.credit.fields);
      case work_kind::source_read:
      case work_kind::copies_done:
      case work_kind::event:
      case work_kind::register_write: return;
    }
  });
}

void ipcq_engine::publish_state(std::uint16_t qp) {
  if (!setup_.events.wants(events::queue_pairs)) return;
  const auto& s = core_.queue_pairs()[qp];
  setup_.events.publish(events::queue_pair_changed{now(), setup_.self, qp, s.my_head, s.my_tail,
                                                   s.peer_head_cache, s.peer_tail_cache,
                                                   s.tx ? s.free_slots() : 0});
}

void ipcq_engine::publish_message(events::message_phase phase, std::uint16_t qp, std::uint32_t sequence,
                                  std::uint32_t bytes) {
  if (!setup_.events.wants(events::messages)) return;
  setup_.events.publish(
      events::message_event{now(), phase, setup_.self, qp, core_.queue_pairs()[qp].peer, sequence, bytes});
}

}  // namespace diecast::hw
