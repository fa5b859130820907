// SPDX-License-Identifier: Apache-2.0
// Construction, walls and statistics of a cube's NoC; cube_switch.cpp has the routers.
#include "hw/noc/cube_noc.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "models/timing/wall_buffers.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {
namespace {

/// Cycles ahead that outputs are entered into the calendar; an output due later looks again then.
std::uint32_t calendar_span(const config::machine_config& c) {
  const std::uint64_t longest = c.noc.hop_cycles + c.noc.ni_in_cycles + c.noc.credit_cycles +
                                abi::traffic_classes * std::uint64_t{timing::max_packet_flits(c)};
  return static_cast<std::uint32_t>(std::bit_ceil(std::max<std::uint64_t>(64, 2 * longest)));
}

std::uint32_t port_count(const fabric::cube_layout& l) {
  const std::uint32_t mesh = 2 * (l.columns * (l.rows - 1) + l.rows * (l.columns - 1));
  return mesh + static_cast<std::uint32_t>(l.terminals.size());
}

}  // namespace

cube_noc::cube_noc(sc_core::sc_module_name name, const fabric::topology& topology,
                   const config::machine_config& config, sip_id sip, cube_id cube, const events::hub& hub)
    : sc_module(name),
      topology_(topology),
      layout_(topology.layout(sip, cube)),
      hub_(hub),
      sip_(sip),
      cube_(cube),
      timing_(timing::noc_timing_of(config)),
      credit_cycles_(config.noc.credit_cycles),
      vcs_(topology.vcs()),
      wires_(config.noc.sideband == config::sideband_kind::wires),
      wormhole_(config.noc.flow == config::noc_flow::wormhole),
      wheel_(port_count(layout_), calendar_span(config)) {
  check(config);
  for (std::uint32_t vc = 0; vc < vcs_; ++vc) {
    const abi::traffic_class c = topology.class_of(static_cast<std::uint8_t>(vc));
    const bool sideband = c == abi::traffic_class::sideband;
    class_of_vc_[vc] = static_cast<std::uint8_t>(c);
    capacity_[vc] = sideband ? fabric::sideband_buffer_flits(config) : fabric::vc_buffer_flits(config);
    inject_capacity_[vc] = sideband ? capacity_[vc] : timing::injection_buffer_flits(config);
    wall_capacity_[vc] =
        sideband ? timing::receive_sideband_flits(config) : timing::receive_buffer_flits(config);
  }
  build_ports();
  build_sockets();
  SC_METHOD(act);
  sensitive << wake_;
  dont_initialize();
}

void cube_noc::check(const config::machine_config& config) const {
  std::vector<problem> problems;
  const auto positive = [&](const char* key, std::uint64_t cycles) {
    if (cycles == 0) problems.push_back({key, "a wall costs at least one cycle", "0", "1 or more"});
  };
  positive("noc.link_cycles", config.noc.link_cycles);
  positive("noc.credit_cycles", config.noc.credit_cycles);
  positive("noc.ni_in_cycles", config.noc.ni_in_cycles);
  positive("noc.ni_out_cycles", config.noc.ni_out_cycles);
  if (config.noc.hop_cycles <= config.noc.link_cycles) {
    problems.push_back({"noc.hop_cycles", "a hop holds a router and its link",
                        std::to_string(config.noc.hop_cycles), "more than noc.link_cycles"});
  }
  const bool wormhole = config.noc.flow == config::noc_flow::wormhole;
  const std::uint32_t least = wormhole ? 1 : timing::max_packet_flits(config);
  if (fabric::vc_buffer_flits(config) < least) {
    problems.push_back(
        {"noc.vc_buffer_flits",
         wormhole ? "a VC needs a buffer" : "virtual cut-through needs room for a whole packet",
         std::to_string(fabric::vc_buffer_flits(config)), fmt::format("{} flits or more", least)});
  }
  if (fabric::sideband_buffer_flits(config) == 0) {
    problems.push_back({"noc.sideband_buffer_flits", "a VC needs a buffer", "0", "1 flit or more"});
  }
  if (vcs_ > class_of_vc_.size()) {
    problems.push_back({"noc", "too many virtual channels", std::to_string(vcs_), "at most 64"});
  }
  if (!problems.empty()) throw user_error(std::move(problems));
}

