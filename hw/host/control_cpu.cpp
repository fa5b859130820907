// SPDX-License-Identifier: Apache-2.0
#include "hw/host/control_cpu.hpp"

#include "models/abi/address.hpp"

namespace diecast::hw {

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
