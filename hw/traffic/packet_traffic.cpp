// SPDX-License-Identifier: Apache-2.0
#include "hw/traffic/packet_traffic.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "hw/base/time.hpp"
#include "models/events/events.hpp"
#include "models/fabric/topology.hpp"
#include "models/timing/link.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {

packet_traffic::packet_traffic(sc_core::sc_module_name name, const fabric::topology& topology,
                               const config::machine_config& config, traffic::packet_arrivals& arrivals,
                               packet_pool& pool, interval measured, fault_sink& faults)
    : sc_module(name),
      topology_(topology),
      grid_(topology.grid()),
      arrivals_(arrivals),
      pool_(pool),
      faults_(faults),
      measured_(measured),
      clock_(timing::noc_clock(config)),
      ni_in_cycles_(config.noc.ni_in_cycles),
      credit_cycles_(config.noc.credit_cycles),
      wormhole_(config.noc.flow == config::noc_flow::wormhole),
      vcs_(topology.vcs()),
      room_(fabric::injection_buffer_flits(config)),
      nodes_(topology.layout({}, {}).terminals.size()),
      credits_(nodes_.size() * vcs_, room_) {
  for (unsigned n = 0; n < nodes_.size(); ++n) {
    nodes_[n].out =
        &ends_.emplace_back(fmt::format("node{}", n).c_str(), static_cast<fabric_owner&>(*this), n);
    nodes_[n].router = topology.layout({}, {}).terminals[n].router;
  }
  more_ = arrivals_.next(next_);
}

void packet_traffic::act() {
  guarded(faults_, name(), [this] { serve(); });
}

inline fabric::vc_set packet_traffic::vcs_for(const traffic::packet_arrival& what) const {
  const auto terminal = [](std::uint32_t t) {
    return abi::node_address{0, 0, static_cast<std::uint16_t>(t)};
  };
  return topology_.injection_vcs(fabric::topology::study_class, 0, terminal(what.source),
                                 terminal(what.destination));
}

inline void packet_traffic::hand_over(const traffic::packet_arrival& what, std::uint64_t sequence,
                                      std::uint8_t vc, std::uint64_t cycle) {
  packet_ptr p = pool_.make();
  p->header.source = {0, 0, static_cast<std::uint16_t>(what.source)};
  p->header.destination = {0, 0, static_cast<std::uint16_t>(what.destination)};
  p->header.transaction = sequence;
  p->flits = what.flits;
  p->created = clock_.cycles(what.cycle);
  const sim_time head = clock_.cycles(cycle + ni_in_cycles_);
  nodes_[what.source].out->send_packet(std::move(p), vc, what.flits, head,
                                       head + clock_.cycles(what.flits - 1));
}

/// Makes the packets of the cycles up to this one.
inline void packet_traffic::make_packets(std::uint64_t cycle) {
  for (; more_ && next_.cycle <= cycle; more_ = arrivals_.next(next_)) {
    source& from = nodes_.at(next_.source);
    ++results_.made;
    if (measured_.holds(next_.cycle)) {
      ++results_.measured_made;
      results_.measured_made_flits += next_.flits;
      results_.measured_hops += grid_.distance(from.router, nodes_.at(next_.destination).router);
      measured_made_sum_ += next_.cycle;
    }
    if (wormhole_) {
      hand_over(next_, from.sequence++, vcs_for(next_).first, next_.cycle);
    } else {
      enqueue(cycle);
    }
  }
}

void packet_traffic::serve() {
  const std::uint64_t cycle = now().fs / clock_.period.fs;
  armed_ = UINT64_MAX;
  take_credits(cycle);
  make_packets(wormhole_ ? cycle + cycles_ahead : cycle);
  while (!due_.empty() && due_.top().cycle <= cycle) {
    const due_node d = due_.top();
    due_.pop();
    if (nodes_[d.node].due != d.cycle) continue;  // entered again for an earlier cycle since
    nodes_[d.node].due = UINT64_MAX;
    try_send(d.node, cycle);
  }
  if (!due_.empty()) wake_at(due_.top().cycle);
  if (more_) wake_at(next_.cycle);
  if (waiting_ != 0 && !returning_.empty()) wake_at(returning_.top().cycle);
}

void packet_traffic::enqueue(std::uint64_t cycle) {
  source& from = nodes_[next_.source];
  from.queue.push_back({next_, from.sequence++});
  ++waiting_;
  if (from.queue.size() == 1) schedule(next_.source, std::max(cycle, from.free_from));
}

