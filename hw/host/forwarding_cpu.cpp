// SPDX-License-Identifier: Apache-2.0
#include "hw/host/forwarding_cpu.hpp"

#include <fmt/format.h>
#include <span>

#include "hw/base/time.hpp"
#include "models/abi/address.hpp"
#include "models/timing/link.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {

forwarding_cpu::forwarding_cpu(sc_core::sc_module_name module_name, const fabric::topology& topology,
                               const config::machine_config& config, abi::node_address self,
                               std::uint64_t cycles, packet_pool& pool, fault_sink& faults)
    : sc_module(module_name),
      topology_(topology),
      pool_(pool),
      faults_(faults),
      clock_(timing::noc_clock(config)),
      cycles_(cycles),
      terminal_("terminal", topology, config, self, *this) {}

void forwarding_cpu::on_packet(const packet_ptr& p, std::uint8_t vc) {
  guarded(faults_, name(), [&] {
    receive(p);
    terminal_.release(vc, p->flits);
  });
}

void forwarding_cpu::refuse(const packet& p, const char* expected) const {
  throw protocol_error(fmt::format("{}: unexpected {} packet (value {}; expected {})", name(),
                                   abi::to_string(p.header.kind), abi::describe(p.header.target), expected));
}

packet_ptr forwarding_cpu::make_launch(abi::address target, abi::node_address next, std::uint64_t launch_id,
                                       const std::vector<std::byte>& block) const {
  packet_ptr p = pool_.make();
  p->header.kind = abi::packet_kind::launch;
  p->header.target = target;
  p->header.destination = next;
  p->header.transaction = launch_id;
  p->header.payload_bytes = static_cast<std::uint32_t>(block.size());
  p->data = block;
  return p;
}

packet_ptr forwarding_cpu::make_register_write(abi::address target, std::uint64_t value) const {
  packet_ptr p = pool_.make();
  p->header.kind = abi::packet_kind::write_request;
  p->header.target = target;
  p->header.destination = topology_.locate(target);
  p->header.payload_bytes = sizeof value;
  const auto bytes = std::as_bytes(std::span{&value, 1});
  p->data.assign(bytes.begin(), bytes.end());
  return p;
}

void forwarding_cpu::forward(packet_ptr p) {
  inbox_.push_back(std::move(p));
  if (inbox_.size() > 1) return;
  done_.set(clock_.edge_at_or_after(now()) + clock_.cycles(cycles_));
}

void forwarding_cpu::act() {
  guarded(faults_, name(), [this] {
    terminal_.send(std::move(inbox_.front()));
    inbox_.pop_front();
    if (!inbox_.empty()) done_.set(now() + clock_.cycles(cycles_));
  });
}

control_cpu::control_cpu(sc_core::sc_module_name module_name, const fabric::topology& topology,
                         const config::machine_config& config, abi::node_address self, packet_pool& pool,
                         fault_sink& faults)
    : forwarding_cpu(module_name, topology, config, self, config.host.control_cpu_cycles, pool, faults),
      self_(self) {}

void control_cpu::receive(const packet_ptr& p) {
  const auto to = abi::decode(p->header.target);
  const bool for_a_pe = to && to->kind == abi::region::launch_mailbox && to->sip.value == self_.sip &&
                        to->cube.value == self_.cube && to->unit < topology().shape().pes_per_cube;
  if (p->header.kind != abi::packet_kind::launch || !for_a_pe)
    refuse(*p, "launch for the launch mailbox of a PE of this cube");
  forward(make_launch(p->header.target, topology().locate(p->header.target), p->header.transaction, p->data));
}

}  // namespace diecast::hw
