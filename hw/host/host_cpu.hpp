// SPDX-License-Identifier: Apache-2.0
// The host of one SIP: runs a host program against the host's HAL. It reaches the machine through a
// debug socket (backdoor) and through the SIP's IO CPU.
#pragma once

#include <functional>
#include <string>
#include <systemc>
#include <tlm_utils/simple_initiator_socket.h>

#include "hw/base/fault_sink.hpp"
#include "hw/host/io_cpu.hpp"
#include "models/abi/hal.hpp"

namespace diecast::hw {

using host_program = std::function<void(abi::host_hal&)>;

class host_cpu : public sc_core::sc_module, public abi::host_hal {
 public:
  /// `program` starts at time zero; what it throws ends the simulation as a fault of this instance.
  host_cpu(sc_core::sc_module_name name, const config::machine_config& config, sip_id sip,
           host_program program, fault_sink& faults);

  tlm_utils::simple_initiator_socket<host_cpu, 64> debug{"debug"};
  sc_core::sc_port<io_cpu_if> io{"io"};

  /// The program has returned.
  [[nodiscard]] bool finished() const { return finished_; }

  [[nodiscard]] sip_id self() const override { return sip_; }
  [[nodiscard]] sim_time now() const override;
  /// Debug transport; throws protocol_error naming the address when nothing took all the bytes.
  void debug_write(abi::address to, std::span<const std::byte> bytes) override;
  void debug_read(abi::address from, std::span<std::byte> bytes) override;
  /// Returns when every PE has acknowledged its write.
  void write_registers(std::span<const abi::pe_register_write> writes) override;
  /// Costs host.host_cycles, then goes on while the IO CPU works. With host.launch = ideal every
  /// block is in its launch mailbox at once.
  void launch(std::span<const abi::pe_launch> launches) override;
  void wait_for_completions(std::uint32_t launch_id, std::uint32_t count) override;
  void wait_until(sim_time when) override;

 private:
  SC_HAS_PROCESS(host_cpu);
  void run();
  /// Throws protocol_error unless `pe` is one of this SIP's. `what` is asked of it.
  void check(pe_coord pe, const std::string& what) const;
  void access(tlm::tlm_command command, abi::address at, std::byte* data, std::size_t bytes);

  const config::machine_config& config_;
  sip_id sip_;
  host_program program_;
  fault_sink& faults_;
  bool finished_{};
};

}  // namespace diecast::hw
