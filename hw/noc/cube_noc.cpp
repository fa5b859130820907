// SPDX-License-Identifier: Apache-2.0
// The interfaces of a cube's NoC, and its statistics; switch_core has the routers,
// cube_noc_build.cpp the construction.
#include "hw/noc/cube_noc.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "hw/base/fabric_socket.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {

void cube_noc::on_packet(unsigned terminal, packet_ptr&& p, const fabric_phase& phase) {
  guarded(faults_, name(), [&] { take_in(terminal, std::move(p), phase); });
}

inline void cube_noc::take_in(unsigned terminal, packet_ptr&& p, const fabric_phase& phase) {
  const std::uint16_t exit = exit_of(terminal, *p, phase.vc);
  const std::uint64_t head = timing_.clock.cycles_covering(phase.head);
  const std::uint64_t tail = timing_.clock.cycles_covering(phase.tail);
  const bool by_wire = wires_ && topology_.class_of(phase.vc) == abi::traffic_class::sideband;
  if (has_credits_in() || by_wire) {
    const std::uint64_t ni = timing_.ni_in_cycles;
    enters(terminal, phase.vc, phase.flits, head - ni, tail - ni + 1);
  }
  if (has_credits_in()) {
    report_credits(inject_link(terminal), phase.vc, -static_cast<std::int32_t>(phase.flits), now());
  }
  if (by_wire) {
    send_by_wire(terminal, std::move(p), phase, exit);
    return;
  }
  // An interface holds its packets until they leave it.
  const std::uint64_t early = wormhole_ ? timing_.ni_in_cycles - 1 : 0;
  const sim_time known_from = has_credits_in() ? now() + femtoseconds(1) : timing_.clock.cycles(head - early);
  if (known_from < last_known_from_) refuse_out_of_order(terminal, known_from);
  last_known_from_ = known_from;
  packet_inbox_.push_back({known_from,
                           {entry_ports_[terminal], phase.vc, phase.flits, exit, head - early, tail - early},
                           std::move(p)});
  arm(first_chance(packet_inbox_.back()));
}

[[gnu::noinline]] void cube_noc::refuse_out_of_order(unsigned terminal, sim_time known_from) const {
  const auto cycle = [this](sim_time t) { return t.fs / timing_.clock.period.fs; };
  throw protocol_error(fmt::format(
      "{}: a packet of {} that begins in cycle {} is announced behind one of cycle {} (expected in order)",
      name(), layout_.terminals[terminal].name, cycle(known_from), cycle(last_known_from_)));
}

/// A packet is on the link into its interface from cycle `begin` to before `end`. A packet announced ahead is
/// counted when it enters, because a run may stop earlier.
inline void cube_noc::enters(std::uint32_t terminal, std::uint8_t vc, std::uint32_t flits,
                             std::uint64_t begin, std::uint64_t end) {
  ++packets_;
  ++injected_[terminal].packets;
  injected_[terminal].flits += flits;
  if (hub_.wants(events::links)) publish(inject_link(terminal), vc, flits, begin, end);
}

/// The first cycle in which an announced packet may be granted.
std::uint64_t cube_noc::first_chance(const announced_packet& a) const {
  return a.where.head + (wormhole_ ? 0 : head_delay_);
}

/// The terminal by which the packet leaves this cube.
inline std::uint16_t cube_noc::exit_of(unsigned terminal, const packet& p, std::uint8_t vc) const {
  const abi::node_address& to = p.header.destination;
  if (one_leg_ && to.sip == sip_.value && to.cube == cube_.value) return to.terminal;
  return exit_by_leg(terminal, p, vc);
}

