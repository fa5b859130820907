// SPDX-License-Identifier: Apache-2.0
#include "hw/d2d/sip_port.hpp"

#include "hw/base/tell_credits.hpp"

namespace diecast::hw {
namespace {

/// Both directions of a link have the same settings.
std::uint32_t outgoing(const fabric::topology& t, sip_id sip, cube_id cube, fabric::terminal_index terminal) {
  return t.layout(sip, cube).terminals.at(terminal).index;
}

}  // namespace

sip_port::sip_port(sc_core::sc_module_name name, const fabric::topology& topology,
                   const config::machine_config& config, sip_id sip, cube_id cube,
                   fabric::terminal_index terminal, packet_pool& pool, const events::hub& hub)
    : sc_module(name),
      hub_(hub),
      pool_(pool),
      as_bytes_(config.sim.links_as_bytes),
      link_(topology.sip_link_id(outgoing(topology, sip, cube, terminal))),
      sender_(topology, sip_link_parameters(topology, config, outgoing(topology, sip, cube, terminal)),
              *this),
      receiver_(topology, sip_link_parameters(topology, config, outgoing(topology, sip, cube, terminal)),
                {sip, cube, fabric::entry::from_sip, {terminal}, this->name()}, *this),
      noc_in_("from_noc", *this, 0),
      noc_out_("to_noc", *this, 0) {
  in.bind(*this);
  SC_METHOD(act);
  sensitive << wake_;
  dont_initialize();
}

void sip_port::deliver(const sip_message& m) {
  if (m.what == sip_message::kind::credit) {
    sender_.credit(m.vc, m.flits, m.head);
    tell_credits(m.vc, static_cast<std::int32_t>(m.flits), m.head);
    if (!sender_.idle()) wake_at(m.head);
    return;
  }
  packet_ptr p = pool_.make();
  p->header = m.header;
  p->flits = m.flits;
  p->created = m.created;
  p->data = m.data;
  wake_at(receiver_.arrived(0, std::move(p), m.vc, {m.head, m.tail}));
}

void sip_port::on_packet(unsigned, packet_ptr p, const fabric_phase& phase) {
  sender_.arrived(0, std::move(p), phase.vc, phase.tail);
  wake_at(phase.tail);
}

void sip_port::on_credit(unsigned, const fabric_phase& phase) {
  receiver_.noc_credit(0, phase.vc, phase.flits, phase.head);
  if (!receiver_.idle()) wake_at(phase.head);
}

void sip_port::transmit(packet_ptr p, std::uint8_t, std::uint8_t vc, sim_time start,
                        const timing::flit_line::transfer& t) {
  if (hub_.wants(events::links)) {
    hub_.publish(events::link_occupied{start, t.end, link_, vc, p->flits});
  }
  tell_credits(vc, -static_cast<std::int32_t>(p->flits), start);
  send({sip_message::kind::packet, vc, p->flits, t.arrival.head, t.arrival.tail, p->created, p->header,
        p->data});
}

void sip_port::return_noc_credit(std::uint8_t, std::uint8_t vc, std::uint32_t flits, sim_time usable) {
  noc_in_.send_credit(vc, flits, usable);
}

void sip_port::inject(packet_ptr p, std::uint8_t, std::uint8_t vc, sim_time head, sim_time tail) {
  const std::uint32_t flits = p->flits;
  noc_out_.send_packet(std::move(p), vc, flits, head, tail);
}

void sip_port::return_link_credit(std::uint8_t vc, std::uint32_t flits, sim_time usable) {
  sip_message m;
  m.what = sip_message::kind::credit;
  m.vc = vc;
  m.flits = flits;
  m.head = m.tail = usable;
  send(m);
}

void sip_port::send(const sip_message& m) {
  if (as_bytes_) {
    out->deliver(decode_sip_message(encode(m)));
  } else {
    out->deliver(m);
  }
}

void sip_port::tell_credits(std::uint8_t vc, std::int32_t flits, sim_time at) const {
  hw::tell_credits(hub_, now(), link_, vc, flits, at);
}

void sip_port::act() {
  const sim_time t = now();
  armed_ = sim_time::never();
  const sim_time next = std::min(sender_.act(t), receiver_.act(t));
  wake_at(next);
}

void sip_port::wake_at(sim_time t) {
  if (t >= armed_) return;
  armed_ = t;
  wake_.notify(to_sc(t - now()));
}

}  // namespace diecast::hw
