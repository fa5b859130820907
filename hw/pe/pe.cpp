// SPDX-License-Identifier: Apache-2.0
#include "hw/pe/pe.hpp"

namespace diecast::hw {

void register_decoder::debug_write_register(abi::register_offset reg, std::uint64_t value) {
  access(reg, [&](register_file& f) { f.debug_write_register(reg, value); });
}

std::uint64_t register_decoder::debug_read_register(abi::register_offset reg) {
  std::uint64_t value = 0;
  access(reg, [&](register_file& f) { value = f.debug_read_register(reg); });
  return value;
}

processing_element::processing_element(sc_core::sc_module_name name, const pe_setup& setup,
                                       const fabric::topology& topology, packet_pool& pool, firmware program,
                                       bool move_data)
    : sc_module(name),
      tcm("tcm", setup.config, setup.self.pe.value, setup.faults),
      dma("dma", setup, packet_setup{topology, pool, move_data}),
      ipcq("ipcq", setup),
      tag_match("tag_match", setup, packet_setup{topology, pool, move_data}),
      core("core", setup, std::move(program), move_data),
      unit_(setup.self.pe.value) {
  dma.tcm.bind(tcm);
  dma.ipcq.bind(ipcq);
  dma.core.bind(core);
  dma.tag_messages.bind(tag_match);
  ipcq.dma.bind(dma);
  tag_match.tcm.bind(tcm);
  tag_match.out.bind(dma);
  tag_match.events.bind(ipcq);
  core.tcm.bind(tcm);
  core.interrupt.bind(ipcq);
  core.dma.bind(dma);
  core.registers.socket.bind(decoder_.from_core.socket);
}

/// Register files take offsets. The payload's own address is restored, also when the access throws.
unsigned processing_element::debug_registers(std::uint64_t offset, tlm::tlm_generic_payload& t) {
  tlm::tlm_generic_payload inner;
  inner.set_command(t.get_command());
  inner.set_address(offset);
  inner.set_data_ptr(t.get_data_ptr());
  inner.set_data_length(t.get_data_length());
  inner.set_streaming_width(t.get_data_length());
  const unsigned moved = decoder_.from_core.transport_dbg(inner);
  t.set_response_status(inner.get_response_status());
  return moved;
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

unsigned processing_element::on_debug(tlm::tlm_generic_payload& t) {
  const auto serves = [](abi::region r) {
    return r == abi::region::tcm || r == abi::region::pe_registers || r == abi::region::launch_mailbox;
  };
  const auto where = abi::decode(t.get_address());
  if (!where || !serves(where->kind)) {
    t.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return 0;
  }
  const std::uint64_t offset = local_offset(t.get_address(), where, where->kind, unit_, name());
  switch (where->kind) {
    case abi::region::tcm: return tcm.on_debug(t);
    case abi::region::pe_registers: return debug_registers(offset, t);
    default: return debug_launch(t);
  }
}

}  // namespace diecast::hw
