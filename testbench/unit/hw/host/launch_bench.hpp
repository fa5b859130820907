// SPDX-License-Identifier: Apache-2.0
// A fabric with hosts, IO CPUs and control CPUs, and stub PEs that record the launches they get.
#pragma once

#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

#include "hw/host/host_cpu.hpp"
#include "hw/host/io_cpu.hpp"
#include "models/comm/install_plan.hpp"
#include "support/fabric_bench.hpp"

namespace diecast::test {

/// Takes launches by packet or by backdoor; some time after the common start it reports the end.
class stub_pe : public sc_core::sc_module, public hw::debug_target, private hw::terminal_port::client {
 public:
  stub_pe(sc_core::sc_module_name name, const fabric_bench& bench, pe_coord self, hw::packet_pool& pool)
      : sc_module(name),
        port("port", bench.topology, bench.config, bench.topology.locate(comm::launch_mailbox(self)), *this),
        self_(self),
        pool_(pool),
        io_(comm::io_cpu_node(bench.topology, self.sip)) {}

  static constexpr std::uint64_t run_ns = 50;

  struct arrival {
    sim_time at;
    abi::launch_block block;
    bool by_packet{};
  };
  hw::terminal_port port;
  std::vector<arrival> arrivals;
  std::vector<abi::address> debug_addresses;

  [[nodiscard]] pe_coord self() const { return self_; }

 private:
  SC_HAS_PROCESS(stub_pe);
  void launched(std::span<const std::byte> bytes, bool by_packet) {
    const abi::launch_block block = abi::decode_launch(bytes);
    arrivals.push_back({hw::now(), block, by_packet});
    ends_.put(std::max(block.target_start, hw::now()) + nanoseconds(run_ns), block.launch_id);
  }
  void on_packet(const hw::packet_ptr& p, std::uint8_t vc) override {
    launched(p->data, true);
    port.release(vc, p->flits);
  }
  void on_sent(abi::traffic_class) override {}
  unsigned on_debug(tlm::tlm_generic_payload& t) override {
    debug_addresses.push_back(t.get_address());
    t.set_response_status(tlm::TLM_OK_RESPONSE);
    const auto where = abi::decode(t.get_address());
    if (where->kind == abi::region::launch_mailbox) {
      launched({reinterpret_cast<const std::byte*>(t.get_data_ptr()), t.get_data_length()}, false);
    } else if (t.is_read()) {
      std::memset(t.get_data_ptr(), static_cast<int>(self_.pe.value), t.get_data_length());
    }
    // Offsets from 0x1000 on do not exist here.
    return where->offset >= 0x1000 ? 0 : t.get_data_length();
  }
  void act() {
    for (std::uint64_t launch_id = 0; ends_.take(launch_id);) {
      hw::packet_ptr p = pool_.make();
      p->header.kind = abi::packet_kind::launch_done;
      p->header.destination = io_;
      p->header.transaction = launch_id;
      port.send(std::move(p));
    }
  }

  pe_coord self_;
  hw::packet_pool& pool_;
  abi::node_address io_;
  hw::calendar ends_{*this, [this] { act(); }};
};

class launch_bench {
 public:
  /// `program(host, bench)` runs on the host of every SIP.
  using program = std::function<void(abi::host_hal&, launch_bench&)>;

  launch_bench(const config::machine_config& c, program run, const std::string& name = "pod",
               build_order order = {})
      : fabric(
            c, order, name,
            {fabric::terminal_kind::pe, fabric::terminal_kind::control_cpu, fabric::terminal_kind::io_cpu}),
        program_(std::move(run)) {
    const machine_shape& shape = fabric.topology.shape();
    for (std::uint32_t s = 0; s < shape.sips; ++s) build_sip(sip_id{s}, name);
  }

  fabric_bench fabric;
  hw::fault_sink& faults{fabric.faults};
  std::vector<std::unique_ptr<hw::io_cpu>> io_cpus;
  std::vector<std::unique_ptr<hw::control_cpu>> control_cpus;
  std::vector<std::unique_ptr<hw::host_cpu>> hosts;
  std::vector<std::unique_ptr<hw::debug_bus>> buses;
  std::vector<std::unique_ptr<stub_pe>> pes;

