// SPDX-License-Identifier: Apache-2.0
// The host of one SIP: runs a host program against the host's HAL. It reaches the machine through a
// debug socket (backdoor) and through the SIP's IO CPU.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <systemc>
#include <tlm_utils/simple_initiator_socket.h>
#include <tuple>
#include <vector>

#include "hw/base/fault_sink.hpp"
#include "hw/host/io_cpu.hpp"
#include "hw/mem/debug_port.hpp"
#include "models/abi/address.hpp"
#include "models/abi/hal.hpp"

namespace diecast::hw {

/// The backdoor's decoder of one SIP: debug transport in, passed on by address with the full physical
/// address. No time, no timed transport.
class debug_bus : public sc_core::sc_module, private debug_target {
 public:
  debug_bus(sc_core::sc_module_name name, sip_id sip);

  [[nodiscard]] tlm::tlm_target_socket<64>& in() { return in_.socket; }

  /// Accesses to all offsets of a unit's region go to `target`, which may answer to several. During
  /// elaboration only. Throws std::logic_error when another block answers there already.
  void attach(cube_id cube, abi::region kind, std::uint32_t unit, debug_target& target);

 private:
  using range = std::tuple<cube_id, abi::region, std::uint32_t>;
  /// Throws protocol_error naming the address when no block answers there.
  unsigned on_debug(tlm::tlm_generic_payload& access) override;

  sip_id sip_;
  debug_port in_{"in", *this};
  std::map<range, debug_target*> decoder_;
};

using host_program = std::function<void(abi::host_hal&)>;

class host_cpu : public sc_core::sc_module, public abi::host_hal {
 public:
  /// `program` starts at time zero; its exceptions end the simulation as a fault of this instance.
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
  /// Takes host.host_cycles; the IO CPU then works on its own. With host.launch = ideal every launch block is
  /// in its mailbox at once.
  void launch(std::span<const abi::pe_launch> launches) override;
  void wait_for_completions(std::uint32_t launch_id, std::uint32_t count) override;
  void wait_until(sim_time when) override;

 private:
  SC_HAS_PROCESS(host_cpu);
  void run();
  /// Throws protocol_error unless `pe` is in this SIP; `what` names the request in the error.
  void check(pe_coord pe, const std::string& what) const;
  void access(tlm::tlm_command command, abi::address at, std::byte* data, std::size_t bytes);

  const config::machine_config& config_;
  sip_id sip_;
  host_program program_;
  fault_sink& faults_;
  bool finished_{};
};

}  // namespace diecast::hw
