// SPDX-License-Identifier: Apache-2.0
// Cost of a packet-hop: uniform traffic on one cube's mesh, CPU time over router-to-router links
// crossed. Sources feed the NoC directly, so that the endpoints' own cost stays small.
//
//   noc_bench [columns rows load flits cycles]     defaults 8 8 0.3 5 20000
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <random>

#include "models/timing/wall_buffers.hpp"
#include "support/fabric_bench.hpp"

namespace diecast::test {
namespace {

/// All sources and sinks of a mesh in one module: one packet queue and one wake-up per cycle for all, so
/// that what is measured is the NoC.
class traffic_block : public sc_core::sc_module, private hw::fabric_receiver, private hw::credit_receiver {
 public:
  traffic_block(sc_core::sc_module_name name, const fabric::topology& topology,
                const config::machine_config& config, hw::cube_noc& noc, hw::packet_pool& pool, double load,
                std::uint32_t flits)
      : sc_module(name),
        pool_(pool),
        nodes_(static_cast<std::uint32_t>(config.cube.pes)),
        flits_(flits),
        gap_(load / flits),
        next_arrival_(nodes_),
        vc_(topology.vc(abi::traffic_class::comm, 0)),
        clock_(timing::noc_clock(config)),
        ni_in_(config.noc.ni_in_cycles),
        credit_cycles_(config.noc.credit_cycles),
        free_(nodes_),
        backlog_(nodes_),
        credits_(nodes_, timing::injection_buffer_flits(config)) {
    for (std::uint32_t n = 0; n < nodes_; ++n) {
      ins_.emplace_back(fmt::format("in{}", n).c_str(), static_cast<hw::fabric_receiver&>(*this), n);
      outs_.emplace_back(fmt::format("out{}", n).c_str(), static_cast<hw::credit_receiver&>(*this), n);
      outs_.back().socket.bind(noc.in(n));
      noc.out(n).bind(ins_.back().socket);
    }
    for (std::uint64_t& first : next_arrival_) first = gap();
    SC_METHOD(act);
    sensitive << next_;
  }
  std::uint64_t delivered{};
  std::uint64_t waiting() const {
    std::uint64_t sum = 0;
    for (const auto b : backlog_) sum += b;
    return sum;
  }

 private:
  SC_HAS_PROCESS(traffic_block);
  std::uint64_t gap() { return 1 + gap_(random_); }
  void act() {
    const std::uint64_t cycle = hw::now().fs / clock_.period.fs;
    for (std::uint32_t n = 0; n < nodes_; ++n) {
      for (; next_arrival_[n] <= cycle; next_arrival_[n] += gap()) ++backlog_[n];
      if (backlog_[n] == 0 || free_[n] > cycle || credits_[n] < flits_) continue;
      hw::packet_ptr p = pool_.make();
      p->header.destination = {0, 0, static_cast<std::uint16_t>(random_() % nodes_)};
      p->flits = flits_;
      const sim_time head = clock_.cycles(cycle + ni_in_);
      outs_[n].send_packet(std::move(p), vc_, flits_, head, head + clock_.cycles(flits_ - 1));
      --backlog_[n];
      free_[n] = cycle + flits_;
      credits_[n] -= flits_;
    }
    next_.notify(hw::to_sc(clock_.period));
  }
  void on_packet(unsigned port, hw::packet_ptr, const hw::fabric_phase& phase) override {
    ++delivered;
    ins_[port].send_credit(phase.vc, phase.flits, phase.tail + clock_.cycles(credit_cycles_));
  }
  void on_credit(unsigned port, const hw::fabric_phase& phase) override { credits_[port] += phase.flits; }

  hw::packet_pool& pool_;
  std::uint32_t nodes_, flits_;
  std::geometric_distribution<std::uint64_t> gap_;  ///< between two arrivals at one node
  std::vector<std::uint64_t> next_arrival_;
  std::uint8_t vc_;
  clock_domain clock_;
  std::uint64_t ni_in_, credit_cycles_;
  std::vector<std::uint64_t> free_, backlog_;
  std::vector<std::uint32_t> credits_;
  std::deque<hw::fabric_in> ins_;
  std::deque<hw::fabric_out> outs_;
  sc_core::sc_event next_{"next"};
  std::mt19937 random_{1};
};

/// Of this process; a busy machine does not count.
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

int run(int argc, char** argv) {
  const auto argument = [&](int n, double otherwise) { return argc > n ? std::atof(argv[n]) : otherwise; };
  config::machine_config c;
  c.pod.sips = 1;
  c.sip.columns = c.sip.rows = 1;
  c.noc.columns = static_cast<std::uint64_t>(argument(1, 8));
  c.noc.rows = static_cast<std::uint64_t>(argument(2, 8));
  c.noc.hop_cycles = 4;
  c.cube.pes = c.noc.columns * c.noc.rows;
  c.hbm.ports = 1;
  const double load = argument(3, 0.3);
  const auto flits = static_cast<std::uint32_t>(argument(4, 5));
  const auto cycles = static_cast<std::uint64_t>(argument(5, 20000));

  const fabric::topology topology(c);
  const events::hub hub;
  hw::packet_pool pool;  // outlives everything that may hold a packet
  hw::cube_noc noc("noc", topology, c, {}, {}, hub);
  traffic_block traffic("traffic", topology, c, noc, pool, load, flits);
  std::deque<endpoint> others;  // the terminals without traffic
  const auto& terminals = topology.layout({}, {}).terminals;
  for (auto t = static_cast<std::uint16_t>(c.cube.pes); t < terminals.size(); ++t) {
    endpoint& e =
        others.emplace_back(terminals[t].name.c_str(), topology, c, abi::node_address{0, 0, t}, pool);
    e.port.fabric_out_socket().bind(noc.in(t));
    noc.out(t).bind(e.port.fabric_in_socket());
  }
  const sim_time period = timing::noc_clock(c).period;
  sc_core::sc_start(hw::to_sc(period * (cycles / 4)));
  const hw::cube_noc::counters before = noc.statistics();
  const double start = cpu_seconds();
  sc_core::sc_start(hw::to_sc(period * cycles));
  const double cpu = cpu_seconds() - start;
  const hw::cube_noc::counters& after = noc.statistics();
  const auto hops = static_cast<double>(after.packet_hops - before.packet_hops);
  fmt::print(
      "{{\"packet_hop_ns\": {:.1f}, \"flit_hops_per_s\": {:.4g}, \"wakeups_per_packet_hop\": {:.3f}, "
      "\"activations_per_packet_hop\": {:.3f}, \"packet_hops\": {}, \"waiting_at_sources\": {}, "
      "\"noc_state_bytes_per_router\": {}}}\n",
      cpu / hops * 1e9, static_cast<double>(after.flit_hops - before.flit_hops) / cpu,
      static_cast<double>(after.wakeups - before.wakeups) / hops,
      static_cast<double>(after.activations - before.activations) / hops, hops, traffic.waiting(),
      noc.state_bytes() / topology.layout({}, {}).routers());
  return 0;
}

}  // namespace
}  // namespace diecast::test

int sc_main(int argc, char** argv) {
  sc_core::sc_set_time_resolution(1, sc_core::SC_FS);
  return diecast::test::run(argc, argv);
}

// In place of the library's main, so that no banner is printed.
int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
