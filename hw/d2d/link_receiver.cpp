// SPDX-License-Identifier: Apache-2.0
#include "hw/d2d/link_receiver.hpp"

#include <algorithm>

#include "models/types/error.hpp"

namespace diecast::hw {

link_receiver::link_receiver(const fabric::topology& topology, const link_parameters& p, place where,
                             owner& o)
    : topology_(topology),
      timing_(p.line.timing),
      where_(std::move(where)),
      ports_(p.ports),
      vcs_(topology.vcs()),
      ni_in_cycles_(p.ni_in_cycles),
      owner_(o),
      buffer_(p.link_buffer),
      noc_buffer_(p.noc_buffer),
      queues_(ports_ * vcs_),
      occupied_(vcs_),
      injection_(ports_),
      last_(ports_),
      monitor_(p.checksum) {
  for (std::uint32_t port = 0; port < ports_; ++port)
    credits_.insert(credits_.end(), noc_buffer_.begin(), noc_buffer_.end());
}

/// The leg a packet travels on in this cube is decided where it enters it.
std::uint8_t link_receiver::next_vc(std::uint8_t port, const packet& p, std::uint8_t vc) const {
  if (topology_.is_tree_vc(vc)) return vc;
  const fabric::cube_layout& layout = topology_.layout(where_.sip, where_.cube);
  const fabric::router_index router = layout.terminals[where_.terminals.at(port)].router;
  const fabric::cube_step step = topology_.enter(where_.sip, where_.cube, router, where_.how,
                                                 topology_.leg_of(vc), p.header.destination);
  return topology_.vc(topology_.class_of(vc), step.next);
}

sim_time link_receiver::arrived(std::uint8_t port, packet_ptr p, std::uint8_t vc,
                                const timing::span& arrival) {
  const std::uint32_t flits = p->flits;
  occupied_[vc] += flits;
  ++packets_;
  monitor_.pass(*p, arrival.head);
  if (flits > 1) {
    measured_flits_ += flits - 1;
    measured_time_ += arrival.tail - arrival.head;
  }
  if (occupied_[vc] > buffer_[vc]) {
    throw protocol_error(
        "{}: receive buffer of VC {} holds {} flits (expected at most {}): a packet came without credits",
        where_.name, vc, occupied_[vc], buffer_[vc]);
  }
  const sim_time at = timing_.injection(arrival, flits);
  const std::uint8_t out = next_vc(port, *p, vc);
  const auto traffic_class = static_cast<std::uint8_t>(topology_.class_of(vc));
  queues_.push(index(port, vc), {std::move(p), at.fs / timing_.receiver.period.fs, out, traffic_class});
  return at;
}

void link_receiver::noc_credit(std::uint8_t port, std::uint8_t vc, std::uint32_t flits, sim_time at) {
  returning_.push_back({timing_.receiver.cycles_covering(at), index(port, vc), flits});
}

sim_time link_receiver::act(sim_time now) {
  if (queues_.empty()) return sim_time::never();
  const std::uint64_t cycle = timing_.receiver.cycles_covering(now);
  const bool at_edge = timing_.receiver.cycles(cycle) == now;
  if (at_edge) {
    std::erase_if(returning_, [&](const returning_credit& r) {
      if (r.cycle > cycle) return false;
      credits_[r.queue] += r.flits;
      return true;
    });
    const std::uint32_t queues = ports_ * vcs_;
    for (std::uint32_t q = queues_.next_filled(0, queues); q != queues_.none;
         q = queues_.next_filled((q / vcs_ + 1) * vcs_, queues))
      act_port(static_cast<std::uint8_t>(q / vcs_), cycle);
  }
  const std::uint64_t next = next_chance(at_edge ? cycle + 1 : cycle);
  return next == UINT64_MAX ? sim_time::never() : timing_.receiver.cycles(next);
}

void link_receiver::act_port(std::uint8_t port, std::uint64_t cycle) {
  const std::uint32_t begin = port * vcs_;
  const std::uint32_t queue = queues_.round_robin(begin, begin + vcs_, last_[port], [&](std::uint32_t q) {
    return ready(port, queues_.front(q), cycle);
  });
  if (queue != queue_set<waiting>::none) start(port, queue, cycle);
}

bool link_receiver::ready(std::uint8_t port, const waiting& w, std::uint64_t cycle) const {
  return w.earliest <= cycle && credits_[index(port, w.vc)] >= w.p->flits &&
         injection_[port].earliest(w.traffic_class, cycle) <= cycle;
}

void link_receiver::start(std::uint8_t port, std::uint32_t queue, std::uint64_t cycle) {
  last_[port] = queue;
  waiting w = queues_.pop(queue);
  const std::uint32_t flits = w.p->flits;
  timing::shared_link& link = injection_[port];
  const std::uint64_t end = link.finish(w.traffic_class, cycle, flits);
  link.grant(w.traffic_class, cycle, flits, end);
  credits_[index(port, w.vc)] -= flits;

  const auto arrival_vc = static_cast<std::uint8_t>(queue % vcs_);
  occupied_[arrival_vc] -= flits;
  const clock_domain& noc = timing_.receiver;
  const std::uint64_t freed =
      timing::batch_usable(noc.cycles(cycle).fs, noc.cycles(end - 1).fs, flits, timing_.serialization(1).fs);
  owner_.return_link_credit(arrival_vc, flits, sim_time{freed} + timing_.latency);
  owner_.inject(std::move(w.p), port, w.vc, noc.cycles(cycle + ni_in_cycles_),
                noc.cycles(end - 1 + ni_in_cycles_));
}

std::uint64_t link_receiver::next_chance(std::uint64_t from) const {
  std::uint64_t next = UINT64_MAX;
  const std::uint32_t queues = ports_ * vcs_;
  for (std::uint32_t q = queues_.next_filled(0, queues); q != queue_set<waiting>::none;
       q = queues_.next_filled(q + 1, queues)) {
    const waiting& w = queues_.front(q);
    const auto port = static_cast<std::uint8_t>(q / vcs_);
    std::uint64_t cycle = injection_[port].earliest(w.traffic_class, std::max(from, w.earliest));
    if (w.p->flits > credits_[index(port, w.vc)]) {
      std::uint64_t back = UINT64_MAX;
      for (const returning_credit& r : returning_)
        if (r.queue == index(port, w.vc)) back = std::min(back, r.cycle);
      cycle = std::max(cycle, back);
    }
    next = std::min(next, cycle);
  }
  return next;
}

bool link_receiver::quiescent() const {
  auto usable = credits_;
  for (const returning_credit& r : returning_) usable[r.queue] += r.flits;
  for (std::uint32_t q = 0; q < usable.size(); ++q)
    if (usable[q] != noc_buffer_[q % vcs_]) return false;
  return queues_.empty();
}

}  // namespace diecast::hw
