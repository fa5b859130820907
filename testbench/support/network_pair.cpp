// SPDX-License-Identifier: Apache-2.0
#include "support/network_pair.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <stdexcept>

#include "models/random/stream.hpp"

namespace diecast::test {
namespace {

enum side : std::uint32_t { east, west, south, north, node, sides };

constexpr std::uint32_t opposite(std::uint32_t s) { return s ^ 1U; }

/// The router behind a side, or none.
std::uint32_t beyond(const network_description& n, std::uint32_t router, std::uint32_t s) {
  const bool along_columns = s == east || s == west;
  const bool up = s == east || s == south;
  const std::uint32_t size = along_columns ? n.columns : n.rows;
  const std::uint32_t stride = along_columns ? 1 : n.columns;
  const std::uint32_t at = router / stride % size;
  if (size == 1 || (!n.torus && (up ? at + 1 == size : at == 0))) return reference_network::none;
  const std::uint32_t to = up ? (at + 1) % size : (at + size - 1) % size;
  return router - at * stride + to * stride;
}

struct way {
  std::uint32_t side;
  std::uint32_t set;  ///< 0: the dateline is still to be crossed behind the next router
};

/// One dimension of the way from `at` to `to`: up or down, and whether the next channel but one or a later
/// one is the wrapping one.
struct along {
  bool up;
  bool crosses;
};
along shortest(const network_description& n, std::uint32_t at, std::uint32_t to, std::uint32_t size) {
  if (!n.torus) return {to > at, false};
  const std::uint32_t distance = (to + size - at) % size;
  const bool up = n.oneway || 2 * distance <= size;
  const bool wraps = up ? to < at : to > at;
  const bool wraps_now = up ? at + 1 == size : at == 0;
  return {up, wraps && !wraps_now};
}

way next_way(const network_description& n, std::uint32_t router, std::uint32_t destination) {
  const std::uint32_t x = router % n.columns, y = router / n.columns;
  const std::uint32_t to_x = destination % n.columns, to_y = destination / n.columns;
  const std::uint32_t behind = n.sets() - 1;
  if (x != to_x) {
    const along a = shortest(n, x, to_x, n.columns);
    return {a.up ? east : west, a.crosses ? 0 : behind};
  }
  if (y != to_y) {
    const along a = shortest(n, y, to_y, n.rows);
    return {a.up ? south : north, a.crosses ? 0 : behind};
  }
  return {node, 0};
}

/// The VCs behind an output for what comes in `vc`.
reference_network::vc_range vcs_for(const network_description& n, std::uint32_t set, std::uint32_t vc) {
  const std::uint32_t first = vc / n.vcs_per_class() * n.vcs_per_class() + set * n.vcs;
  if (n.dynamic) return {first, n.vcs};
  return {first + vc % n.vcs, 1};
}

/// The VCs a packet may start in.
reference_network::vc_range first_vcs(const network_description& n, const planned_packet& p) {
  const std::uint32_t first = p.traffic_class * n.vcs_per_class();
  if (n.dynamic) return {first, n.vcs};
  return {first + (p.source + p.destination) % n.vcs, 1};
}

reference_network::parameters reference_of(const network_description& n) {
  reference_network::parameters p;
  p.routers = n.nodes();
  p.ports = sides;
  p.vcs = n.all_vcs();
  // A pipelined router delays every flit: the cycles before its decision count as traversal.
  const std::uint32_t late = n.pipelined ? n.front : 0;
  p.routing = n.pipelined ? 0 : n.front - n.vc_alloc;
  p.vc_alloc = n.pipelined ? 0 : n.vc_alloc;
  p.switch_alloc = n.back + late;
  p.traversal = p.link = 0;
  p.credit = n.credit;
  p.ni_in = n.ni_in + late;
  p.overlap = n.pipelined;
  p.hold = n.hold;
  p.whole_packets = n.whole_packets;
  p.port_per_vc = n.port_per_vc;
  for (std::uint32_t vc = 0; vc < p.vcs; ++vc) {
    p.class_of_vc.push_back(vc / n.vcs_per_class());
    p.buffer.push_back(n.buffer.at(p.class_of_vc.back()));
  }
  p.neighbor.assign(std::size_t{p.routers} * sides, reference_network::none);
  for (std::uint32_t r = 0; r < p.routers; ++r) {
    p.terminal.push_back(r * sides + node);
    for (std::uint32_t s = 0; s < node; ++s) {
      const std::uint32_t to = beyond(n, r, s);
      if (to != reference_network::none) p.neighbor[r * sides + s] = to * sides + opposite(s);
    }
  }
  p.route = [n](std::uint32_t router, std::uint32_t vc, const reference_packet& q) {
    const way w = next_way(n, router, q.destination);
    return reference_network::hop{w.side, vcs_for(n, w.set, vc)};
  };
  p.inject = [n](const reference_packet& q) {
    return first_vcs(n, {q.created, q.source, q.destination, q.flits, q.traffic_class});
  };
  return p;
}

std::uint32_t destination_of(const network_description& n, traffic_plan::pattern where, std::uint32_t from,
                             random::sequence& draw) {
  const std::uint32_t x = from % n.columns, y = from / n.columns;
  switch (where) {
    case traffic_plan::pattern::uniform: return static_cast<std::uint32_t>(draw.below(n.nodes()));
    case traffic_plan::pattern::transpose: return x * n.columns + y;
    case traffic_plan::pattern::neighbor: return (y + 1) % n.rows * n.columns + (x + 1) % n.columns;
  }
  return from;
}

}  // namespace

std::string network_description::text() const {
  return fmt::format(
      "{} {}x{}, {} classes x {} sets x {} VCs, {}, {}{}, stages {}+{} {}, credit {}, buffer {}",
      oneway  ? "one-way torus"
      : torus ? "torus"
              : "mesh",
      columns, rows, classes, sets(), vcs, dynamic ? "dynamic" : "per_flow",
      whole_packets ? "whole packets" : "wormhole", hold ? " held" : "", front, back,
      pipelined ? "pipelined" : "in sequence", credit, fmt::join(buffer, "/"));
}

double traffic_plan::mean_flits() const {
  double flits = 0, packets = 0;
  for (const kind& k : kinds) {
    flits += static_cast<double>(k.flits) * k.share;
    packets += k.share;
  }
  return flits / packets;
}

std::vector<planned_packet> packets_of(const network_description& n, const traffic_plan& t) {
  random::sequence draw({t.seed, "network_pair", "packets"});
  std::uint32_t shares = 0;
  for (const auto& k : t.kinds) shares += k.share;
  const auto threshold = std::min(1.0, t.rate / t.mean_flits()) * 0x1p53;
  std::vector<planned_packet> packets;
  for (std::uint64_t cycle = 0; cycle < t.cycles; ++cycle) {
    for (std::uint32_t from = 0; from < n.nodes(); ++from) {
      if (static_cast<double>(draw.next() >> 11) >= threshold) continue;
      auto pick = draw.below(shares);
      std::size_t k = 0;
      for (; pick >= t.kinds[k].share; ++k) pick -= t.kinds[k].share;
      const std::uint32_t to = destination_of(n, t.where, from, draw);
      packets.push_back({cycle, from, to, t.kinds[k].flits, t.kinds[k].traffic_class});
    }
  }
  return packets;
}

played play_reference(const network_description& n, const std::vector<planned_packet>& packets,
                      const play_window& w) {
  reference_network net(reference_of(n));
  std::vector<reference_packet> under_way;
  under_way.reserve(packets.size());
  std::uint64_t before = 0, after = 0;
  std::size_t arrived = 0;  // all packets before this one
  while (net.now() < w.limit) {
    if (net.now() == w.from) before = net.flits_ejected();
    while (under_way.size() < packets.size() && packets[under_way.size()].created == net.now()) {
      const planned_packet& p = packets[under_way.size()];
      under_way.push_back({p.created, p.source, p.destination, p.flits, p.traffic_class, played::never});
      net.queue(&under_way.back());
    }
    net.step();
    if (net.now() == w.to) after = net.flits_ejected();
    while (arrived < under_way.size() && under_way[arrived].tail_ejected != played::never) ++arrived;
    if (net.now() >= w.to && arrived == packets.size()) break;
  }
  played result;
  for (const auto& p : under_way) result.arrived.push_back(p.tail_ejected);
  result.arrived.resize(packets.size(), played::never);
  result.accepted = static_cast<double>(after - before) / static_cast<double>((w.to - w.from) * n.nodes());
  result.cycles = net.now();
  return result;
}

played play_switches(const network_description& n, const std::vector<planned_packet>& packets,
                     const play_window& w) {
  switch_network net(n);
  std::uint32_t queued = 0;
  std::uint64_t before = 0, after = 0;
  while (net.now() < w.limit) {
    if (net.now() == w.from) before = net.flits_ejected();
    for (; queued < packets.size() && packets[queued].created == net.now(); ++queued) {
      net.queue(packets[queued], queued);
    }
    net.step();
    if (net.now() == w.to) after = net.flits_ejected();
    if (net.now() >= w.to && queued == packets.size() && net.core().empty()) break;
  }
  played result;
  result.arrived.resize(packets.size(), played::never);
  for (const auto& d : net.deliveries()) {
    if (d.tail) result.arrived[d.packet] = d.arrived;
  }
  result.accepted = static_cast<double>(after - before) / static_cast<double>((w.to - w.from) * n.nodes());
  result.cycles = net.now();
  return result;
}

double mean_latency(const std::vector<planned_packet>& packets, const played& p, std::uint64_t from,
                    std::uint64_t to) {
  double sum = 0, count = 0;
  for (std::size_t k = 0; k < packets.size(); ++k) {
    if (packets[k].created < from || packets[k].created >= to) continue;
    if (p.arrived[k] == played::never) return std::numeric_limits<double>::quiet_NaN();
    sum += static_cast<double>(p.arrived[k] - packets[k].created);
    ++count;
  }
  return sum / count;
}

switch_network::switch_network(const network_description& n) : n_(n), core_(build(), *this) {}

hw::switch_core::port switch_network::router_port(std::uint32_t router) const {
  hw::switch_core::port p;
  p.router = static_cast<std::uint16_t>(router);
  p.latency = n_.back;
  p.head_delay = n_.front;
  p.body_delay = n_.pipelined ? n_.front : 0;
  p.alloc_cycles = n_.vc_alloc;
  p.credit_cycles = n_.credit;
  for (std::uint32_t vc = 0; vc < n_.all_vcs(); ++vc) {
    p.buffer[vc] = p.credits[vc] = n_.buffer.at(vc / n_.vcs_per_class());
  }
  return p;
}

hw::switch_core::parameters switch_network::build() {
  hw::switch_core::parameters p;
  p.vcs = n_.all_vcs();
  p.classes = n_.classes;
  p.wormhole = !n_.whole_packets;
  p.interleave_vcs = !n_.hold && !n_.whole_packets;
  p.port_per_vc = n_.port_per_vc;
  p.overlap = n_.pipelined;
  p.longest_packet = 64;
  if (n_.fetch_ahead) p.fetch_ahead_from = 0;
  for (std::uint32_t vc = 0; vc < n_.all_vcs(); ++vc) {
    p.class_of_vc[vc] = static_cast<std::uint8_t>(vc / n_.vcs_per_class());
  }
  port_.assign(std::size_t{n_.nodes()} * sides, hw::switch_core::none);
  for (std::uint32_t r = 0; r < n_.nodes(); ++r) {
    for (std::uint32_t s = 0; s < sides; ++s) {
      if (s != node && beyond(n_, r, s) == reference_network::none) continue;
      port_[r * sides + s] = static_cast<std::uint32_t>(p.ports.size());
      p.ports.push_back(router_port(r));
      p.ports.back().hop = s != node;
    }
  }
  for (std::uint32_t r = 0; r < n_.nodes(); ++r) {
    for (std::uint32_t s = 0; s < node; ++s) {
      const std::uint32_t to = beyond(n_, r, s);
      if (to == reference_network::none) continue;
      p.ports[port_[r * sides + s]].downstream = port_[to * sides + opposite(s)];
    }
  }
  sources_ = static_cast<std::uint32_t>(p.ports.size());
  for (std::uint32_t r = 0; r < n_.nodes(); ++r) add_source(p, r);
  return p;
}

/// A router of its own with one input without bounds and one output.
void switch_network::add_source(hw::switch_core::parameters& p, std::uint32_t at) const {
  hw::switch_core::port source = router_port(n_.nodes() + at);
  source.hop = false;
  source.from_interface = true;
  source.latency = n_.ni_in;
  source.head_delay = source.body_delay = source.alloc_cycles = 0;
  source.buffer.fill(UINT32_MAX);
  source.downstream = port_[at * sides + node];
  p.ports.push_back(source);
}

void switch_network::queue(const planned_packet& p, std::uint32_t number) {
  hw::packet_ptr packet = pool_.make();
  packet->flits = p.flits;
  packet->created.fs = number;
  core_.advance(now_);
  // All packets of a node queue in one VC of its source; the VCs they may leave by are part of the exit.
  const std::uint32_t first = first_vcs(n_, p).first;
  const auto exit = static_cast<std::uint16_t>(p.destination + first * n_.nodes());
  core_.arrive({sources_ + p.source, 0, p.flits, exit, now_, now_}, std::move(packet));
}

hw::switch_core::hop switch_network::route(std::uint16_t router, std::uint16_t exit, std::uint8_t vc) const {
  const std::uint32_t destination = exit % n_.nodes();
  if (router >= n_.nodes()) {
    const auto first = static_cast<std::uint8_t>(exit / n_.nodes());
    return {sources_ + router - n_.nodes(), first, static_cast<std::uint8_t>(n_.dynamic ? n_.vcs : 1)};
  }
  const way w = next_way(n_, router, destination);
  const auto vcs = vcs_for(n_, w.set, vc);
  return {port_[router * sides + w.side], static_cast<std::uint8_t>(vcs.first),
          static_cast<std::uint8_t>(vcs.count)};
}

void switch_network::eject(const hw::switch_core::departure& d, hw::packet_ptr&& p) {
  leaving_.push_back({deliveries_.size(), d.output, d.flits, d.first, d.last});
  deliveries_.push_back(
      {static_cast<std::uint32_t>(p->created.fs), d.vc, d.flits, d.tail, d.last + way_out()});
}

/// Of those that leave by an output in a VC the last is in transfer.
void switch_network::delay(std::uint32_t output, std::uint8_t vc, std::uint64_t last) {
  const auto same = [&](const leaving& l) { return l.output == output && deliveries_[l.delivery].vc == vc; };
  const auto l = std::find_if(leaving_.rbegin(), leaving_.rend(), same);
  if (l == leaving_.rend()) throw std::logic_error("a delay of what has left");
  deliveries_[l->delivery].arrived += last - l->last;
  l->last = last;
  if (l->flits == 1) l->next = last;
}

/// Flits leave as the switches say, or evenly from the next one to the last; each has returned its credit a
/// cycle later.
void switch_network::return_credits() {
  for (leaving& l : leaving_) {
    const auto to_go = core_.flits_to_go(l.output, deliveries_[l.delivery].vc);
    if (to_go && l.last >= now_) {
      for (; l.flits > *to_go; --l.flits) return_credit(l, now_ - 1);
      l.next = l.flits == 1 ? l.last : now_;
      continue;
    }
    while (l.flits != 0 && l.next < now_) {
      return_credit(l, l.next);
      if (--l.flits != 0) l.next += (l.last - l.next + l.flits - 1) / l.flits;
    }
  }
  std::erase_if(leaving_, [](const leaving& l) { return l.flits == 0; });
}

/// Of a flit that has left in a cycle.
void switch_network::return_credit(const leaving& l, std::uint64_t left) {
  core_.credit(l.output, deliveries_[l.delivery].vc, 1, left + way_out() + n_.credit);
  ++arriving_[left + way_out()];
}

void switch_network::step() {
  core_.advance(now_);
  return_credits();
  core_.run();
  if (const auto here = arriving_.find(now_); here != arriving_.end()) {
    flits_ejected_ += here->second;
    arriving_.erase(here);
  }
  ++now_;
}

bool switch_network::at_rest() const {
  if (!core_.empty()) return false;
  std::uint32_t missing = 0;
  for (std::uint32_t o = 0; o < sources_ + n_.nodes(); ++o) {
    for (std::uint32_t vc = 0; vc < n_.all_vcs(); ++vc) {
      missing += core_.missing_credits(o, static_cast<std::uint8_t>(vc));
    }
  }
  return missing == 0 && leaving_.empty();
}

}  // namespace diecast::test
