// SPDX-License-Identifier: Apache-2.0
#include "hw/d2d/ucie_adapter.hpp"

#include <fmt/format.h>

#include "hw/base/tell_credits.hpp"

namespace diecast::hw {
namespace {

std::vector<fabric::terminal_index> lane_terminals(const fabric::cube_layout& layout, fabric::side edge) {
  std::vector<fabric::terminal_index> lanes;
  for (fabric::terminal_index t = 0; t < layout.terminals.size(); ++t) {
    const fabric::terminal& terminal = layout.terminals[t];
    if (terminal.kind != fabric::terminal_kind::ucie_lane || terminal.edge != edge) continue;
    if (lanes.size() <= terminal.index) lanes.resize(terminal.index + 1);
    lanes[terminal.index] = t;
  }
  return lanes;
}

}  // namespace

ucie_adapter::ucie_adapter(sc_core::sc_module_name name, const fabric::topology& topology,
                           const config::machine_config& config, sip_id sip, cube_id cube, fabric::side edge,
                           const events::hub& hub)
    : sc_module(name),
      hub_(hub),
      terminals_(lane_terminals(topology.layout(sip, cube), edge)),
      link_(topology.ucie_link(sip, cube, edge)),
      link_port_(static_cast<unsigned>(terminals_.size())),
      sender_(topology, ucie_parameters(topology, config, sip, cube, edge, link_port_), *this),
      receiver_(topology, ucie_parameters(topology, config, sip, cube, edge, link_port_),
                {sip, cube, fabric::entry::from_cube, terminals_, this->name()}, *this),
      link_out_("link_out", *this, link_port_),
      link_in_("link_in", *this, link_port_) {
  for (unsigned lane = 0; lane < link_port_; ++lane) {
    lane_ins_.emplace_back(fmt::format("from_noc{}", lane).c_str(), static_cast<fabric_receiver&>(*this),
                           lane);
    lane_outs_.emplace_back(fmt::format("to_noc{}", lane).c_str(), static_cast<credit_receiver&>(*this),
                            lane);
  }
  SC_METHOD(act);
  sensitive << wake_;
  dont_initialize();
}

void ucie_adapter::on_packet(unsigned port, packet_ptr p, const fabric_phase& phase) {
  if (port == link_port_) {
    wake_at(receiver_.arrived(phase.lane, std::move(p), phase.vc, {phase.head, phase.tail}));
  } else {
    sender_.arrived(static_cast<std::uint8_t>(port), std::move(p), phase.vc, phase.tail);
    wake_at(phase.tail);
  }
}

void ucie_adapter::on_credit(unsigned port, const fabric_phase& phase) {
  if (port == link_port_) {
    sender_.credit(phase.vc, phase.flits, phase.head);
    tell_credits(phase.vc, static_cast<std::int32_t>(phase.flits), phase.head);
    if (!sender_.idle()) wake_at(phase.head);
  } else {
    receiver_.noc_credit(static_cast<std::uint8_t>(port), phase.vc, phase.flits, phase.head);
    if (!receiver_.idle()) wake_at(phase.head);
  }
}

void ucie_adapter::transmit(packet_ptr p, std::uint8_t lane, std::uint8_t vc, sim_time start,
                            const timing::flit_line::transfer& t) {
  const std::uint32_t flits = p->flits;
  if (hub_.wants(events::links)) {
    hub_.publish(events::link_occupied{start, t.end, link_, vc, flits});
  }
  tell_credits(vc, -static_cast<std::int32_t>(flits), start);
  link_out_.send_packet(std::move(p), vc, flits, t.arrival.head, t.arrival.tail, lane);
}

void ucie_adapter::return_noc_credit(std::uint8_t lane, std::uint8_t vc, std::uint32_t flits,
                                     sim_time usable) {
  lane_ins_[lane].send_credit(vc, flits, usable);
}

void ucie_adapter::inject(packet_ptr p, std::uint8_t lane, std::uint8_t vc, sim_time head, sim_time tail) {
  const std::uint32_t flits = p->flits;
  lane_outs_[lane].send_packet(std::move(p), vc, flits, head, tail);
}

void ucie_adapter::return_link_credit(std::uint8_t vc, std::uint32_t flits, sim_time usable) {
  link_in_.send_credit(vc, flits, usable);
}

void ucie_adapter::tell_credits(std::uint8_t vc, std::int32_t flits, sim_time at) const {
  hw::tell_credits(hub_, now(), link_, vc, flits, at);
}

void ucie_adapter::act() {
  const sim_time t = now();
  armed_ = sim_time::never();
  const sim_time next = std::min(sender_.act(t), receiver_.act(t));
  wake_at(next);
}

void ucie_adapter::wake_at(sim_time t) {
  if (t >= armed_) return;
  armed_ = t;
  wake_.notify(to_sc(t - now()));
}

}  // namespace diecast::hw
