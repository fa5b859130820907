// SPDX-License-Identifier: Apache-2.0
// On an idle fabric the machine takes exactly the time of fabric::idle_latency, over every pair of
// blocks and for every length that makes a difference.
#include "support/sc_fixture.hpp"
#include "support/test.hpp"
#include "traffic.hpp"

namespace diecast::test {
namespace {

/// One packet at a time between every pair; returns how many pairs there were.
std::size_t check_all_pairs(fabric_bench& bench, abi::traffic_class c, std::uint32_t flits) {
  const std::vector<abi::node_address> nodes = bench.endpoints();
  std::size_t pairs = 0;
  std::size_t wrong = 0;
  for (const abi::node_address from : nodes) {
    for (const abi::node_address to : nodes) {
      const std::size_t sent = bench.at(from).sent.size();
      bench.at(from).plan(hw::now(), to, c, flits, ++pairs);
      run_to_starvation();
      REQUIRE(bench.at(from).sent.size() == sent + 1);
      REQUIRE(!bench.at(to).received.empty());
      const delivery& d = bench.at(to).received.back();
      REQUIRE(d.tag == pairs);
      const sim_time took = d.at - bench.at(from).sent.back();
      const sim_time expected = fabric::idle_latency(bench.topology, bench.config, from, to, c, flits);
      if (took != expected && wrong++ < 5)
        UNSCOPED_INFO(fmt::format("sip{} cube{} terminal{} to sip{} cube{} terminal{}: {} fs, expected {} fs",
                                  from.sip, from.cube, from.terminal, to.sip, to.cube, to.terminal, took.fs,
                                  expected.fs));
    }
  }
  CHECK(wrong == 0);
  CHECK(bench.unrest() == std::vector<std::string>{});
  return pairs;
}

TEST_CASE("idle latency over all pairs of one cube") {
  fabric_bench bench(small_machine(1, 1, 1));
  CHECK(check_all_pairs(bench, abi::traffic_class::comm, 1) >= 100);
  check_all_pairs(bench, abi::traffic_class::comm, 17);
  check_all_pairs(bench, abi::traffic_class::sideband, 1);
}

TEST_CASE("idle latency over all pairs of four cubes") {
  fabric_bench bench(small_machine(1, 2, 2));
  CHECK(check_all_pairs(bench, abi::traffic_class::comm, 17) >= 1600);
  check_all_pairs(bench, abi::traffic_class::request, 1);
}

TEST_CASE("idle latency over all pairs of two SIPs of two cubes") {
  fabric_bench bench(small_machine(2, 2, 1));
  CHECK(check_all_pairs(bench, abi::traffic_class::response, 5) >= 1600);
  check_all_pairs(bench, abi::traffic_class::message, 17);
}

TEST_CASE("idle latency of a lean NoC at a clock that no link rate divides") {
  config::machine_config c = small_machine(2, 2, 1);
  c.noc.clock_ghz = 1.3;
  c.noc.hop_cycles = 2;
  c.noc.flit_bytes = 32;
  c.noc.max_packet_bytes = 512;
  c.ucie.latency_ns = 2.0;
  fabric_bench bench(c);
  check_all_pairs(bench, abi::traffic_class::comm, 9);
}

TEST_CASE("idle latency over dies of which one is slow") {
  config::machine_config c = small_machine(2, 2, 1);
  c.overrides = {{.match = "pod.sip0.cube_1_0", .hop_cycles = 23},
                 {.match = "pod.sip1.cube_0_0.noc", .hop_cycles = 10}};
  fabric_bench bench(c);
  CHECK(check_all_pairs(bench, abi::traffic_class::comm, 17) >= 1600);
  check_all_pairs(bench, abi::traffic_class::sideband, 1);
}

TEST_CASE("idle latency of wormholes whose buffers cover the credit loop") {
  config::machine_config c = small_machine(2, 2, 1);
  c.noc.flow = config::noc_flow::wormhole;
  c.noc.vc_buffer_flits = 12;
  fabric_bench bench(c);
  check_all_pairs(bench, abi::traffic_class::comm, 17);
}

TEST_CASE("idle latency of sideband wires") {
  config::machine_config c = small_machine(2, 2, 1);
  c.noc.sideband = config::sideband_kind::wires;
  fabric_bench bench(c);
  check_all_pairs(bench, abi::traffic_class::sideband, 1);
  CHECK(bench.statistics().packet_hops == 0);
}

TEST_CASE("links as bytes change nothing") {
  config::machine_config c = small_machine(2, 2, 1);
  c.sim.links_as_bytes = true;
  fabric_bench bench(c);
  check_all_pairs(bench, abi::traffic_class::comm, 3);
}

}  // namespace
}  // namespace diecast::test