/// The block or adapter that sent it has chosen its leg; a leg that disagrees with the topology would break
/// the proof that routes cannot deadlock.
std::uint16_t cube_noc::exit_by_leg(unsigned terminal, const packet& p, std::uint8_t vc) const {
  const fabric::terminal& t = layout_.terminals[terminal];
  if (topology_.is_tree_vc(vc))
    return trees_->exit_into(t.router, {true, static_cast<std::uint16_t>(terminal)});
  const bool from_link =
      t.kind == fabric::terminal_kind::ucie_port || t.kind == fabric::terminal_kind::sip_port;
  const fabric::leg leg = topology_.leg_of(vc);
  const fabric::entry how = from_link ? fabric::entry::from_cube : fabric::entry::injected;
  const fabric::cube_step step = topology_.enter(sip_, cube_, t.router, how, leg, p.header.destination);
  if (step.next != leg) {
    throw protocol_error(
        fmt::format("{}: packet to sip{} cube{} terminal{} enters at {} on leg {} (expected leg {})",
                    this->name(), p.header.destination.sip, p.header.destination.cube,
                    p.header.destination.terminal, t.name, leg, step.next));
  }
  return step.exit;
}

void cube_noc::on_credit(unsigned terminal, const fabric_phase& phase) {
  if (wires_ && topology_.class_of(phase.vc) == abi::traffic_class::sideband) return;
  const std::uint32_t o = terminal_port(terminal);
  if (outputs_[o].swallowed && !is_request(phase.vc)) return;  // returned when the flits left
  const std::uint64_t cycle = timing_.clock.cycles_covering(phase.head);
  // Reported now, because the core counts the credit only when it is needed.
  report_credits(outputs_[o].link, phase.vc, static_cast<std::int32_t>(phase.flits),
                 timing_.clock.cycles(cycle));
  credit_inbox_.push_back({now(), cycle, o, phase.flits, phase.vc});
  if (core_.starved(o, phase.vc)) arm(cycle);
}

/// Gives the routers what was announced before now and, of a source that announces ahead, what begins now.
/// Within an instant the order of the calls makes no difference: each concerns queues or credits of its own
/// terminal.
inline void cube_noc::open_inbox(sim_time t) {
  for (; opened_ < packet_inbox_.size() && packet_inbox_[opened_].known_from <= t; ++opened_) {
    announced_packet& a = packet_inbox_[opened_];
    if (!has_credits_in()) {
      enters(entry_terminal_[a.where.input], a.where.vc, a.where.flits, a.where.head - 1, a.where.tail);
    }
    core_.arrive(a.where, std::move(a.p));
  }
  if (2 * opened_ >= packet_inbox_.size()) {
    packet_inbox_.erase(packet_inbox_.begin(), packet_inbox_.begin() + static_cast<std::ptrdiff_t>(opened_));
    opened_ = 0;
  }
  std::erase_if(credit_inbox_, [&](const announced_credit& a) {
    if (a.announced == t) return false;
    core_.credit(a.out_port, a.vc, a.flits, a.cycle);
    return true;
  });
}

/// Packets that tree units have sent in this cycle begin in a later one.
void cube_noc::serve_trees() {
  for (const tree_units::returned& r : trees_->take_returned()) core_.credit(r.port, r.vc, r.flits, r.cycle);
  for (tree_units::sent& s : trees_->take_sent()) core_.arrive(s.where, std::move(s.p));
}

void cube_noc::act() {
  guarded(faults_, name(), [this] { serve(); });
}

void cube_noc::serve() {
  const sim_time t = now();
  const std::uint64_t cycle = t.fs / timing_.clock.period.fs;
  ++activations_;
  core_.observe(hub_.wants(events::links));
  core_.observe_credits(hub_.wants(events::credits));
  core_.advance(cycle);
  open_inbox(t);
  core_.run();
  if (trees_) serve_trees();
  if (!wire_arrivals_.empty()) deliver_wires(cycle);
  wake_.clear();  // announcements of this instant may have asked for a wake-up before they were judged
  armed_ = never;
  arm(core_.next(cycle + 1));
  if (!leaving_.empty()) announce_departed(cycle);
  if (!wire_arrivals_.empty()) arm(wire_arrivals_.front().cycle);
  for (std::size_t k = opened_; k < packet_inbox_.size(); ++k) {
    arm(first_chance(packet_inbox_[k]));
    if (!has_credits_in()) break;  // sources announce in order
  }
  for (const announced_credit& a : credit_inbox_) {
    if (core_.starved(a.out_port, a.vc)) arm(a.cycle);
  }
}

