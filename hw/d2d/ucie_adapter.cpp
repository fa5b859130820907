// SPDX-License-Identifier: Apache-2.0
#include "hw/d2d/ucie_adapter.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "hw/base/fabric_socket.hpp"

namespace diecast::hw {

namespace {

link_receiver::place named(link_receiver::place where, const char* name) {
  where.name = name;
  return where;
}

}  // namespace

link_end::link_end(sc_core::sc_module_name module_name, const fabric::topology& topology,
                   const link_parameters& parameters, link_receiver::place where, std::uint32_t link,
                   const events::hub& hub, fault_sink& faults)
    : sc_module(module_name),
      hub_(hub),
      faults_(faults),
      link_(link),
      sender_(topology, parameters, *this),
      receiver_(topology, parameters, named(std::move(where), name()), *this) {}

void link_end::packet_from_noc(std::uint8_t port, packet_ptr p, const fabric_phase& phase) {
  sender_.arrived(port, std::move(p), phase.vc, phase.tail);
  wake_.set(phase.tail);
}

void link_end::credit_from_noc(std::uint8_t port, const fabric_phase& phase) {
  receiver_.noc_credit(port, phase.vc, phase.flits, phase.head);
  if (!receiver_.idle()) wake_.set(phase.head);
}

void link_end::packet_from_link(std::uint8_t port, packet_ptr p, std::uint8_t vc,
                                const timing::span& arrival) {
  guarded(faults_, name(), [&] { wake_.set(receiver_.arrived(port, std::move(p), vc, arrival)); });
}

void link_end::credit_from_link(std::uint8_t vc, std::uint32_t flits, sim_time usable) {
  sender_.credit(vc, flits, usable);
  report_credits(hub_, now(), link_, vc, static_cast<std::int32_t>(flits), usable);
  if (!sender_.idle()) wake_.set(usable);
}

void link_end::report_sent(const packet& p, std::uint8_t vc, sim_time start, sim_time end) const {
  if (hub_.wants(events::links)) hub_.publish(events::link_occupied{start, end, link_, vc, p.flits});
  report_credits(hub_, now(), link_, vc, -static_cast<std::int32_t>(p.flits), start);
}

void link_end::act() {
  guarded(faults_, name(), [this] {
    const sim_time t = now();
    wake_.set(std::min(sender_.act(t), receiver_.act(t)));
  });
}

namespace {

std::vector<fabric::terminal_index> port_terminals(const fabric::cube_layout& layout, fabric::side edge) {
  std::vector<fabric::terminal_index> ports;
  for (fabric::terminal_index t = 0; t < layout.terminals.size(); ++t) {
    const fabric::terminal& terminal = layout.terminals[t];
    if (terminal.kind != fabric::terminal_kind::ucie_port || terminal.edge != edge) continue;
    if (ports.size() <= terminal.index) ports.resize(terminal.index + 1);
    ports[terminal.index] = t;
  }
  return ports;
}

}  // namespace

ucie_adapter::ucie_adapter(sc_core::sc_module_name name, const fabric::topology& topology,
                           const config::machine_config& config, sip_id sip, cube_id cube, fabric::side edge,
                           const events::hub& hub, fault_sink& faults)
    : ucie_adapter(name, topology, config, sip, cube, edge, port_terminals(topology.layout(sip, cube), edge),
                   hub, faults) {}

ucie_adapter::ucie_adapter(sc_core::sc_module_name name, const fabric::topology& topology,
                           const config::machine_config& config, sip_id sip, cube_id cube, fabric::side edge,
                           const std::vector<fabric::terminal_index>& terminals, const events::hub& hub,
                           fault_sink& faults)
    : link_end(
          name, topology,
          ucie_parameters(topology, config, sip, cube, edge, static_cast<std::uint32_t>(terminals.size())),
          {sip, cube, fabric::entry::from_cube, terminals, {}}, topology.ucie_link(sip, cube, edge), hub,
          faults),
      terminals_(terminals),
      link_port_(static_cast<unsigned>(terminals_.size())),
      link_out_("link_out", *this, link_port_),
      link_in_("link_in", *this, link_port_) {
  for (unsigned port = 0; port < link_port_; ++port)
    ports_.emplace_back(fmt::format("noc{}", port).c_str(), static_cast<fabric_owner&>(*this), port);
}

void ucie_adapter::on_packet(unsigned port, packet_ptr&& p, const fabric_phase& phase) {
  if (port == link_port_) {
    packet_from_link(phase.port, std::move(p), phase.vc, {phase.head, phase.tail});
  } else {
    packet_from_noc(static_cast<std::uint8_t>(port), std::move(p), phase);
  }
}

void ucie_adapter::on_credit(unsigned port, const fabric_phase& phase) {
  if (port == link_port_) {
    credit_from_link(phase.vc, phase.flits, phase.head);
  } else {
    credit_from_noc(static_cast<std::uint8_t>(port), phase);
  }
}

void ucie_adapter::transmit(packet_ptr p, std::uint8_t port, std::uint8_t vc, sim_time start,
                            const timing::flit_line::transfer& t) {
  report_sent(*p, vc, start, t.end);
  const std::uint32_t flits = p->flits;
  link_out_.send_packet(std::move(p), vc, flits, t.arrival.head, t.arrival.tail, port);
}

void ucie_adapter::return_noc_credit(std::uint8_t port, std::uint8_t vc, std::uint32_t flits,
                                     sim_time usable) {
  ports_[port].send_credit(vc, flits, usable);
}

void ucie_adapter::inject(packet_ptr p, std::uint8_t port, std::uint8_t vc, sim_time head, sim_time tail) {
  const std::uint32_t flits = p->flits;
  ports_[port].send_packet(std::move(p), vc, flits, head, tail);
}

void ucie_adapter::return_link_credit(std::uint8_t vc, std::uint32_t flits, sim_time usable) {
  link_in_.send_credit(vc, flits, usable);
}

namespace {

/// Number of the outgoing link of a SIP port. The incoming one has the same settings.
std::uint32_t outgoing(const fabric::topology& t, sip_id sip, cube_id cube, fabric::terminal_index terminal) {
  return t.layout(sip, cube).terminals.at(terminal).index;
}

}  // namespace

sip_port::sip_port(sc_core::sc_module_name name, const fabric::topology& topology,
                   const config::machine_config& config, sip_id sip, cube_id cube,
                   fabric::terminal_index terminal, packet_pool& pool, const events::hub& hub,
                   fault_sink& faults)
    : link_end(name, topology, sip_link_parameters(topology, config, outgoing(topology, sip, cube, terminal)),
               {sip, cube, fabric::entry::from_sip, {terminal}, {}},
               topology.sip_link_id(outgoing(topology, sip, cube, terminal)), hub, faults),
      pool_(pool),
      as_bytes_(config.sim.links_as_bytes),
      noc_("noc", *this, 0) {
  in.bind(*this);
}

void sip_port::deliver(const sip_message& m) {
  if (m.what == sip_message::kind::credit) return credit_from_link(m.vc, m.flits, m.head);
  packet_ptr p = pool_.make();
  p->header = m.header;
  p->flits = m.flits;
  p->created = m.created;
  p->data = m.data;
  packet_from_link(0, std::move(p), m.vc, {m.head, m.tail});
}

void sip_port::on_packet(unsigned, packet_ptr&& p, const fabric_phase& phase) {
  packet_from_noc(0, std::move(p), phase);
}

void sip_port::on_credit(unsigned, const fabric_phase& phase) { credit_from_noc(0, phase); }

void sip_port::transmit(packet_ptr p, std::uint8_t, std::uint8_t vc, sim_time start,
                        const timing::flit_line::transfer& t) {
  report_sent(*p, vc, start, t.end);
  send({sip_message::kind::packet, vc, p->flits, t.arrival.head, t.arrival.tail, p->created, p->header,
        p->data});
}

void sip_port::return_noc_credit(std::uint8_t, std::uint8_t vc, std::uint32_t flits, sim_time usable) {
  noc_.send_credit(vc, flits, usable);
}

void sip_port::inject(packet_ptr p, std::uint8_t, std::uint8_t vc, sim_time head, sim_time tail) {
  const std::uint32_t flits = p->flits;
  noc_.send_packet(std::move(p), vc, flits, head, tail);
}

void sip_port::return_link_credit(std::uint8_t vc, std::uint32_t flits, sim_time usable) {
  sip_message m;
  m.what = sip_message::kind::credit;
  m.vc = vc;
  m.flits = flits;
  m.head = m.tail = usable;
  m.created = now();
  send(m);
}

void sip_port::send(const sip_message& m) {
  if (as_bytes_) {
    out->deliver(decode_sip_message(encode(m)));
  } else {
    out->deliver(m);
  }
}

}  // namespace diecast::hw
