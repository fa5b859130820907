// SPDX-License-Identifier: Apache-2.0
// Whole PEs on the fabric of one cube, with firmware of the test and the host's backdoor.
#pragma once

#include <fmt/format.h>
#include <memory>
#include <vector>

#include "hw/pe/pe.hpp"
#include "models/comm/install_plan.hpp"
#include "stubs.hpp"
#include "support/fabric_bench.hpp"
#include "support/sc_fixture.hpp"

namespace diecast::test {

class pe_bench : public sc_core::sc_module {
 public:
  /// One PE per program; all else as in one_cube(), or `c` for as many PEs.
  explicit pe_bench(const std::vector<hw::firmware>& programs)
      : pe_bench(programs, one_cube(programs.size())) {}
  pe_bench(const std::vector<hw::firmware>& programs, const config::machine_config& c)
      : pe_bench(sc_core::sc_module_name("bench"), programs, c) {}
  pe_bench(const sc_core::sc_module_name& bench_name, const std::vector<hw::firmware>& programs,
           const config::machine_config& c)
      : sc_module(bench_name), fabric(c, {}, "pod", {fabric::terminal_kind::pe}), steps("steps") {
    for (std::uint32_t p = 0; p < programs.size(); ++p) add(p, programs[p]);
  }

  fabric_bench fabric;
  hw::fault_sink& faults{fabric.faults};
  script steps;
  std::vector<std::unique_ptr<hw::processing_element>> pes;

  /// Debug transport; the response status is kept in `response`.
  template <class T>
  unsigned debug(tlm::tlm_command command, abi::address at, T* data, std::size_t bytes) {
    tlm::tlm_generic_payload& t = access;
    t.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    t.set_command(command);
    t.set_address(at);
    t.set_data_ptr(reinterpret_cast<unsigned char*>(data));
    t.set_data_length(static_cast<unsigned>(bytes));
    t.set_streaming_width(static_cast<unsigned>(bytes));
    const unsigned moved = pes.at(abi::decode(at)->unit)->on_debug(t);
    response = t.get_response_status();
    return moved;
  }
  tlm::tlm_response_status response{};
  tlm::tlm_generic_payload access;  ///< the last one, also one that threw

  void poke(std::uint32_t p, abi::register_offset reg, std::uint64_t value) {
    debug(tlm::TLM_WRITE_COMMAND, pe_address(abi::region::pe_registers, p, reg), &value, sizeof value);
  }
  [[nodiscard]] std::uint64_t peek(std::uint32_t p, abi::register_offset reg) {
    std::uint64_t value = 0;
    debug(tlm::TLM_READ_COMMAND, pe_address(abi::region::pe_registers, p, reg), &value, sizeof value);
    return value;
  }
  void fill_tcm(std::uint32_t p, std::uint64_t offset, std::vector<std::byte> bytes) {
    debug(tlm::TLM_WRITE_COMMAND, pe_address(abi::region::tcm, p, offset), bytes.data(), bytes.size());
  }
  [[nodiscard]] std::vector<std::byte> read_tcm(std::uint32_t p, std::uint64_t offset, std::size_t count) {
    std::vector<std::byte> bytes(count);
    debug(tlm::TLM_READ_COMMAND, pe_address(abi::region::tcm, p, offset), bytes.data(), bytes.size());
    return bytes;
  }
  /// Puts a launch for `start_ns` into the mailbox of a PE at `ns`.
  void launch(double ns, std::uint32_t p, double start_ns, std::uint32_t id = 0) {
    steps.at(ns, [this, p, start_ns, id] {
      abi::launch_block block;
      block.launch_id = id;
      block.target_start = nanoseconds(start_ns);
      std::vector<std::byte> bytes = abi::encode_launch(block);
      debug(tlm::TLM_WRITE_COMMAND, pe_address(abi::region::launch_mailbox, p, 0), bytes.data(),
            bytes.size());
    });
  }
  /// Starts every PE at 100 ns and runs to the end.
  void run() {
    for (std::uint32_t p = 0; p < pes.size(); ++p) launch(0, p, 100);
    run_to_starvation();
  }
  [[nodiscard]] abi::node_address where(std::uint32_t p) const {
    return fabric.topology.locate(pe_address(abi::region::tcm, p, 0));
  }
  [[nodiscard]] double flight(abi::node_address from, abi::node_address to, std::uint32_t flits) const {
    return fabric::idle_latency(fabric.topology, fabric.config, from, to, abi::traffic_class::comm, flits)
        .ns();
  }

 private:
  void add(std::uint32_t p, const hw::firmware& program) {
    const pe_coord self{sip_id{0}, cube_id{0}, pe_id{p}};
    pes.push_back(std::make_unique<hw::processing_element>(
        fmt::format("pe{}", p).c_str(), hw::pe_setup{fabric.config, fabric.hub, faults, self},
        fabric.topology, fabric.pool(0), program, true));
    fabric.attach(pes.back()->terminal(), where(p));
  }
};

}  // namespace diecast::test
