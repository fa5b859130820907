// SPDX-License-Identifier: Apache-2.0
// DMA engines on the fabric of one cube, each with a stub TCM and a stub of what listens to it.
#pragma once

#include <fmt/format.h>
#include <memory>
#include <vector>

#include "hw/pe/dma_engine.hpp"
#include "stubs.hpp"
#include "support/fabric_bench.hpp"
#include "support/sc_fixture.hpp"

namespace diecast::test {

class dma_bench {
 public:
  explicit dma_bench(const config::machine_config& c = one_cube(3))
      : fabric(c, {}, "pod", {fabric::terminal_kind::pe}), steps("steps") {
    for (std::uint32_t p = 0; p < fabric.config.cube.pes; ++p) add(p);
  }

  struct node {
    std::unique_ptr<stub_tcm> tcm;
    std::unique_ptr<stub_listener> listener;
    std::unique_ptr<hw::dma_engine> dma;
    std::unique_ptr<departures> out;
  };
  fabric_bench fabric;
  hw::fault_sink& faults{fabric.faults};
  script steps;
  std::vector<node> pe;

  [[nodiscard]] abi::node_address where(std::uint32_t p) const {
    return fabric.topology.locate(pe_address(abi::region::tcm, p, 0));
  }
  /// Cycles of an idle fabric from terminal to terminal.
  [[nodiscard]] double flight(std::uint32_t from, std::uint32_t to, std::uint32_t flits) const {
    return fabric::idle_latency(fabric.topology, fabric.config, where(from), where(to),
                                abi::traffic_class::comm, flits)
        .ns();
  }
  /// A message of PE `from` into the ring at `slot`, announced to PE `to`.
  [[nodiscard]] static protocol::send_request message(std::uint32_t from, std::uint32_t to,
                                                      std::uint64_t source, abi::address slot,
                                                      std::uint32_t bytes, std::uint16_t qp = 0,
                                                      std::uint32_t sequence = 0) {
    protocol::send_request r;
    r.qp = qp;
    r.source = pe_address(abi::region::tcm, from, source);
    r.mailbox = pe_address(abi::region::ipcq_mailbox, to, 0);
    r.fields = {slot, sequence, bytes, {sip_id{0}, cube_id{0}, pe_id{from}}, qp};
    return r;
  }
  void send(double ns, const protocol::send_request& m) {
    steps.at(ns, [this, m] { pe[m.fields.source.pe.value].dma->send_message(m); });
  }
  void copy(double ns, std::uint32_t by, abi::address source, abi::address destination, std::uint64_t bytes) {
    steps.at(ns, [this, by, source, destination, bytes] {
      pe[by].dma->start_copy({source, destination, bytes});
    });
  }
  /// Different bytes in every TCM.
  void fill() {
    for (std::size_t p = 0; p < pe.size(); ++p) {
      for (std::size_t i = 0; i < pe[p].tcm->memory.size(); ++i)
        pe[p].tcm->memory[i] = static_cast<std::byte>((i * 7 + (i >> 8) * 13 + p * 101) & 0xff);
    }
  }
  [[nodiscard]] std::vector<std::byte> bytes(std::uint32_t p, std::uint64_t offset, std::size_t count) const {
    const auto begin = pe[p].tcm->memory.begin() + static_cast<std::ptrdiff_t>(offset);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }
  void run() { run_to_starvation(); }
  [[nodiscard]] bool quiet() const {
    return std::all_of(pe.begin(), pe.end(), [](const node& n) { return n.dma->idle(); }) && !faults.fault();
  }

 private:
  void add(std::uint32_t p) {
    node n;
    n.tcm = std::make_unique<stub_tcm>(fmt::format("tcm{}", p).c_str());
    n.listener = std::make_unique<stub_listener>(fmt::format("listener{}", p).c_str());
    const pe_coord self{sip_id{0}, cube_id{0}, pe_id{p}};
    n.dma = std::make_unique<hw::dma_engine>(fmt::format("dma{}", p).c_str(),
                                             hw::pe_setup{fabric.config, fabric.hub, faults, self},
                                             hw::packet_setup{fabric.topology, fabric.pool(0), true});
    n.dma->tcm.bind(*n.tcm);
    n.dma->ipcq.bind(*n.listener);
    n.dma->core.bind(*n.listener);
    fabric.attach(n.dma->terminal(), where(p));
    n.out = std::make_unique<departures>(fabric.topology, where(p));
    fabric.hub.attach(*n.out, events::links);
    pe.push_back(std::move(n));
  }
};

}  // namespace diecast::test
