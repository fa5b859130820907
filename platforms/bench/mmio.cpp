// SPDX-License-Identifier: Apache-2.0
// Cost of a register access: firmware on the one PE of a pod reads a register over and over, through the
// decoder of its bus; each read waits for pe.register_cycles as in any run.
#include "hw/base/time.hpp"
#include "models/fabric/topology.hpp"
#include "models/types/error.hpp"
#include "platforms/app/registries.hpp"
#include "platforms/bench/bench.hpp"
#include "platforms/netlist/pod.hpp"
#include "platforms/run/kernel.hpp"

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

}  // namespace diecast::bench
