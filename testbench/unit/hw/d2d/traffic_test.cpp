// SPDX-License-Identifier: Apache-2.0
// Laws of links with bit errors, slow links and missing links under random traffic.
#include "d2d_bench.hpp"
#include "models/types/error.hpp"

namespace diecast::test {
namespace {

void run_with_errors(config::machine_config c, double ber, std::uint32_t seed) {
  c.ucie.ber = ber;
  fabric_bench bench(c);
  const std::uint64_t planned =
      plan_uniform(bench, bench.endpoints(), {0.5, 3000, seed, every_class, {1, 2, 5, 9, 17}});
  REQUIRE(planned > 1000);
  run_to_starvation();
  check_conserved(bench, planned);
  const timing::line_counters lines = all_lines(bench);
  CHECK(lines.crc_errors > 0);
  CHECK(lines.naks == lines.crc_errors);
  CHECK(lines.replays >= lines.crc_errors);
}

TEST_CASE("d2d traffic: at a bit error rate of 1e-6 nothing is lost or reordered") {
  run_with_errors(small_machine(2, 2, 2), 1e-6, 1);
}
TEST_CASE("d2d traffic: at a bit error rate of 1e-4 nothing is lost or reordered") {
  run_with_errors(small_machine(1, 3, 2), 1e-4, 2);
}
TEST_CASE("d2d traffic: at a bit error rate of 1e-4 in 68 B flits with small buffers nothing is lost") {
  config::machine_config c = small_machine(1, 2, 2);
  c.ucie.format = config::flit_format::flit_68;
  c.ucie.retry_flits = 3;
  c.ucie.buffer_flits = 17;
  run_with_errors(c, 1e-4, 3);
}

TEST_CASE("d2d traffic: bit errors do not depend on the order of construction, nor on bytes") {
  config::machine_config c = small_machine(2, 2, 2);
  c.ucie.ber = 1e-5;
  c.noc.sideband = config::sideband_kind::vc;
  fabric_bench forward(c, {}, "forward");
  fabric_bench reverse(c, {.reverse = true}, "reverse");
  fabric_bench shuffled(c, {.shuffle_seed = 7}, "shuffled");
  c.sim.links_as_bytes = true;
  fabric_bench bytes(c, {}, "bytes");
  c.sim.seed = 2;
  fabric_bench other_seed(c, {}, "other_seed");
  for (fabric_bench* bench : {&forward, &reverse, &shuffled, &bytes, &other_seed})
    plan_uniform(*bench, bench->endpoints(), {0.8, 1500, 8, every_class, {1, 5, 17}});
  run_to_starvation();
  REQUIRE(forward.deliveries().size() > 1000);
  REQUIRE(all_lines(forward).crc_errors > 5);
  CHECK(forward.deliveries() == reverse.deliveries());
  CHECK(forward.deliveries() == shuffled.deliveries());
  CHECK(forward.deliveries() == bytes.deliveries());
  CHECK(forward.statistics().wakeups == reverse.statistics().wakeups);
  CHECK(all_lines(forward).replays == all_lines(shuffled).replays);
  CHECK(forward.deliveries() != other_seed.deliveries());
}

TEST_CASE("d2d traffic: energy is what was on the wire, replays included") {
  config::machine_config c = two_cubes();
  c.ucie.ber = 1e-5;
  c.ucie.pj_per_bit = 0.5;
  fabric_bench bench(c);
  const std::uint64_t planned =
      plan_uniform(bench, bench.endpoints(), {0.5, 3000, 4, every_class, {1, 5, 17}});
  run_to_starvation();
  check_conserved(bench, planned);
  const hw::link_sender& link = eastward(bench);
  const timing::line_counters& line = link.line_statistics();
  REQUIRE(line.replays > 0);
  CHECK(link.energy_pj() == Approx(static_cast<double>(line.frames) * 256 * 8 * 0.5));
  CHECK(line.busy == nanoseconds(2) * line.frames);
  std::uint64_t bytes = 0, payload = 0, packets = 0;
  for (const delivery& d : bench.deliveries()) {
    if (d.source.cube != 0 || d.destination.cube != 1) continue;
    bytes += std::uint64_t{d.flits} * 64;
    payload += std::uint64_t{d.flits - 1} * 64;
    ++packets;
  }
  CHECK(line.flits * 64 == bytes);
  CHECK(link.statistics().payload_bytes == payload);
  CHECK(link.statistics().packets == packets);
  CHECK((line.frames - line.replays) * 236 >= bytes);  // every byte once, the last frame of a run padded
}

/// Links of every kind missing and slow: traffic takes other ways, and the rest of the machine agrees.
TEST_CASE("d2d traffic: around missing links nothing is lost, and idle latency still holds") {
  config::machine_config c = small_machine(3, 3, 2);
  c.overrides = {{.match = "pod.sip0.cube_0_0.ucie_e", .enabled = false},
                 {.match = "pod.sip1.cube_1_*.ucie_north", .enabled = false},
                 {.match = "pod.sip2.cube_2_1.ucie_w", .modules = 1, .latency_ns = 37.5},
                 {.match = "pod.sip0.sip_port_e", .enabled = false},
                 {.match = "pod.sip1.sip_port_e", .latency_ns = 60.0, .gbytes_s = 30.0}};
  fabric_bench bench(c);
  REQUIRE(fabric::find_dependency_cycle(bench.topology).empty());
  const std::vector<abi::node_address> nodes = bench.endpoints();
  std::uint64_t tag = 0, wrong = 0;
  for (std::size_t a = 0; a < nodes.size(); a += 5) {
    for (std::size_t b = 0; b < nodes.size(); b += 7) {
      bench.at(nodes[a]).plan(hw::now(), nodes[b], abi::traffic_class::comm, 17, tag++);
      run_to_starvation();
      const sim_time took = bench.at(nodes[b]).received.back().at - bench.at(nodes[a]).sent.back();
      if (took != fabric::idle_latency(bench.topology, c, nodes[a], nodes[b], abi::traffic_class::comm, 17))
        ++wrong;
    }
  }
  CHECK(wrong == 0);
  CHECK(bench.adapter(0, 0, fabric::side::east).statistics().packets == 0);
  CHECK(bench.adapter(0, 1, fabric::side::west).statistics().packets == 0);
  CHECK(bench.unrest() == std::vector<std::string>{});
}

TEST_CASE("d2d: more packets than a link's buffer holds end the run as a fault of the far end") {
  fabric_bench bench(two_cubes());
  bench.faults.expected = true;
  const auto c =
      static_cast<std::uint8_t>(bench.topology.injection_vcs(abi::traffic_class::comm, 0, {}, {}).first);
  const sim_time cycle = timing::noc_clock(bench.config).period;
  // Past the sender, which counts credits: as a fault on the way would.
  for (std::uint64_t i = 0; i < 100; ++i) {
    hw::packet_ptr p = bench.pool(0).make();
    p->header.destination = pe(0, 1);
    p->flits = 17;
    hw::fabric_phase phase{
        hw::fabric_phase::kind::begin_req, c, 17, cycle * (2 + 17 * i), cycle * (19 + 17 * i), 0};
    sc_core::sc_time zero;
    CHECK_NOTHROW(bench.adapter(0, 0, fabric::side::east).link_out()->nb_transport_fw(p, phase, zero));
  }
  REQUIRE(bench.faults.fault());
  CHECK_THROWS_AS(std::rethrow_exception(bench.faults.fault()), protocol_error);
  CHECK_THAT(text_of(bench.faults), Catch::StartsWith("pod_sip0_cube1_ucie_west"));
}

TEST_CASE("d2d traffic: random traffic around missing links is conserved and in order") {
  config::machine_config c = small_machine(2, 4, 4);
  c.overrides = {{.match = "pod.sip?.cube_1_1.ucie_e", .enabled = false},
                 {.match = "pod.sip0.cube_2_2.ucie_*", .enabled = false},
                 {.match = "pod.sip0.cube_2_2.ucie_s", .enabled = true}};
  fabric_bench bench(c);
  REQUIRE(fabric::find_dependency_cycle(bench.topology).empty());
  const std::uint64_t planned =
      plan_uniform(bench, bench.endpoints(), {0.2, 800, 6, every_class, {1, 5, 17}});
  run_to_starvation();
  check_conserved(bench, planned);
}

}  // namespace
}  // namespace diecast::test
