// SPDX-License-Identifier: Apache-2.0
#include "hw/host/io_cpu.hpp"

#include "models/abi/launch.hpp"
#include "models/comm/launch_plan.hpp"

namespace diecast::hw {

io_cpu::io_cpu(sc_core::sc_module_name module_name, const fabric::topology& topology,
               const config::machine_config& config, sip_id sip, packet_pool& pool, fault_sink& faults)
    : forwarding_cpu(module_name, topology, config, comm::io_cpu_node(topology, sip),
                     config.host.io_cpu_cycles, pool, faults) {
  host_side.bind(*this);
  if (config.comm.path == config::transfer_path::staged) {
    staging_ = std::make_unique<staging_engine>(
        "staging", config, pool, [this](packet_ptr p) { send_now(std::move(p)); }, faults);
  }
}

void io_cpu::launch(std::span<const abi::pe_launch> launches) {
  for (const abi::pe_launch& l : launches) {
    forward(make_launch(comm::launch_mailbox(l.pe), comm::control_cpu_node(topology(), l.pe.sip, l.pe.cube),
                        l.block.launch_id, abi::encode_launch(l.block)));
  }
}

void io_cpu::write_registers(std::span<const abi::pe_register_write> writes) {
  for (const abi::pe_register_write& w : writes) {
    forward(make_register_write(
        abi::encode({w.pe.sip, w.pe.cube, abi::region::pe_registers, w.pe.pe.value, w.reg}), w.value));
  }
}

std::uint32_t io_cpu::completed(std::uint32_t launch_id) const {
  const auto at = completed_.find(launch_id);
  return at == completed_.end() ? 0 : at->second;
}

void io_cpu::receive(const packet_ptr& p) {
  if (staging_ && p->header.staged.set) {
    p->header.destination = p->header.staged.to;
    return staging_->stage(*p, sip_id{p->header.destination.sip});
  }
  switch (p->header.kind) {
    case abi::packet_kind::launch_done: ++completed_[p->header.transaction]; break;
    case abi::packet_kind::write_response: ++acknowledged_; break;
    default:
      refuse(*p, staging_ ? "launch_done, write_response or staged data" : "launch_done or write_response");
  }
  reported_.notify(sc_core::SC_ZERO_TIME);
}

}  // namespace diecast::hw
