// SPDX-License-Identifier: Apache-2.0
// Random traffic plans and small machines for the fabric's tests.
#pragma once

#include <random>
#include <vector>

#include "support/fabric_bench.hpp"

namespace diecast::test {

inline config::machine_config small_machine(std::uint64_t sips, std::uint64_t columns, std::uint64_t rows) {
  config::machine_config c;
  c.pod.sips = sips;
  c.sip.columns = columns;
  c.sip.rows = rows;
  c.cube.pes = 4;
  c.hbm.ports = 4;
  return c;
}

/// One cube of a router and a PE per node and nothing else of weight, as network studies use it.
inline config::machine_config mesh_machine(std::uint64_t columns, std::uint64_t rows) {
  config::machine_config c = small_machine(1, 1, 1);
  c.noc.columns = columns;
  c.noc.rows = rows;
  c.noc.hop_cycles = 4;
  c.cube.pes = columns * rows;
  c.hbm.ports = 1;
  return c;
}

struct traffic {
  double load{};  ///< flits per endpoint and cycle
  std::uint64_t cycles{1000};
  std::uint32_t seed{1};
  std::vector<abi::traffic_class> classes{abi::traffic_class::comm};
  std::vector<std::uint32_t> lengths{5};  ///< flits; class sideband always sends one
};

/// Plans uniform random traffic between `nodes`; returns the number of packets. Tags number the packets
/// of a source in the order they are planned.
inline std::uint64_t plan_uniform(fabric_bench& bench, const std::vector<abi::node_address>& nodes,
                                  const traffic& t) {
  std::mt19937 random(t.seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  double mean = 0.0;
  for (const std::uint32_t l : t.lengths) mean += l / static_cast<double>(t.lengths.size());
  const double per_cycle = t.load / mean;
  const clock_domain clock = timing::noc_clock(bench.config);
  std::uint64_t packets = 0;
  for (const abi::node_address from : nodes) {
    std::uint64_t tag = 0;
    for (std::uint64_t cycle = 0; cycle < t.cycles; ++cycle) {
      if (static_cast<double>(random()) >= per_cycle * 4294967296.0) continue;
      const abi::traffic_class c = t.classes[below(t.classes.size())];
      const std::uint32_t length = t.lengths[below(t.lengths.size())];
      const std::uint32_t flits = c == abi::traffic_class::sideband ? 1 : length;
      bench.at(from).plan(clock.cycles(cycle), nodes[below(nodes.size())], c, flits, tag++);
      ++packets;
    }
  }
  return packets;
}

}  // namespace diecast::test
