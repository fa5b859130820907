// SPDX-License-Identifier: Apache-2.0
#include "hw/pe/pe.hpp"

#include <cstring>

namespace diecast::hw {

void register_decoder::debug_write_register(abi::register_offset reg, std::uint64_t value) {
  of(reg).debug_write(reg, value);
}

std::uint64_t register_decoder::debug_read_register(abi::register_offset reg) {
  return of(reg).debug_read(reg);
}

processing_element::processing_element(sc_core::sc_module_name name, const pe_setup& setup,
                                       const fabric::topology& topology, packet_pool& pool, firmware program,
                                       bool move_data)
    : sc_module(name),
      tcm("tcm", setup.config, setup.self.pe.value, setup.faults),
      dma("dma",
          dma_config{topology, setup.config, pool, setup.faults, setup.self, move_data, &setup.events}),
      ipcq("ipcq", setup),
      tag_match("tag_match", setup, tag_engine_setup{topology, pool, move_data}),
      core("core", setup, std::move(program), move_data) {
  debug.register_transport_dbg(this, &processing_element::transport_dbg);
  dma.tcm.bind(tcm.access);
  dma.ipcq.bind(ipcq.inbound);
  dma.core.bind(core.launches);
  ipcq.dma.bind(dma.requests);
  dma.tag_messages.bind(tag_match.inbound);
  tag_match.tcm.bind(tcm.access);
  tag_match.out.bind(dma.packets_out);
  tag_match.events.bind(ipcq.event_sink);
  core.tcm.bind(tcm.access);
  core.interrupt.bind(ipcq.interrupt);
  core.dma.bind(dma.requests);
  core.registers.socket.bind(decoder_.from_core.socket);
  debug_to_registers_.socket.bind(decoder_.from_host.socket);
  decoder_.to_ipcq.socket.bind(ipcq.registers.socket);
  decoder_.to_core.socket.bind(core.own_registers().socket);
  decoder_.to_tag_match.socket.bind(tag_match.registers.socket);
  debug_to_tcm_.bind(tcm.debug_socket());
}

unsigned processing_element::debug_registers(const abi::location& where, tlm::tlm_generic_payload& t) {
  if (t.get_data_length() != sizeof(std::uint64_t)) {
    t.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    return 0;
  }
  const auto reg = static_cast<abi::register_offset>(where.offset);
  std::uint64_t value = 0;
  if (t.is_write()) {
    std::memcpy(&value, t.get_data_ptr(), sizeof value);
    debug_to_registers_.debug_write(reg, value);
  } else {
    value = debug_to_registers_.debug_read(reg);
    std::memcpy(t.get_data_ptr(), &value, sizeof value);
  }
  t.set_response_status(tlm::TLM_OK_RESPONSE);
  return sizeof value;
}

unsigned processing_element::debug_launch(tlm::tlm_generic_payload& t) {
  if (!t.is_write()) {
    t.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
    return 0;
  }
  const std::span bytes(reinterpret_cast<const std::byte*>(t.get_data_ptr()), t.get_data_length());
  core.launch_block_arrived(abi::decode_launch(bytes));
  t.set_response_status(tlm::TLM_OK_RESPONSE);
  return t.get_data_length();
}

unsigned processing_element::transport_dbg(tlm::tlm_generic_payload& t) {
  const auto where = abi::decode(t.get_address());
  if (!where) {
    t.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return 0;
  }
  switch (where->kind) {
    case abi::region::tcm: return debug_to_tcm_->transport_dbg(t);
    case abi::region::pe_registers: return debug_registers(*where, t);
    case abi::region::launch_mailbox: return debug_launch(t);
    default: break;
  }
  t.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  return 0;
}

}  // namespace diecast::hw
