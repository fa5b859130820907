// SPDX-License-Identifier: Apache-2.0
// Cost of a register access: firmware on the one PE of a pod reads a register over and over, through the
// decoder of its bus; each read waits for pe.register_cycles as in any run.
#include <exception>
#include <fmt/format.h>

#include "hw/base/time.hpp"
#include "models/fabric/topology.hpp"
#include "models/types/error.hpp"
#include "platforms/app/command_line.hpp"
#include "platforms/bench/bench.hpp"
#include "platforms/hbm/study.hpp"
#include "platforms/netlist/pod.hpp"
#include "platforms/noc/machine.hpp"
#include "platforms/run/kernel.hpp"
#include "platforms/run/registries.hpp"

namespace diecast::bench {

namespace {

constexpr std::uint64_t warmup_reads = 10'000;
constexpr std::uint64_t measured_reads = 1'000'000;

struct reader {
  double seconds{};
  bool done{};
  void operator()(abi::hal& hal, const abi::launch_block&) {
    for (std::uint64_t i = 0; i < warmup_reads; ++i) (void)hal.read_register(abi::core_start_time);
    const double start = cpu_seconds();
    for (std::uint64_t i = 0; i < measured_reads; ++i) (void)hal.read_register(abi::core_start_time);
    seconds = cpu_seconds() - start;
    done = true;
  }
};

}  // namespace

measurements measure_mmio() {
  platforms::prepare_kernel();
  config::machine_config config;
  config.pod.sips = config.sip.columns = config.sip.rows = config.cube.pes = 1;
  const fabric::topology topology(config);
  const events::hub hub;
  hw::fault_sink faults;
  const netlist::build_order order(config.sim.build_order);
  const app::registries tables = app::builtin_registries(app::cube_platform());
  reader firmware;
  const netlist::build_context context{
      config,     topology, hub, faults, order, [&firmware](pe_coord) { return std::ref(firmware); },
      tables.hbm, false,    {},  {}};
  // Never destroyed: the process ends after its measurement.
  auto& pod = *new netlist::pod("pod", context, [](sip_id) { return [](abi::host_hal&) {}; });
  auto& floor = *new kernel_floor("floor");
  const double floor_ns = floor.measure_ns();
  abi::launch_block block;
  block.target_start = hw::now();
  pod.pe({}).core.launch_block_arrived(block);
  while (!firmware.done && !faults.fault()) sc_core::sc_start(1, sc_core::SC_MS);
  if (faults.fault()) std::rethrow_exception(faults.fault());
  const double ns = firmware.seconds / static_cast<double>(measured_reads) * 1e9;
  return {{"kernel_floor_ns", floor_ns}, {"mmio_ns", ns}, {"mmio_over_kernel_floor", ns / floor_ns}};
}

// Requests per second of the HBM model: one channel of the reference config, a closed loop of reads of one
// burst, initiator included.

namespace {

constexpr std::uint64_t requests = 1'000'000;
constexpr std::uint64_t outstanding = 64;  // enough to keep the data buses busy

double requests_per_s(traffic::memory_pattern pattern) {
  const config::machine_config config = app::load_config({}, "hbm_reference.json").config;
  hbm::study_point point;
  point.pattern = pattern;
  point.requests = requests;
  point.speed = {hbm::pace::kind::closed, 0, outstanding};
  point.request_bytes = static_cast<std::uint32_t>(config.hbm.burst_bytes);
  const double start = cpu_seconds();
  const hbm::study_outcome o = hbm::simulate(point, config, hbm::builtin_registries().make_memory);
  const double seconds = cpu_seconds() - start;
  if (o.status != platforms::run_status::ok) throw std::runtime_error(o.message);
  return static_cast<double>(o.requests) / seconds;
}

}  // namespace

measurements measure_hbm_sequential() {
  return {{"hbm_sequential_requests_per_s", requests_per_s(traffic::memory_pattern::seq)}};
}

measurements measure_hbm_random() {
  return {{"hbm_random_requests_per_s", requests_per_s(traffic::memory_pattern::rand)}};
}

// Cost of a packet-hop: uniform traffic on a network study, CPU time over router-to-router links crossed,
// sources and sinks included. After a warm-up nothing is counted but the steady state.

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
  if (hops == 0)
    throw user_error(problem{
        "--cycles", "no packet crossed a link while it was measured, so a hop has no cost",
        fmt::format("{}", o.cycles), "more cycles, a higher --rate, or a network of more than one router"});
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