  [[nodiscard]] std::vector<pe_coord> all_pes() const {
    std::vector<pe_coord> all;
    for (const auto& p : pes) all.push_back(p->self());
    return all;
  }
  [[nodiscard]] sim_time worst(std::span<const pe_coord> participants) const {
    return comm::worst_dispatch(fabric.topology, fabric.config, participants);
  }
  /// The launches of a SIP's share of `participants`, each with a block that tells its PE.
  [[nodiscard]] static std::vector<abi::pe_launch> launches(sip_id sip,
                                                            std::span<const pe_coord> participants,
                                                            std::uint32_t launch_id, sim_time start) {
    std::vector<abi::pe_launch> out;
    for (std::uint32_t r = 0; r < participants.size(); ++r) {
      if (participants[r].sip == sip) out.push_back({participants[r], block(r, launch_id, start)});
    }
    return out;
  }
  [[nodiscard]] static abi::launch_block block(std::uint32_t rank, std::uint32_t launch_id, sim_time start) {
    abi::launch_block b;
    b.kernel = 3;
    b.launch_id = launch_id;
    b.target_start = start;
    b.arguments.rank = rank;
    b.arguments.count = 1000 + rank;
    b.arguments.own.copy = ~std::uint64_t{rank};
    return b;
  }
  /// What the fault of the run says; empty without one.
  [[nodiscard]] std::string fault() const { return text_of(faults); }
  /// Last arrival of a launch packet.
  [[nodiscard]] sim_time last_arrival() const {
    sim_time last;
    for (const auto& p : pes) {
      for (const stub_pe::arrival& a : p->arrivals) last = std::max(last, a.at);
    }
    return last;
  }
  /// Nothing is left anywhere: packets, credits, work of CPUs.
  [[nodiscard]] std::vector<std::string> unrest() const {
    std::vector<std::string> names = fabric.unrest();
    for (const auto& c : io_cpus) note(*c, c->idle() && c->terminal().quiescent(), names);
    for (const auto& c : control_cpus) note(*c, c->idle() && c->terminal().quiescent(), names);
    for (const auto& p : pes) note(*p, p->port.quiescent(), names);
    return names;
  }

 private:
  static void note(const sc_core::sc_object& o, bool quiet, std::vector<std::string>& names) {
    if (!quiet) names.emplace_back(o.name());
  }
  void build_sip(sip_id s, const std::string& name) {
    const machine_shape& shape = fabric.topology.shape();
    const std::string prefix = fmt::format("{}_sip{}_", name, s.value);
    hw::packet_pool& pool = fabric.pool(s.value);
    io_cpus.push_back(std::make_unique<hw::io_cpu>((prefix + "io_cpu").c_str(), fabric.topology,
                                                   fabric.config, s, pool, faults));
    fabric.attach(io_cpus.back()->terminal(), comm::io_cpu_node(fabric.topology, s));
    buses.push_back(std::make_unique<hw::debug_bus>((prefix + "debug_bus").c_str(), s));
    hosts.push_back(std::make_unique<hw::host_cpu>((prefix + "host").c_str(), fabric.config, s,
                                                   [this](abi::host_hal& h) { program_(h, *this); }, faults));
    hosts.back()->io.bind(io_cpus.back()->host_side);
    hosts.back()->debug.bind(buses.back()->in());
    for (std::uint32_t c = 0; c < shape.cubes_per_sip(); ++c) build_cube(s, cube_id{c}, prefix, pool);
  }
  void build_cube(sip_id s, cube_id c, const std::string& prefix, hw::packet_pool& pool) {
    const abi::node_address at = comm::control_cpu_node(fabric.topology, s, c);
    control_cpus.push_back(
        std::make_unique<hw::control_cpu>(fmt::format("{}cube{}_control", prefix, c.value).c_str(),
                                          fabric.topology, fabric.config, at, pool, faults));
    fabric.attach(control_cpus.back()->terminal(), at);
    for (std::uint32_t p = 0; p < fabric.topology.shape().pes_per_cube; ++p) {
      const pe_coord self{s, c, pe_id{p}};
      pes.push_back(std::make_unique<stub_pe>(fmt::format("{}cube{}_pe{}", prefix, c.value, p).c_str(),
                                              fabric, self, pool));
      fabric.attach(pes.back()->port, fabric.topology.locate(comm::launch_mailbox(self)));
      for (const abi::region kind :
           {abi::region::tcm, abi::region::pe_registers, abi::region::launch_mailbox}) {
        buses.back()->attach(c, kind, p, *pes.back());
      }
    }
  }

  program program_;
};

}  // namespace diecast::test
