// SPDX-License-Identifier: Apache-2.0
// The control CPU of a cube: forwards launch packets to the cube's PEs, each in host.control_cpu_cycles.
#pragma once

#include <systemc>

#include "hw/host/forwarding_cpu.hpp"

namespace diecast::hw {

class control_cpu : public forwarding_cpu {
 public:
  control_cpu(sc_core::sc_module_name name, const fabric::topology& topology,
              const config::machine_config& config, abi::node_address self, packet_pool& pool,
              fault_sink& faults);

 private:
  void receive(const packet_ptr& p) override;

  abi::node_address self_;
};

}  // namespace diecast::hw
