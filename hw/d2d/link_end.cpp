// SPDX-License-Identifier: Apache-2.0
#include "hw/d2d/link_end.hpp"

#include <algorithm>
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

void link_end::packet_from_noc(std::uint8_t lane, packet_ptr p, const fabric_phase& phase) {
  sender_.arrived(lane, std::move(p), phase.vc, phase.tail);
  wake_.set(phase.tail);
}

void link_end::credit_from_noc(std::uint8_t lane, const fabric_phase& phase) {
  receiver_.noc_credit(lane, phase.vc, phase.flits, phase.head);
  if (!receiver_.idle()) wake_.set(phase.head);
}

void link_end::packet_from_link(std::uint8_t lane, packet_ptr p, std::uint8_t vc,
                                const timing::span& arrival) {
  guarded(faults_, name(), [&] { wake_.set(receiver_.arrived(lane, std::move(p), vc, arrival)); });
}

void link_end::credit_from_link(std::uint8_t vc, std::uint32_t flits, sim_time usable) {
  sender_.credit(vc, flits, usable);
  report_credits(hub_, now(), link_, vc, static_cast<std::int32_t>(flits), usable);
  if (!sender_.idle()) wake_.set(usable);
}

void link_end::tell_sent(const packet& p, std::uint8_t vc, sim_time start, sim_time end) const {
  if (hub_.wants(events::links)) hub_.publish(events::link_occupied{start, end, link_, vc, p.flits});
  report_credits(hub_, now(), link_, vc, -static_cast<std::int32_t>(p.flits), start);
}

void link_end::act() {
  guarded(faults_, name(), [this] {
    const sim_time t = now();
    wake_.set(std::min(sender_.act(t), receiver_.act(t)));
  });
}

}  // namespace diecast::hw
