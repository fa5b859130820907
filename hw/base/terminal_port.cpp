// SPDX-License-Identifier: Apache-2.0
#include "hw/base/terminal_port.hpp"

#include <algorithm>

#include "models/comm/install_plan.hpp"
#include "models/fabric/topology.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {
namespace {

constexpr unsigned index_of(abi::traffic_class c) { return static_cast<unsigned>(c); }

}  // namespace

terminal_port::terminal_port(sc_core::sc_module_name name, const fabric::topology& topology,
                             const config::machine_config& config, abi::node_address self, client& owner)
    : sc_module(name),
      topology_(topology),
      self_(self),
      staged_(config.comm.path == config::transfer_path::staged),
      owner_(owner),
      timing_(timing::noc_timing_of(config)),
      credit_cycles_(config.noc.credit_cycles),
      flit_bytes_(static_cast<std::uint32_t>(config.noc.flit_bytes)),
      noc_("noc", *this, 0) {
  room_.fill(fabric::injection_buffer_flits(config));
  room_[index_of(abi::traffic_class::sideband)] = fabric::sideband_buffer_flits(config);
  for (unsigned vc = 0; vc < topology.vcs(); ++vc)
    credits_.push_back(room_[index_of(topology.class_of(static_cast<std::uint8_t>(vc)))]);
}

void terminal_port::send(packet_ptr p) {
  const abi::traffic_class c = abi::class_of(p->header.kind);
  send(std::move(p), c);
}

void terminal_port::send(packet_ptr p, abi::traffic_class c) {
  if (stages(p->header)) {
    p->header.staged = {true, self_, p->header.destination};
    p->header.destination = comm::io_cpu_node(topology_, sip_id{self_.sip});
  }
  p->header.source = self_;
  p->flits = abi::flits_of(p->header.payload_bytes, flit_bytes_);
  p->created = now();
  if (p->flits > room_[index_of(c)]) {
    throw protocol_error("{}: packet of {} flits in class {} (expected at most {}, the NoC's buffer)",
                         this->name(), p->flits, abi::to_string(c), room_[index_of(c)]);
  }
  const sim_time one_cycle_on = now() + timing_.clock.cycles(1);
  const std::uint64_t earliest = timing_.clock.cycles_covering(one_cycle_on);
  queues_[index_of(c)].push_back({std::move(p), earliest});
  schedule_try(earliest);
}

std::size_t terminal_port::waiting(abi::traffic_class c) const { return queues_[index_of(c)].size(); }

void terminal_port::release(std::uint8_t vc, std::uint32_t flits) {
  const sim_time edge = timing_.clock.edge_at_or_after(now());
  noc_.send_credit(vc, flits, edge + timing_.clock.cycles(credit_cycles_));
}

bool terminal_port::quiescent() const {
  auto missing = credits_;
  for (unsigned vc = 0; vc < missing.size(); ++vc)
    missing[vc] = room_[index_of(topology_.class_of(static_cast<std::uint8_t>(vc)))] - missing[vc];
  for (const returning_credit& r : returning_) missing[r.vc] -= r.flits;
  const bool all_home = std::ranges::all_of(missing, [](std::uint32_t m) { return m == 0; });
  const bool queues_empty = std::ranges::all_of(queues_, [](const auto& q) { return q.empty(); });
  return queues_empty && arrivals_.empty() && all_home;
}

void terminal_port::on_packet(unsigned, packet_ptr&& p, const fabric_phase& phase) {
  arrivals_.push_back({phase.tail, phase.vc, arrival_sequence_++, std::move(p)});
  std::push_heap(arrivals_.begin(), arrivals_.end(), arrival::later);
  wake_.set(phase.tail);
}

void terminal_port::on_credit(unsigned, const fabric_phase& phase) {
  const std::uint64_t cycle = timing_.clock.cycles_covering(phase.head);
  returning_.push_back({cycle, phase.vc, phase.flits});
  if (!queues_[index_of(topology_.class_of(phase.vc))].empty()) schedule_try(cycle);
}