void cube_noc::build_ports() {
  const std::uint32_t ports = port_count(layout_);
  in_ports_.reserve(ports);
  out_ports_.reserve(ports);
  side_ports_.resize(layout_.routers());
  terminal_ports_.resize(layout_.terminals.size());
  injected_.resize(layout_.terminals.size());
  const auto add_port = [&](std::uint16_t router, std::uint16_t terminal, fabric::side edge) {
    in_port in;
    in.router = router;
    in.terminal = terminal;
    in_ports_.push_back(in);
    out_port out;
    out.router = router;
    out.terminal = terminal;
    out.edge = edge;
    out_ports_.push_back(out);
    return static_cast<std::uint32_t>(out_ports_.size() - 1);
  };
  for (std::uint16_t r = 0; r < layout_.routers(); ++r) {
    const std::uint32_t x = r % layout_.columns;
    const std::uint32_t y = r / layout_.columns;
    const std::array<bool, fabric::sides> has{y + 1 < layout_.rows, x + 1 < layout_.columns, y > 0, x > 0};
    for (unsigned s = 0; s < fabric::sides; ++s) {
      side_ports_[r][s] = has[s] ? add_port(r, 0, static_cast<fabric::side>(s)) : none;
    }
    for (std::uint16_t t = 0; t < layout_.terminals.size(); ++t) {
      if (layout_.terminals[t].router == r) terminal_ports_[t] = add_port(r, t, {});
    }
  }
  for (std::uint32_t r = 0; r < layout_.routers(); ++r) {
    const std::array<std::uint32_t, fabric::sides> beyond{r + layout_.columns, r + 1, r - layout_.columns,
                                                          r - 1};
    for (unsigned s = 0; s < fabric::sides; ++s) {
      const std::uint32_t from = side_ports_[r][s];
      if (from == none) continue;
      const auto back = static_cast<unsigned>(fabric::opposite(static_cast<fabric::side>(s)));
      const std::uint32_t to = side_ports_[beyond[s]][back];
      out_ports_[from].downstream = to;
      in_ports_[to].upstream = from;
    }
  }
  in_vcs_.resize(std::size_t{ports} * vcs_);
  out_vcs_.resize(std::size_t{ports} * vcs_);
  for (std::uint32_t o = 0; o < ports; ++o) {
    const auto& capacity = out_ports_[o].downstream == none ? wall_capacity_ : capacity_;
    for (std::uint32_t vc = 0; vc < vcs_; ++vc) out_vcs_[o * vcs_ + vc].credits = capacity[vc];
  }
}

void cube_noc::build_sockets() {
  for (unsigned t = 0; t < layout_.terminals.size(); ++t) {
    std::string base = layout_.terminals[t].name;
    std::replace(base.begin(), base.end(), '.', '_');  // a dot separates instances
    ins_.emplace_back((base + "_in").c_str(), static_cast<fabric_receiver&>(*this), t);
    outs_.emplace_back((base + "_out").c_str(), static_cast<credit_receiver&>(*this), t);
  }
}

void cube_noc::on_packet(unsigned terminal, packet_ptr p, const fabric_phase& phase) {
  ++counters_.packets;
  ++injected_[terminal].packets;
  injected_[terminal].flits += phase.flits;
  const std::uint16_t exit = exit_of(terminal, *p, phase.vc);
  const std::uint64_t head = timing_.clock.cycles_covering(phase.head);
  const std::uint64_t tail = timing_.clock.cycles_covering(phase.tail);
  if (hub_.wants(events::links)) {
    const std::uint64_t ni = timing_.ni_in_cycles;
    hub_.publish(events::link_occupied{timing_.clock.cycles(head - ni), timing_.clock.cycles(tail - ni + 1),
                                       inject_link(terminal), phase.vc, phase.flits});
  }
  if (wires_ && topology_.class_of(phase.vc) == abi::traffic_class::sideband) {
    send_by_wire(terminal, std::move(p), phase, exit);
    return;
  }
  const std::uint32_t index = take_slot();
  const std::uint64_t pipeline = timing_.pipeline_cycles();
  slot& s = slots_[index];
  s.ready = head + pipeline;
  s.tail_ready = tail + pipeline;
  s.p = std::move(p);
  s.flits = phase.flits;
  s.in_port = terminal_ports_[terminal];
  s.exit = exit;
  s.vc = phase.vc;
  s.traffic_class = class_of_vc_[phase.vc] & 0x7f;
  s.tail = true;
  packet_inbox_.push_back({now(), index});
  arm(s.ready);
}

/// Which terminal the packet leaves this cube by. The block or adapter that sent it has chosen its leg;
/// a leg that disagrees with the topology would break the proof that routes cannot deadlock.
std::uint16_t cube_noc::exit_of(unsigned terminal, const packet& p, std::uint8_t vc) const {
  const fabric::terminal& t = layout_.terminals[terminal];
  const bool from_link =
      t.kind == fabric::terminal_kind::ucie_lane || t.kind == fabric::terminal_kind::sip_port;
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
  const std::uint32_t o = terminal_ports_[terminal];
  const std::uint64_t cycle = timing_.clock.cycles_covering(phase.head);
  credit_inbox_.push_back({now(), cycle, o, phase.flits, phase.vc});
  if (starved(o, phase.vc)) arm(cycle);
}

/// Takes in what was announced before now. Within an instant the order of the calls makes no
/// difference: each concerns queues or credits of its own terminal.
void cube_noc::open_inbox() {
  const sim_time t = now();
  std::erase_if(packet_inbox_, [&](const announced_packet& a) {
    if (a.announced == t) return false;
    enqueue(a.slot, cycle_);
    return true;
  });
  std::erase_if(credit_inbox_, [&](const announced_credit& a) {
    if (a.announced == t) return false;
    add_credit(a.out_port, a.vc, a.flits, a.cycle);
    return true;
  });
}