void packet_traffic::take_credits(std::uint64_t cycle) {
  while (!returning_.empty() && returning_.top().cycle <= cycle) {
    const returning_credit r = returning_.top();
    returning_.pop();
    credits_[r.node_vc] += r.flits;
    const std::uint32_t n = r.node_vc / vcs_;
    if (!nodes_[n].queue.empty()) schedule(n, std::max(cycle, nodes_[n].free_from));
  }
}

void packet_traffic::try_send(std::uint32_t n, std::uint64_t cycle) {
  source& from = nodes_[n];
  if (from.queue.empty()) return;
  const traffic::packet_arrival& what = from.queue.front().what;
  if (what.flits > room_) {
    throw protocol_error("{}: packet of {} flits at node {} (expected at most {}, the NoC's buffer)",
                         this->name(), what.flits, n, room_);
  }
  const std::uint32_t vc = choose_vc(from, n, vcs_for(what), what.flits);
  if (vc == none) return;  // a credit will wake it
  send(n, static_cast<std::uint8_t>(vc), cycle);
  if (!from.queue.empty()) schedule(n, from.free_from);
}

/// The next VC in turn with room for the packet.
std::uint32_t packet_traffic::choose_vc(const source& from, std::uint32_t n, fabric::vc_set vcs,
                                        std::uint32_t flits) const {
  for (std::uint32_t k = 1; k <= vcs.count; ++k) {
    const std::uint32_t vc = vcs.first + (from.last_vc + k) % vcs.count;
    if (credits_[n * vcs_ + vc] >= flits) return vc;
  }
  return none;
}

void packet_traffic::send(std::uint32_t n, std::uint8_t vc, std::uint64_t cycle) {
  source& from = nodes_[n];
  const queued q = from.queue.front();
  from.queue.pop_front();
  --waiting_;
  from.free_from = cycle + q.what.flits;
  from.last_vc = vc;
  credits_[n * vcs_ + vc] -= q.what.flits;
  hand_over(q.what, q.sequence, vc, cycle);
}

void packet_traffic::on_packet(unsigned port, packet_ptr&& p, const fabric_phase& phase) {
  const std::uint64_t tail = clock_.cycles_covering(phase.tail);
  const std::uint64_t made = p->created.fs / clock_.period.fs;
  ++results_.delivered;
  results_.last_tail = std::max(results_.last_tail, tail);
  if (measured_.holds(tail)) results_.flits_taken += phase.flits;
  if (measured_.holds(made)) {
    results_.latencies.add(femtoseconds(tail - made));
    results_.latency_sum += tail - made;
    measured_done_sum_ += made;
  }
  const std::uint64_t flow = std::uint64_t{p->header.source.terminal} << 48 |
                             std::uint64_t{p->header.destination.terminal} << 32 | phase.flits;
  results_.fingerprint += events::mix(events::mix(flow, p->header.transaction), tail);
  if (observer_) observer_(*p, phase.vc, tail);
  if (wormhole_) return;  // the NoC counts what a sink takes flit by flit
  ends_[port].send_credit(phase.vc, phase.flits, phase.tail + clock_.cycles(credit_cycles_));
}

void packet_traffic::on_credit(unsigned port, const fabric_phase& phase) {
  const std::uint64_t cycle = clock_.cycles_covering(phase.head);
  returning_.push({cycle, port * vcs_ + phase.vc, phase.flits});
  if (!nodes_[port].queue.empty()) wake_at(cycle);
}

void packet_traffic::schedule(std::uint32_t n, std::uint64_t cycle) {
  if (cycle >= nodes_[n].due) return;
  nodes_[n].due = cycle;
  due_.push({cycle, n});
}

void packet_traffic::wake_at(std::uint64_t cycle) {
  if (cycle >= armed_) return;
  armed_ = cycle;
  wake_.set(clock_.cycles(cycle));
}

bool packet_traffic::quiescent() const {
  std::vector<std::uint32_t> credits = credits_;
  for (auto back = returning_; !back.empty(); back.pop()) credits[back.top().node_vc] += back.top().flits;
  const auto full = [this](std::uint32_t c) { return c == room_; };
  return waiting_ == 0 && std::ranges::all_of(credits, full);
}

}  // namespace diecast::hw
