// SPDX-License-Identifier: Apache-2.0
#include "hw/host/host_cpu.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "hw/base/time.hpp"
#include "models/abi/launch.hpp"
#include "models/comm/install_plan.hpp"
#include "models/timing/link.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {

debug_bus::debug_bus(sc_core::sc_module_name module_name, sip_id sip) : sc_module(module_name), sip_(sip) {}

void debug_bus::attach(cube_id cube, abi::region kind, std::uint32_t unit, debug_target& target) {
  if (decoder_.emplace(range{cube, kind, unit}, &target).second) return;
  throw formatted<std::logic_error>("{}: two blocks answer at {}", name(),
                                    abi::describe(abi::encode({sip_, cube, kind, unit, 0})));
}

unsigned debug_bus::on_debug(tlm::tlm_generic_payload& access) {
  const abi::address a = access.get_address();
  const auto where = abi::decode(a);
  if (where && where->sip == sip_) {
    const auto at = decoder_.find({where->cube, where->kind, where->unit});
    if (at != decoder_.end()) return at->second->on_debug(access);
  }
  throw protocol_error("{}: no block of sip {} answers at {}", name(), sip_.value, abi::describe(a));
}

/// A transaction's length is 32 bits; longer accesses are split.
constexpr std::size_t longest_access = std::size_t{1} << 30;

host_cpu::host_cpu(sc_core::sc_module_name module_name, const config::machine_config& config, sip_id sip,
                   host_program program, fault_sink& faults)
    : sc_module(module_name), config_(config), sip_(sip), program_(std::move(program)), faults_(faults) {
  SC_THREAD(run);
  set_stack_size(static_cast<std::size_t>(config.sim.firmware_stack_kib) * 1024);
}

void host_cpu::run() {
  guarded(faults_, name(), [this] {
    program_(*this);
    finished_ = true;
  });
}

sim_time host_cpu::now() const { return hw::now(); }

void host_cpu::access(tlm::tlm_command command, abi::address at, std::byte* data, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const auto length = static_cast<unsigned>(std::min(longest_access, bytes - done));
    tlm::tlm_generic_payload t;
    t.set_command(command);
    t.set_address(at + done);
    t.set_data_ptr(reinterpret_cast<unsigned char*>(data + done));
    t.set_data_length(length);
    t.set_streaming_width(length);
    const unsigned moved = debug->transport_dbg(t);
    if (moved != length || t.is_response_error()) {
      throw protocol_error("{}: debug access to {} moved {} bytes (expected {})", name(),
                           abi::describe(at + done), moved, length);
    }
    done += length;
  }
}

void host_cpu::debug_write(abi::address to, std::span<const std::byte> bytes) {
  // TLM's payload is not const; a write does not change it.
  access(tlm::TLM_WRITE_COMMAND, to, const_cast<std::byte*>(bytes.data()), bytes.size());
}

void host_cpu::debug_read(abi::address from, std::span<std::byte> bytes) {
  access(tlm::TLM_READ_COMMAND, from, bytes.data(), bytes.size());
}

void host_cpu::check(pe_coord pe, const std::string& what) const {
  if (pe.sip == sip_ && config_.shape().contains(pe)) return;
  throw protocol_error("{}: {} (value sip {}, cube {}, pe {}; expected a PE of sip {})", name(), what,
                       pe.sip.value, pe.cube.value, pe.pe.value, sip_.value);
}

void host_cpu::write_registers(std::span<const abi::pe_register_write> writes) {
  for (const abi::pe_register_write& w : writes) check(w.pe, fmt::format("write to register {:#x}", w.reg));
  const std::uint64_t acknowledged = io->writes_acknowledged() + writes.size();
  io->write_registers(writes);
  while (io->writes_acknowledged() < acknowledged) sc_core::wait(io->reported());
}

void host_cpu::launch(std::span<const abi::pe_launch> launches) {
  for (const abi::pe_launch& l : launches) check(l.pe, fmt::format("launch {}", l.block.launch_id));
  if (config_.host.launch == config::launch_kind::ideal) {
    for (const abi::pe_launch& l : launches)
      debug_write(comm::launch_mailbox(l.pe), abi::encode_launch(l.block));
    return;
  }
  sc_core::wait(to_sc(timing::noc_clock(config_).cycles(config_.host.host_cycles)));
  io->launch(launches);
}

void host_cpu::wait_for_completions(std::uint32_t launch_id, std::uint32_t count) {
  while (io->completed(launch_id) < count) sc_core::wait(io->reported());
}

void host_cpu::wait_until(sim_time when) {
  if (when > now()) sc_core::wait(to_sc(when - now()));
}

}  // namespace diecast::hw
