// SPDX-License-Identifier: Apache-2.0
// Two cubes side by side and the link between them.
#pragma once

#include "support/deliveries.hpp"
#include "support/sc_fixture.hpp"
#include "support/test.hpp"
#include "unit/hw/noc/traffic.hpp"

namespace diecast::test {

inline abi::node_address pe(std::uint32_t number, std::uint32_t cube = 0, std::uint32_t sip = 0) {
  return {static_cast<std::uint16_t>(sip), static_cast<std::uint16_t>(cube),
          static_cast<std::uint16_t>(number)};
}

/// Cubes whose meshes feed one UCIe module more than it can carry.
inline config::machine_config two_cubes() {
  config::machine_config c = small_machine(1, 2, 1);
  c.cube.pes = 8;
  c.ucie.modules = 1;
  return c;
}

inline const hw::link_sender& eastward(fabric_bench& bench) {
  return bench.adapter(0, 0, fabric::side::east).sender();
}

/// GB/s of NoC flits over the link from cube 0 to cube 1 while every PE sends to its like, measured
/// between two cycles.
inline double east_gbytes_s(fabric_bench& bench, std::uint64_t from_cycle, std::uint64_t to_cycle) {
  const clock_domain clock = timing::noc_clock(bench.config);
  const std::uint64_t packets = to_cycle / 17 * 2;
  for (std::uint64_t n = 0; n < packets; ++n) {
    for (std::uint32_t p = 0; p < bench.config.cube.pes; ++p)
      bench.at(pe(p)).plan({}, pe(p, 1), abi::traffic_class::comm, 17, n);
  }
  run_until(clock.cycles(from_cycle));
  const std::uint64_t before = eastward(bench).line_statistics().flits;
  run_until(clock.cycles(to_cycle));
  const std::uint64_t flits = eastward(bench).line_statistics().flits - before;
  return static_cast<double>(flits * bench.config.noc.flit_bytes) / clock.cycles(to_cycle - from_cycle).ns();
}

/// Sum over all UCIe sides of the pod.
inline timing::line_counters all_lines(fabric_bench& bench) {
  timing::line_counters sum;
  const machine_shape& shape = bench.topology.shape();
  for (std::uint32_t n = 0; n < shape.cubes(); ++n) {
    const cube_id cube{n % shape.cubes_per_sip()};
    for (unsigned s = 0; s < fabric::sides; ++s) {
      if (!bench.topology.neighbor(cube, static_cast<fabric::side>(s))) continue;
      const timing::line_counters& l =
          bench.adapter(n / shape.cubes_per_sip(), cube.value, static_cast<fabric::side>(s))
              .sender()
              .line_statistics();
      sum.frames += l.frames;
      sum.replays += l.replays;
      sum.naks += l.naks;
      sum.crc_errors += l.crc_errors;
      sum.flits += l.flits;
    }
  }
  return sum;
}

}  // namespace diecast::test
