// SPDX-License-Identifier: Apache-2.0
#include "hw/fault/fault_interposer.hpp"

#include <algorithm>

namespace diecast::hw {

enum interposer_port : unsigned { sender, receiver };

fault_interposer::fault_interposer(sc_core::sc_module_name name, const fault_place& place, packet_pool& pool)
    : sc_module(name),
      in("in", *this, sender),
      out("out", *this, receiver),
      place_(place.name),
      faults_(place.faults, place.path, place.flit_time),
      pool_(pool),
      cycle_(place.cycle),
      spared_(UINT8_MAX + 1U) {}

void fault_interposer::deliver(const passage& what) { out.pass(what.p, what.phase); }

void fault_interposer::on_packet(unsigned from, packet_ptr&& p, const fabric_phase& phase) {
  if (from == receiver) return in.pass(std::move(p), phase);
  const auto verdict = faults_.pass(p->header, p->data, phase.flits, phase.head, phase.tail);
  if (verdict.held) return held_.push_back(std::move(p));
  if (verdict.lost) return in.send_credit(phase.vc, phase.flits, phase.tail + cycle_);
  if (verdict.twice) copies_.push_back({pool_.copy(*p), phase});
  fabric_phase later = phase;
  later.head += verdict.delay;
  later.tail += verdict.delay + verdict.stretch;
  // Packets are announced at different times before their heads. A late packet and later ones are announced a
  // cycle ahead, so that they are delivered in the order of heads, and of arrival for equal heads.
  if (verdict.delay == sim_time{} && late_.empty()) return deliver({std::move(p), later});
  const sim_time at = later.head - cycle_;
  if (at > now()) return late_.put(at, late_sequence_++, {std::move(p), later});
  act();
  deliver({std::move(p), later});
}

/// A copy uses returned credits: the receiver returns as many again when it has taken the copy, and these are
/// passed to the sender.
void fault_interposer::on_credit(unsigned from, const fabric_phase& phase) {
  if (from == sender) return out.pass({}, phase);
  const auto waiting =
      std::ranges::find_if(copies_, [&](const passage& c) { return c.phase.vc == phase.vc; });
  if (waiting == copies_.end()) return in.send_credit(phase.vc, phase.flits, phase.head);
  std::uint32_t& spared = spared_[phase.vc];
  spared += phase.flits;
  if (spared < waiting->phase.flits) return;
  const std::uint32_t rest = spared - waiting->phase.flits;
  spared = 0;
  passage copy = std::move(*waiting);
  copies_.erase(waiting);
  const sim_time length = copy.phase.tail - copy.phase.head;
  copy.phase.head = std::max(phase.head, now() + cycle_);
  copy.phase.tail = copy.phase.head + length;
  deliver(copy);
  if (rest > 0) in.send_credit(phase.vc, rest, phase.head);
}

void fault_interposer::act() {
  passage due;
  while (late_.take(due)) deliver(due);
}

sip_link_fault::sip_link_fault(sc_core::sc_module_name name, const fault_place& place, sim_time latency)
    : sc_module(name),
      link_(place.name),
      faults_(place.faults, place.path, place.flit_time),
      cycle_(place.cycle),
      latency_(latency),
      spared_(UINT8_MAX + 1U) {
  in.bind(*this);
  arrivals.bind(entrance_);
}

void sip_link_fault::deliver(const sip_message& m) {
  if (m.what == sip_message::kind::credit) return out->deliver(m);
  sip_message passed = m;
  const auto verdict = faults_.pass(passed.header, passed.data, m.flits, m.head, m.tail);
  if (verdict.held) return held_.push_back(std::move(passed));
  if (verdict.lost) {
    sip_message freed;
    freed.what = sip_message::kind::credit;
    freed.vc = m.vc;
    freed.flits = m.flits;
    freed.head = freed.tail = m.tail + cycle_;
    return sender->deliver(freed);
  }
  if (verdict.twice) copies_.push_back({now(), passed});
  passed.head += verdict.delay;
  passed.tail += verdict.delay + verdict.stretch;
  if (verdict.delay == sim_time{}) return out->deliver(passed);
  late_.put(now() + verdict.delay, late_sequence_++, std::move(passed));
}

void sip_link_fault::arrive(const sip_message& m) {
  if (m.what != sip_message::kind::credit) return sender->deliver(m);
  sip_message passed = m;
  passed.flits = room(m);
  if (passed.flits > 0) sender->deliver(passed);
}

/// A copy uses credits that were sent after its packet, and leaves at their time of arrival. This time does
/// not depend on when the credits' message is known here, which is later between processes.
std::uint32_t sip_link_fault::room(const sip_message& credit) {
  const auto waiting = std::ranges::find_if(
      copies_, [&](const waiting_copy& c) { return c.m.vc == credit.vc && c.since < credit.created; });
  if (waiting == copies_.end()) return credit.flits;
  std::uint32_t& spared = spared_[credit.vc];
  spared += credit.flits;
  if (spared < waiting->m.flits) return 0;
  const std::uint32_t rest = spared - waiting->m.flits;
  spared = 0;
  sip_message copy = std::move(waiting->m);
  copies_.erase(waiting);
  const sim_time length = copy.tail - copy.head;
  copy.head = std::max(credit.head + latency_, copy.tail + cycle_);
  copy.tail = copy.head + length;
  late_.put(credit.head, late_sequence_++, std::move(copy));
  return rest;
}

void sip_link_fault::act() {
  sip_message due;
  while (late_.take(due)) out->deliver(due);
}

}  // namespace diecast::hw
