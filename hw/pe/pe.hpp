// SPDX-License-Identifier: Apache-2.0
// A processing element: core, vector unit, TCM, DMA engine and IPCQ engine behind one NoC terminal
// and one debug socket.
#pragma once

#include <systemc>

#include "hw/ipcq/ipcq_engine.hpp"
#include "hw/mem/debug_port.hpp"
#include "hw/mem/tcm.hpp"
#include "hw/pe/dma_engine.hpp"
#include "hw/pe/pe_core.hpp"
#include "hw/tag_match/tag_engine.hpp"

namespace diecast::hw {

/// Sends the registers of a PE to the block that owns them.
class register_decoder : public register_file {
 public:
  register_decoder(ipcq_engine& ipcq, pe_core& core, tag_engine& tag_match)
      : ipcq_{ipcq, ipcq.name()},
        core_{core.own_registers(), core.name()},
        tag_match_{tag_match, tag_match.name()} {}
  register_target from_core{"from_core", *this};

  void write_register(abi::register_offset reg, std::uint64_t value) override {
    access(reg, [&](register_file& f) { f.write_register(reg, value); });
  }
  std::uint64_t read_register(abi::register_offset reg) override {
    std::uint64_t value = 0;
    access(reg, [&](register_file& f) { value = f.read_register(reg); });
    return value;
  }
  void debug_write_register(abi::register_offset reg, std::uint64_t value) override;
  std::uint64_t debug_read_register(abi::register_offset reg) override;

 private:
  struct block {
    register_file& registers;
    const char* name;
  };
  template <class Access>
  void access(abi::register_offset reg, Access what) const {
    const block& owner = protocol::tag_core::owns(reg) ? tag_match_
                         : abi::is_core_register(reg)  ? core_
                                                       : ipcq_;
    guard_access(owner.name, [&] { what(owner.registers); });
  }
  const block ipcq_, core_, tag_match_;
};

class processing_element : public sc_core::sc_module, public debug_target {
 public:
  processing_element(sc_core::sc_module_name name, const pe_setup& setup, const fabric::topology& topology,
                     packet_pool& pool, firmware program, bool move_data);

  /// Backdoor of the host: tcm, pe_registers and launch_mailbox, by physical address. An address of another
  /// PE of the cube throws protocol_error.
  unsigned on_debug(tlm::tlm_generic_payload& t) override;
  [[nodiscard]] terminal_port& terminal() { return dma.terminal(); }

  hw::tcm tcm;
  dma_engine dma;
  ipcq_engine ipcq;
  tag_engine tag_match;
  pe_core core;

 private:
  unsigned debug_registers(std::uint64_t offset, tlm::tlm_generic_payload& t);
  unsigned debug_launch(tlm::tlm_generic_payload& t);

  const std::uint32_t unit_;  ///< number in its cube
  register_decoder decoder_{ipcq, core, tag_match};
};

}  // namespace diecast::hw
