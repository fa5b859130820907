// SPDX-License-Identifier: Apache-2.0
// A PE's tightly coupled memory: banks over which blocks of bank_bytes interleave, each serving one
// block per cycle, first come first served. Requests of one cycle are taken in order of their port.
// A read's data is there tcm_read_cycles after its last block is served.
#pragma once

#include <cstdint>
#include <systemc>
#include <vector>

#include "hw/base/fault_sink.hpp"
#include "hw/base/timed_queue.hpp"
#include "hw/mem/debug_port.hpp"
#include "hw/mem/sparse_memory.hpp"
#include "hw/mem/tcm_if.hpp"
#include "models/abi/dispatch_table.hpp"
#include "models/config/machine_config.hpp"
#include "models/timing/servers.hpp"
#include "models/types/time.hpp"

namespace diecast::hw {

class tcm : public sc_core::sc_module, public debug_target, public tcm_if {
 public:
  struct counters {
    std::uint64_t accesses{};       ///< requests arbitrated
    std::uint64_t bytes_read{};     ///< bytes
    std::uint64_t bytes_written{};  ///< bytes
    std::uint64_t wait_cycles{};    ///< cycles requests took beyond what they take alone
  };

  /// `unit` is the PE's number within its cube: the unit of the physical addresses it answers to.
  tcm(sc_core::sc_module_name name, const config::machine_config& config, std::uint32_t unit,
      fault_sink& faults);

  unsigned on_debug(tlm::tlm_generic_payload& access) override;

  [[nodiscard]] const counters& statistics() const { return counters_; }
  [[nodiscard]] std::uint64_t busy_bank_cycles() const { return banks_.busy_bank_cycles(); }
  [[nodiscard]] const sparse_memory& memory() const { return memory_; }
  /// The dispatch table, behind memory(): for the core's calls and debug transport only.
  [[nodiscard]] const abi::dispatch_image& dispatch_table() const { return dispatch_; }

 private:
  void request(const tcm_request& r, sim_time at) override;
  void read_operand(std::uint64_t offset, std::span<std::byte> out) override;
  [[nodiscard]] std::uint64_t dispatch_word(unsigned index) const override { return dispatch_.at(index); }
  void debug_read(std::uint64_t offset, std::span<std::byte> out) override;
  void debug_write(std::uint64_t offset, std::span<const std::byte> in) override;
  void arbitrate();
  void serve(const tcm_request& r);

  std::uint32_t unit_;
  fault_sink& faults_;
  clock_domain clock_;
  std::uint64_t read_cycles_;
  timing::bank_array banks_;
  sparse_memory memory_;
  abi::dispatch_image dispatch_{abi::loaded_table()};
  calendar calendar_{*this, [this] { arbitrate(); }};
  std::vector<tcm_request> posted_;
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t sequence_{};
  counters counters_;
};

}  // namespace diecast::hw