switch_core::hop cube_noc::route(std::uint16_t router, std::uint16_t exit, std::uint8_t vc) const {
  if (!straight_) return other_route(router, exit, vc);
  return straight_route(router, exit, vc);
}

/// One index and no branch: whether a packet continues, turns, has arrived or just enters is unpredictable.
inline switch_core::hop cube_noc::straight_route(std::uint16_t router, std::uint16_t exit,
                                                 std::uint8_t vc) const {
  const fabric::router_grid::place from = places_[router];
  const fabric::router_grid::place to = exit_places_[exit];
  const std::size_t on = std::size_t{router} * fabric::sides + fabric::router_grid::straight_side(from, to);
  const std::size_t out = terminals_begin_ + exit;
  const auto arrived = static_cast<std::size_t>((std::int64_t{from ^ to} - 1) >> 63);  // all bits or none
  switch_core::hop h = entry_hops_[vc];
  h.output = port_table_[on ^ ((on ^ out) & arrived)];
  return h;
}

/// Not inlined: routes in a mesh, the common case, need no call.
[[gnu::noinline]] switch_core::hop cube_noc::other_route(std::uint16_t router, std::uint16_t exit,
                                                         std::uint8_t vc) const {
  if (trees_ && topology_.is_tree_vc(vc)) return tree_route(router, exit, vc);
  if (!routes_.wraps() || router >= layout_.routers()) return straight_route(router, exit, vc);
  const fabric::hop h = routes_.next_hop(router, exit, vc);
  if (h.side != fabric::sides) return {side_port(router, h.side), h.vcs.first, h.vcs.count};
  // Requests wait at their target in a queue per VC, whatever their dateline set.
  if (is_request(vc))
    return {terminal_port(exit), topology_.vc(abi::traffic_class::request, 0, vc % topology_.vcs_per_set()),
            1};
  return {terminal_port(exit), h.vcs.first, h.vcs.count};
}

[[gnu::noinline]] switch_core::hop cube_noc::tree_route(std::uint16_t router, std::uint16_t exit,
                                                        std::uint8_t vc) const {
  if (exit < tree_units::first_exit) return {terminal_port(exit), vc, 1};
  const tree_units::exit_port leaves = trees_->exit_port_of(router, exit);
  return {leaves.here ? leaves.port : side_port(router, static_cast<unsigned>(leaves.side)), vc, 1};
}

/// A packet enters in its VC, or in any of its leg.
switch_core::hop cube_noc::entry_hop(std::uint8_t vc) const {
  const abi::traffic_class c = topology_.class_of(vc);
  if (topology_.is_tree_vc(vc) || !topology_.any_vc(c)) return {none, vc, 1};
  const fabric::vc_set set = topology_.injection_vcs(c, topology_.leg_of(vc), {}, {});
  return {none, set.first, set.count};
}

/// A head that should have arrived at the interface before now counts as arriving in the next cycle.
inline void cube_noc::announce(const switch_core::departure& d, packet_ptr&& p) {
  const std::uint64_t head = std::max(d.first + exit_cycles_, core_.cycle() + 1);
  const std::uint32_t flits = p->flits;
  outputs_[d.output].to_terminal->send_packet(std::move(p), d.vc, flits, timing_.clock.cycles(head),
                                              timing_.clock.cycles(d.last + exit_cycles_));
}

/// The interface learns of a packet when its last part leaves; the block's buffer holds the earlier parts.
void cube_noc::eject(const switch_core::departure& d, packet_ptr&& p) {
  const output& o = outputs_[d.output];
  if (o.to_unit) return trees_->take(d, std::move(p));
  if (o.swallowed && is_request(d.vc)) {
    if (const std::uint32_t flits = d.flits - (d.tail ? 1 : 0); flits > 0)
      core_.credit(d.output, d.vc, flits, core_.cycle() + 1);
  } else if (o.swallowed) {
    const std::uint64_t usable = d.first + exit_cycles_ + credit_cycles_;
    core_.credit(d.output, d.vc, d.flits, usable);
    report_credits(o.link, d.vc, static_cast<std::int32_t>(d.flits), timing_.clock.cycles(usable));
  }
  // Parts that came apart are announced as one packet that ends with the last of them.
  if (!d.tail) return;
  if (study_ || d.first == d.last) return announce(d, std::move(p));
  leaving_.push_back({d, std::move(p)});
}

