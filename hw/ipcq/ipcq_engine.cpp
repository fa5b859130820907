// SPDX-License-Identifier: Apache-2.0
#include "hw/ipcq/ipcq_engine.hpp"

namespace diecast::hw {
namespace {

std::unique_ptr<protocol::match_policy> make_policy(config::match_policy which) {
  return which == config::match_policy::sender ? protocol::match_by_sender() : protocol::match_by_address();
}

constexpr bool is_queue_pair_register(abi::register_offset reg) { return reg >= abi::ipcq_qp_base; }

std::uint16_t queue_pair_of(abi::register_offset reg) {
  return static_cast<std::uint16_t>((reg - abi::ipcq_qp_base) / abi::ipcq_qp_stride);
}

}  // namespace

ipcq_engine::ipcq_engine(sc_core::sc_module_name name, const pe_setup& setup)
    : sc_module(name),
      setup_(setup),
      clock_(clock_domain::from_ghz(setup.config.noc.clock_ghz)),
      core_(setup.self, static_cast<std::uint32_t>(setup.config.ipcq.queue_pairs),
            make_policy(setup.config.ipcq.match)),
      fingerprint_(this->name()),
      statistics_(setup.config.ipcq.queue_pairs) {
  inbound.bind(*this);
  interrupt.bind(*this);
  SC_METHOD(act);
  sensitive << work_.due();
  dont_initialize();
}

// --- registers ----------------------------------------------------------------------------------

void ipcq_engine::write_register(abi::register_offset reg, std::uint64_t value) {
  switch (reg) {
    case abi::dma_source: next_copy_.source = value; return;
    case abi::dma_destination: next_copy_.destination = value; return;
    case abi::dma_doorbell:
      next_copy_.bytes = value;
      ++copies_started_;
      return dma->start_copy(next_copy_);
    case abi::dma_arm: return arm_dma(value);
    default: break;
  }
  auto effects = core_.write_register(reg, value);
  if (effects.send) {
    const auto& fields = effects.send->fields;
    ++messages_sent_;
    bytes_sent_ += fields.message_bytes;
    ++statistics_[effects.send->qp].sends;
    statistics_[effects.send->qp].bytes += fields.message_bytes;
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
    if (effects.send || effects.credit) publish_state(queue_pair_of(reg));
  }
  note_event();
}

/// Contents of a readable register of the compute port; empty for others.
std::optional<std::uint64_t> ipcq_engine::read_copy_register(abi::register_offset reg) const {
  switch (reg) {
    case abi::dma_source: return next_copy_.source;
    case abi::dma_destination: return next_copy_.destination;
    case abi::dma_status: return abi::status_halves{copies_done_, copies_started_}.pack();
    default: return std::nullopt;
  }
}

std::uint64_t ipcq_engine::read_register(abi::register_offset reg) {
  if (const auto value = read_copy_register(reg)) return *value;
  const std::uint64_t value = core_.read_register(reg);
  if (reg == abi::ipcq_event && !core_.event_pending()) pending_since_ = sim_time::never();
  note_event();  // a register that does not exist queues an error
  return value;
}

void ipcq_engine::debug_write_register(abi::register_offset reg, std::uint64_t value) {
  core_.debug_write(reg, value);
}

std::uint64_t ipcq_engine::debug_read_register(abi::register_offset reg) {
  if (const auto value = read_copy_register(reg)) return *value;
  return core_.debug_read(reg);
}

void ipcq_engine::arm_dma(std::uint64_t count) {
  dma_armed_ = count;
  if (copies_done_ >= dma_armed_) {
    dma_armed_ = 0;
    core_.push_event({abi::event_kind::dma_done, false, 0, copies_done_});
    note_event();
  }
}

// --- what the DMA engine reports ----------------------------------------------------------------

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

void ipcq_engine::apply(const work& w) {
  switch (w.what) {
    case work_kind::source_read: core_.source_read(static_cast<std::uint16_t>(w.value)); break;
    case work_kind::copies_done:
      copies_done_ = w.value;
      if (dma_armed_ != 0) arm_dma(dma_armed_);
      break;
    case work_kind::token: {
      const std::uint16_t qp = core_.token_arrived(w.fields);
      fingerprint_.add(now() - kernel_start_, events::mix(w.fields.match_address, w.fields.sequence));
      publish_message(events::message_phase::visible, qp, w.fields.sequence, w.fields.message_bytes);
      publish_state(qp);
      track_waits(qp);
      break;
    }
    case work_kind::credit: {
      const std::uint16_t qp = core_.credit_arrived(w.fields);
      fingerprint_.add(now() - kernel_start_,
                       events::mix(w.fields.match_address, ~std::uint64_t{w.fields.sequence}));
      publish_message(events::message_phase::credited, qp, w.fields.sequence, 0);
      publish_state(qp);
      track_waits(qp);
      break;
    }
    case work_kind::send_message: dma->send_message(w.message); break;
    case work_kind::send_credit: dma->send_credit(w.credit); break;
  }
  note_event();
}

void ipcq_engine::act() {
  guarded(setup_.faults, name(), [this] {
    work w;
    while (work_.take(w)) apply(w);
  });
}

// --- interrupt, events, statistics --------------------------------------------------------------

sim_time ipcq_engine::pending_since() const {
  return core_.event_pending() ? pending_since_ : sim_time::never();
}

void ipcq_engine::note_event() {
  if (!core_.event_pending() || pending_since_ != sim_time::never()) return;
  pending_since_ = now();
  raised_.notify();
}

/// A queue pair waits while firmware has the matching request armed.
void ipcq_engine::track_waits(std::uint16_t qp) {
  if (qp >= statistics_.size()) return;
  const std::uint64_t armed = core_.queue_pairs()[qp].armed;
  const auto track = [](bool waiting, sim_time& since, sim_time& total) {
    if (waiting && since == sim_time::never()) since = now();
    if (!waiting && since != sim_time::never()) {
      total += now() - since;
      since = sim_time::never();
    }
  };
  statistics& s = statistics_[qp];
  track((armed & abi::arm_send_space) != 0, s.stalled_since, s.credit_stall);
  track((armed & abi::arm_receive) != 0, s.empty_since, s.empty_wait);
}

sim_time ipcq_engine::credit_stall() const {
  sim_time total;
  for (const statistics& s : statistics_) total += s.credit_stall;
  return total;
}

sim_time ipcq_engine::empty_wait() const {
  sim_time total;
  for (const statistics& s : statistics_) total += s.empty_wait;
  return total;
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