void terminal_port::act() {
  deliver();
  const std::uint64_t cycle = now().fs / timing_.clock.period.fs;
  if (try_cycle_ <= cycle) {
    try_cycle_ = UINT64_MAX;
    try_send();
  }
  if (!arrivals_.empty()) wake_.set(arrivals_.front().tail);
  if (try_cycle_ != UINT64_MAX) wake_.set(timing_.clock.cycles(try_cycle_));
}

void terminal_port::deliver() {
  while (!arrivals_.empty() && arrivals_.front().tail <= now()) {
    std::pop_heap(arrivals_.begin(), arrivals_.end(), arrival::later);
    const arrival a = std::move(arrivals_.back());
    arrivals_.pop_back();
    ++packets_received_;
    received_.add(a.p->header.source, a.p->flits);
    owner_.on_packet(a.p, a.vc);
  }
}

void terminal_port::try_send() {
  const std::uint64_t cycle = now().fs / timing_.clock.period.fs;
  take_credits(cycle);
  for (unsigned k = 0; k < abi::traffic_classes; ++k) {
    const unsigned c = (next_class_ + k) % abi::traffic_classes;
    const auto& queue = queues_[c];
    if (queue.empty() || queue.front().earliest > cycle) continue;
    if (link_.earliest(c, cycle) > cycle) continue;
    const unsigned vc = vc_with_room(*queue.front().p, c);
    if (vc == no_vc) continue;
    start(c, static_cast<std::uint8_t>(vc), cycle);
    break;
  }
  schedule_try(next_try(cycle + 1));
}

/// A VC the packet may take that holds all of it, the emptiest (the first of several); no_vc when none does.
unsigned terminal_port::vc_with_room(const packet& p, unsigned c) const {
  const fabric::vc_set vcs = vcs_of(p, c);
  unsigned best = vcs.first;
  for (unsigned vc = vcs.first + 1U; vc < unsigned{vcs.first} + vcs.count; ++vc)
    if (credits_[vc] > credits_[best]) best = vc;
  return credits_[best] >= p.flits ? best : no_vc;
}

void terminal_port::start(unsigned c, std::uint8_t vc, std::uint64_t cycle) {
  packet_ptr p = std::move(queues_[c].front().p);
  queues_[c].pop_front();
  const std::uint32_t flits = p->flits;
  const std::uint64_t end = link_.finish(c, cycle, flits);
  link_.grant(c, cycle, flits, end);
  credits_[vc] -= flits;
  next_class_ = (c + 1) % abi::traffic_classes;
  ++packets_sent_;
  const auto traffic_class = static_cast<abi::traffic_class>(c);
  const sim_time ni_in = timing_.clock.cycles(timing_.ni_in_cycles);
  noc_.send_packet(std::move(p), vc, flits, timing_.clock.cycles(cycle) + ni_in,
                   timing_.clock.cycles(end - 1) + ni_in);
  owner_.on_sent(traffic_class);
}

void terminal_port::take_credits(std::uint64_t cycle) {
  std::erase_if(returning_, [&](const returning_credit& r) {
    if (r.cycle > cycle) return false;
    credits_[r.vc] += r.flits;
    return true;
  });
}

/// The first cycle from `from` on in which some packet might start, as far as is known now. A class
/// without credits is tried again when one returns; credits already in flight count.
std::uint64_t terminal_port::next_try(std::uint64_t from) const {
  std::uint64_t next = UINT64_MAX;
  for (unsigned c = 0; c < abi::traffic_classes; ++c) {
    if (queues_[c].empty()) continue;
    const queued& front = queues_[c].front();
    std::uint64_t cycle = link_.earliest(c, std::max(from, front.earliest));
    if (vc_with_room(*front.p, c) == no_vc) {
      const fabric::vc_set vcs = vcs_of(*front.p, c);
      std::uint64_t credit = UINT64_MAX;
      for (const returning_credit& r : returning_)
        if (unsigned{r.vc} - vcs.first < vcs.count) credit = std::min(credit, r.cycle);
      if (credit == UINT64_MAX) continue;
      cycle = std::max(cycle, credit);
    }
    next = std::min(next, cycle);
  }
  return next;
}

void terminal_port::schedule_try(std::uint64_t cycle) {
  if (cycle >= try_cycle_) return;
  try_cycle_ = cycle;
  wake_.set(timing_.clock.cycles(cycle));
}

}  // namespace diecast::hw