/// No part joins a packet whose last flit has left.
void cube_noc::announce_departed(std::uint64_t cycle) {
  std::erase_if(leaving_, [&](leaving_packet& l) {
    if (l.d.last > cycle) return false;
    announce(l.d, std::move(l.p));
    return true;
  });
  for (const leaving_packet& l : leaving_) arm(l.d.last);
}

/// Not delayed are the earlier parts of a wormhole packet, and packets that a tree unit copies: they count as
/// granted.
void cube_noc::delay(std::uint32_t o, std::uint8_t vc, std::uint64_t last) {
  const auto same = [&](const leaving_packet& l) { return l.d.output == o && l.d.vc == vc; };
  const auto l = std::find_if(leaving_.begin(), leaving_.end(), same);
  if (l != leaving_.end()) l->d.last = last;
}

void cube_noc::return_credit(std::uint32_t input, std::uint8_t vc, std::uint32_t flits, std::uint64_t cycle) {
  if (!has_credits_in()) return;  // sources wait in the interface
  if (outputs_[input].to_unit) return trees_->left(input, vc, flits, cycle);
  send_credit(entry_terminal_[input], vc, flits, cycle);
}

void cube_noc::send_credit(std::uint32_t terminal, std::uint8_t vc, std::uint32_t flits,
                           std::uint64_t cycle) {
  const sim_time usable = timing_.clock.cycles(cycle);
  terminals_[terminal].send_credit(vc, flits, usable);
  report_credits(inject_link(terminal), vc, static_cast<std::int32_t>(flits), usable);
}

void cube_noc::report_credits(std::uint32_t link, std::uint8_t vc, std::int32_t flits, sim_time at) const {
  // The callee tests it, too; with the test here unobserved runs save no registers and read no time.
  if (!hub_.wants(events::credits)) return;
  hw::report_credits(hub_, now(), link, vc, flits, at, timing_.clock.period);
}

void cube_noc::credits_changed(std::uint32_t o, std::uint8_t vc, std::int32_t flits, std::uint64_t first,
                               std::uint64_t last) {
  if (outputs_[o].link == none) return;  // within a network interface
  const clock_domain& clock = timing_.clock;
  hub_.publish(events::link_credits{now(), outputs_[o].link, vc, flits, clock.cycles(first),
                                    clock.cycles(last), clock.period});
}

void cube_noc::occupied(std::uint32_t o, std::uint8_t vc, std::uint32_t flits, std::uint64_t begin,
                        std::uint64_t end) {
  if (outputs_[o].link != none) publish(outputs_[o].link, vc, flits, begin, end);
}

bool cube_noc::wire_arrival::later(const wire_arrival& a, const wire_arrival& b) {
  return std::tie(a.cycle, a.exit, a.entry, a.sequence) > std::tie(b.cycle, b.exit, b.entry, b.sequence);
}

/// Sideband on wires of its own: the latency of an idle NoC, no buffers and no contention.
void cube_noc::send_by_wire(unsigned terminal, packet_ptr p, const fabric_phase& phase, std::uint16_t exit) {
  std::uint64_t links = 0;
  std::uint16_t router = layout_.terminals[terminal].router;
  for (fabric::hop h = topology_.next_hop(sip_, cube_, router, exit, phase.vc); h.side != fabric::sides;
       h = topology_.next_hop(sip_, cube_, router, exit, phase.vc)) {
    router = topology_.next_router(router, static_cast<fabric::side>(h.side));
    ++links;
  }
  const std::uint64_t head = timing_.clock.cycles_covering(phase.head);
  const std::uint64_t leaves = head + links * timing_.hop_cycles + timing_.pipeline_cycles();
  send_credit(terminal, phase.vc, phase.flits, head + credit_cycles_);
  wire_arrivals_.push_back({leaves, exit, static_cast<std::uint16_t>(terminal), wire_sequence_++,
                            std::move(p), phase.vc, phase.flits});
  std::push_heap(wire_arrivals_.begin(), wire_arrivals_.end(), wire_arrival::later);
  arm(leaves);
}