bool cube_noc::wire_arrival::later(const wire_arrival& a, const wire_arrival& b) {
  return std::tie(a.cycle, a.exit, a.entry, a.sequence) > std::tie(b.cycle, b.exit, b.entry, b.sequence);
}

/// Sideband on wires of its own: the latency of an idle NoC, no buffers and no contention.
void cube_noc::send_by_wire(unsigned terminal, packet_ptr p, const fabric_phase& phase, std::uint16_t exit) {
  std::uint64_t links = 0;
  std::uint16_t router = layout_.terminals[terminal].router;
  for (std::uint32_t o = output_of(router, exit); out_ports_[o].downstream != none;
       o = output_of(router, exit)) {
    router = in_ports_[out_ports_[o].downstream].router;
    ++links;
  }
  const std::uint64_t head = timing_.clock.cycles_covering(phase.head);
  const std::uint64_t leaves = head + links * timing_.hop_cycles + timing_.pipeline_cycles();
  ins_[terminal].send_credit(phase.vc, phase.flits, timing_.clock.cycles(head + credit_cycles_));
  wire_arrivals_.push_back({leaves, exit, static_cast<std::uint16_t>(terminal), wire_sequence_++,
                            std::move(p), phase.vc, phase.flits});
  std::push_heap(wire_arrivals_.begin(), wire_arrivals_.end(), wire_arrival::later);
  arm(leaves);
}

void cube_noc::deliver_wires() {
  while (!wire_arrivals_.empty() && wire_arrivals_.front().cycle <= cycle_) {
    std::pop_heap(wire_arrivals_.begin(), wire_arrivals_.end(), wire_arrival::later);
    wire_arrival a = std::move(wire_arrivals_.back());
    wire_arrivals_.pop_back();
    out_port& out = out_ports_[terminal_ports_[a.exit]];
    ++out.usage.packets;
    out.usage.flits += a.flits;
    const std::uint64_t head = a.cycle + timing_.ni_out_cycles;
    outs_[a.exit].send_packet(std::move(a.p), a.vc, a.flits, timing_.clock.cycles(head),
                              timing_.clock.cycles(head + a.flits - 1));
  }
}

void cube_noc::arm(std::uint64_t cycle) {
  if (cycle >= armed_) return;
  armed_ = cycle;
  wake_.notify(to_sc(timing_.clock.cycles(cycle) - now()));
}

std::uint32_t cube_noc::take_slot() {
  ++used_slots_;
  if (free_slots_ == none) {
    slots_.emplace_back();
    return static_cast<std::uint32_t>(slots_.size() - 1);
  }
  const std::uint32_t index = free_slots_;
  free_slots_ = slots_[index].next;
  return index;
}

void cube_noc::free_slot(std::uint32_t index) {
  slots_[index].p = {};
  slots_[index].next = free_slots_;
  free_slots_ = index;
  --used_slots_;
}

std::uint32_t cube_noc::link_of(const out_port& o) const {
  return o.downstream == none ? topology_.eject_link(sip_, cube_, o.terminal)
                              : topology_.mesh_link(sip_, cube_, o.router, o.edge);
}

std::uint32_t cube_noc::inject_link(std::uint32_t terminal) const {
  return topology_.inject_link(sip_, cube_, static_cast<std::uint16_t>(terminal));
}

void cube_noc::publish(std::uint32_t link, const slot& s, std::uint64_t head, std::uint64_t end) const {
  hub_.publish(
      events::link_occupied{timing_.clock.cycles(head), timing_.clock.cycles(end), link, s.vc, s.flits});
}

bool cube_noc::quiescent() const {
  if (used_slots_ != 0 || !wire_arrivals_.empty()) return false;
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::uint32_t> in_inbox;
  for (const announced_credit& a : credit_inbox_) in_inbox[{a.out_port, a.vc}] += a.flits;
  for (std::uint32_t o = 0; o < out_ports_.size(); ++o) {
    const auto& capacity = out_ports_[o].downstream == none ? wall_capacity_ : capacity_;
    for (std::uint32_t vc = 0; vc < vcs_; ++vc) {
      const out_vc& ov = out_vcs_[o * vcs_ + vc];
      std::uint32_t credits = ov.credits;
      for (std::uint32_t r = ov.first; r != none; r = returning_[r].next) credits += returning_[r].flits;
      const auto announced = in_inbox.find({o, static_cast<std::uint8_t>(vc)});
      if (announced != in_inbox.end()) credits += announced->second;
      if (credits != capacity[vc]) return false;
    }
  }
  return true;
}

std::size_t cube_noc::state_bytes() const {
  return sizeof *this + in_ports_.size() * (sizeof(in_port) + sizeof(out_port)) +
         in_vcs_.size() * (sizeof(in_vc) + sizeof(out_vc)) + side_ports_.size() * sizeof side_ports_[0] +
         wheel_.state_bytes();
}

}  // namespace diecast::hw
