// SPDX-License-Identifier: Apache-2.0
#include "hw/mem/debug_port.hpp"

#include "models/types/error.hpp"

namespace diecast::hw {

debug_port::debug_port(const char* name, debug_target& owner) : socket(name), owner_(owner) {
  socket.bind(*static_cast<tlm::tlm_fw_transport_if<>*>(this));
}

bool debug_port::get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi& dmi) {
  dmi.allow_none();
  return false;
}

void debug_port::b_transport(tlm::tlm_generic_payload& access, sc_core::sc_time&) {
  throw protocol_error("{}: timed access to a debug socket (value address {:#x}; expected transport_dbg)",
                       socket.name(), access.get_address());
}

tlm::tlm_sync_enum debug_port::nb_transport_fw(tlm::tlm_generic_payload& access, tlm::tlm_phase&,
                                               sc_core::sc_time& delay) {
  b_transport(access, delay);
  return tlm::TLM_COMPLETED;
}

std::uint64_t local_offset(abi::address a, abi::region kind, std::uint32_t unit, const char* instance) {
  return local_offset(a, abi::decode(a), kind, unit, instance);
}

std::uint64_t local_offset(abi::address a, const std::optional<abi::location>& where, abi::region kind,
                           std::uint32_t unit, const char* instance) {
  if (where && where->kind == kind && where->unit == unit) return where->offset;
  throw protocol_error("{}: an access came to the wrong block (value {}; expected {}[{}])", instance,
                       abi::describe(a), abi::to_string(kind), unit);
}

unsigned debug_transport(sparse_memory& memory, std::uint64_t offset, tlm::tlm_generic_payload& access) {
  auto* data = reinterpret_cast<std::byte*>(access.get_data_ptr());
  const unsigned bytes = access.get_data_length();
  if (access.is_write()) {
    memory.write(offset, {data, bytes});
  } else if (access.is_read()) {
    memory.peek(offset, {data, bytes});
  } else {
    return 0;
  }
  access.set_response_status(tlm::TLM_OK_RESPONSE);
  return bytes;
}

}  // namespace diecast::hw
