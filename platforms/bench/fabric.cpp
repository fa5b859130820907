// SPDX-License-Identifier: Apache-2.0
// Cost of a packet-hop: uniform traffic on a network study, CPU time over router-to-router links crossed,
// sources and sinks included. After a warm-up nothing is counted but the steady state.
#include <exception>
#include <fmt/format.h>

#include "hw/base/time.hpp"
#include "models/types/error.hpp"
#include "platforms/bench/bench.hpp"
#include "platforms/noc/machine.hpp"
#include "platforms/run/kernel.hpp"

namespace diecast::bench {
measurements measure_fabric(const fabric_options& o) {
  platforms::prepare_kernel();
  const noc::network net(o.config);
  const sim_time period = timing::noc_clock(net.config).period;
  constexpr std::uint64_t start_cycle = 10'000'000;  // the floor is over long before
  traffic::bernoulli_arrivals arrivals(
      {net.config.sim.seed, o.rate, o.packet_flits, net.nodes(), start_cycle},
      traffic::destinations(traffic::node_pattern::uniform, net.grid()));
  const events::hub hub;
  // Never destroyed: the process ends after its measurement.
  auto& pool = *new hw::packet_pool;
  const std::uint64_t measured_from = start_cycle + o.warmup_cycles;
  auto& modules =
      *new noc::machine("study", net, arrivals, pool, {measured_from, measured_from + o.cycles}, hub);
  auto& floor = *new kernel_floor("floor");
  const double rss_before_mib = platforms::peak_rss_mib();

  const double floor_ns = floor.measure_ns();
  sc_core::sc_start(hw::to_sc(period * measured_from - hw::now()));
  const hw::cube_noc::counters before = modules.noc->statistics();
  const double start = cpu_seconds();
  sc_core::sc_start(hw::to_sc(period * o.cycles));
  const double cpu = cpu_seconds() - start;
  if (modules.faults.fault()) std::rethrow_exception(modules.faults.fault());

  const hw::cube_noc::counters& after = modules.noc->statistics();
  const auto since = [&](std::uint64_t hw::cube_noc::counters::*c) {
    return static_cast<double>(after.*c - before.*c);
  };
  const double hops = since(&hw::cube_noc::counters::packet_hops);
  if (hops == 0) {
    throw user_error(problem{
        "--cycles", "no packet crossed a link while it was measured, so a hop has no cost",
        fmt::format("{}", o.cycles), "more cycles, a higher --rate, or a network of more than one router"});
  }
  const double routers = net.topology.layout({}, {}).routers();
  const auto& traffic = modules.traffic->statistics();
  return {{"kernel_floor_ns", floor_ns},
          {"packet_hop_ns", cpu / hops * 1e9},
          {"packet_hop_over_kernel_floor", cpu / hops * 1e9 / floor_ns},
          {"flit_hops_per_s", since(&hw::cube_noc::counters::flit_hops) / cpu},
          {"wakeups_per_packet_hop", since(&hw::cube_noc::counters::wakeups) / hops},
          {"activations_per_packet_hop", since(&hw::cube_noc::counters::activations) / hops},
          {"packet_hops", hops},
          {"accepted_flits_per_node_cycle",
           static_cast<double>(traffic.flits_taken) / (static_cast<double>(o.cycles) * net.nodes())},
          {"waiting_at_sources", static_cast<double>(modules.traffic->waiting())},
          {"noc_state_bytes_per_router", static_cast<double>(modules.noc->state_bytes()) / routers},
          {"elaborated_rss_mib", rss_before_mib},
          {"peak_rss_mib", platforms::peak_rss_mib()}};
}

}  // namespace diecast::bench
