// SPDX-License-Identifier: Apache-2.0
// A TLM-2.0 target socket that answers only debug transport: the host's backdoor to a block.
#pragma once

#include <cstdint>
#include <optional>
#include <systemc>
#include <tlm>

#include "hw/mem/sparse_memory.hpp"
#include "models/abi/address.hpp"

namespace diecast::hw {

class debug_target {
 public:
  virtual ~debug_target() = default;
  /// Debug transport at a physical address; returns the bytes moved.
  virtual unsigned on_debug(tlm::tlm_generic_payload& access) = 0;
};

class debug_port : private tlm::tlm_fw_transport_if<> {
 public:
  debug_port(const char* name, debug_target& owner);
  tlm::tlm_target_socket<64> socket;

 private:
  unsigned transport_dbg(tlm::tlm_generic_payload& access) override { return owner_.on_debug(access); }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi& dmi) override;
  /// Timed transport throws protocol_error: the netlist is wrong.
  void b_transport(tlm::tlm_generic_payload&, sc_core::sc_time&) override;
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) override;

  debug_target& owner_;
};

/// Offset of a physical address within unit `unit` of region `kind`. Throws protocol_error naming
/// `instance` and the address when region or unit differ (SIP and cube are not compared: the fabric
/// has routed the access by them).
[[nodiscard]] std::uint64_t local_offset(abi::address a, abi::region kind, std::uint32_t unit,
                                         const char* instance);
/// local_offset() with `where` = abi::decode(a).
[[nodiscard]] std::uint64_t local_offset(abi::address a, const std::optional<abi::location>& where,
                                         abi::region kind, std::uint32_t unit, const char* instance);

/// Serves a debug access from `memory`; returns the bytes moved, 0 when it is neither read nor write.
unsigned debug_transport(sparse_memory& memory, std::uint64_t offset, tlm::tlm_generic_payload& access);

}  // namespace diecast::hw