void cube_noc::deliver_wires(std::uint64_t cycle) {
  while (!wire_arrivals_.empty() && wire_arrivals_.front().cycle <= cycle) {
    std::pop_heap(wire_arrivals_.begin(), wire_arrivals_.end(), wire_arrival::later);
    wire_arrival a = std::move(wire_arrivals_.back());
    wire_arrivals_.pop_back();
    link_usage& used = by_wire_[terminal_port(a.exit)];
    ++used.packets;
    used.flits += a.flits;
    const std::uint64_t head = a.cycle + timing_.ni_out_cycles;
    terminals_[a.exit].send_packet(std::move(a.p), a.vc, a.flits, timing_.clock.cycles(head),
                                   timing_.clock.cycles(head + a.flits - 1));
  }
}

void cube_noc::arm(std::uint64_t cycle) {
  if (cycle >= armed_) return;
  armed_ = cycle;
  wake_.set(timing_.clock.cycles(cycle));
}

cube_noc::counters cube_noc::statistics() const {
  const switch_core::counters c = core_.statistics();
  std::uint64_t entered = packets_;
  for_each_entered([&entered](const announced_packet&) { ++entered; });
  return {entered, c.packet_hops, c.flit_hops, c.evaluations, activations_};
}

std::vector<cube_noc::link_usage> cube_noc::injected() const {
  std::vector<link_usage> all = injected_;
  for_each_entered([&](const announced_packet& a) {
    link_usage& u = all[entry_terminal_[a.where.input]];
    ++u.packets;
    u.flits += a.where.flits;
  });
  return all;
}

cube_noc::link_usage cube_noc::usage_of(std::uint32_t o) const {
  link_usage sum = core_.usage_of(o);
  sum.packets += by_wire_[o].packets;
  sum.flits += by_wire_[o].flits;
  return sum;
}

std::uint32_t cube_noc::inject_link(std::uint32_t terminal) const {
  return topology_.inject_link(sip_, cube_, static_cast<std::uint16_t>(terminal));
}

void cube_noc::publish(std::uint32_t link, std::uint8_t vc, std::uint32_t flits, std::uint64_t begin,
                       std::uint64_t end) const {
  hub_.publish(
      events::link_occupied{timing_.clock.cycles(begin), timing_.clock.cycles(end), link, vc, flits});
}

bool cube_noc::quiescent() const {
  if (trees_ && !trees_->idle()) return false;
  if (!core_.empty() || !leaving_.empty() || !packet_inbox_.empty() || !wire_arrivals_.empty()) return false;
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::uint32_t> in_inbox;
  for (const announced_credit& a : credit_inbox_) in_inbox[{a.out_port, a.vc}] += a.flits;
  for (std::uint32_t o = 0; o < outputs_.size(); ++o) {
    for (std::uint8_t vc = 0; vc < vcs_; ++vc) {
      const auto announced = in_inbox.find({o, vc});
      const std::uint32_t coming = announced == in_inbox.end() ? 0 : announced->second;
      if (core_.missing_credits(o, vc) != coming) return false;
    }
  }
  return true;
}

std::size_t cube_noc::state_bytes() const {
  const std::size_t per_port = sizeof(output) + sizeof(link_usage) + sizeof entry_terminal_[0];
  const std::size_t per_terminal = sizeof entry_ports_[0] + sizeof exit_places_[0] + sizeof(link_usage);
  return sizeof *this + core_.state_bytes() + outputs_.size() * per_port +
         layout_.terminals.size() * per_terminal + port_table_.size() * sizeof port_table_[0] +
         places_.size() * sizeof places_[0] + routes_.table_bytes();
}

}  // namespace diecast::hw
