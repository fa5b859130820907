// SPDX-License-Identifier: Apache-2.0
#include "hw/fault/sip_link_fault.hpp"

#include <algorithm>

namespace diecast::hw {

sip_link_fault::sip_link_fault(sc_core::sc_module_name name, const fault_place& place)
    : sc_module(name),
      link_(place.name),
      faults_(place.faults, place.path, place.flit_time),
      cycle_(place.cycle),
      spared_(UINT8_MAX + 1U) {
  in.bind(*this);
}

void sip_link_fault::deliver(const sip_message& m) {
  sip_message passed = m;
  if (m.what == sip_message::kind::credit) {
    passed.flits = back_->room(m);
    if (passed.flits > 0) out->deliver(passed);
    return;
  }
  const auto verdict = faults_.pass(passed.header, passed.data, m.flits, m.head, m.tail);
  if (verdict.held) return held_.push_back(std::move(passed));
  if (verdict.lost) {
    sip_message freed;
    freed.what = sip_message::kind::credit;
    freed.vc = m.vc;
    freed.flits = m.flits;
    freed.head = freed.tail = m.tail + cycle_;
    return back_->out->deliver(freed);
  }
  if (verdict.twice) copies_.push_back(passed);
  passed.head += verdict.delay;
  passed.tail += verdict.delay + verdict.stretch;
  if (verdict.delay == sim_time{}) return out->deliver(passed);
  late_.put(now() + verdict.delay, late_sequence_++, std::move(passed));
}

std::uint32_t sip_link_fault::room(const sip_message& credit) {
  const auto waiting =
      std::find_if(copies_.begin(), copies_.end(), [&](const sip_message& c) { return c.vc == credit.vc; });
  if (waiting == copies_.end()) return credit.flits;
  std::uint32_t& spared = spared_[credit.vc];
  spared += credit.flits;
  if (spared < waiting->flits) return 0;
  const std::uint32_t rest = spared - waiting->flits;
  spared = 0;
  sip_message copy = std::move(*waiting);
  copies_.erase(waiting);
  const sim_time length = copy.tail - copy.head;
  copy.head = std::max(credit.head, now() + cycle_);
  copy.tail = copy.head + length;
  out->deliver(copy);
  return rest;
}

void sip_link_fault::act() {
  sip_message due;
  while (late_.take(due)) out->deliver(due);
}

}  // namespace diecast::hw
