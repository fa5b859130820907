// SPDX-License-Identifier: Apache-2.0
// Rates: links saturate at what they are built for, are shared fairly, and classes do not wait for
// each other's packets.
#include <cmath>
#include <map>

#include "models/timing/link.hpp"
#include "support/sc_fixture.hpp"
#include "support/test.hpp"
#include "traffic.hpp"

namespace diecast::test {
namespace {

using abi::traffic_class;

/// Terminal of a PE; terminals of a cube begin with its PEs.
abi::node_address pe(std::uint32_t number, std::uint32_t cube = 0, std::uint32_t sip = 0) {
  return {static_cast<std::uint16_t>(sip), static_cast<std::uint16_t>(cube),
          static_cast<std::uint16_t>(number)};
}

/// Flits per cycle that arrive at `to` between two cycles, counted by packets' tails.
double arrival_rate(fabric_bench& bench, abi::node_address to, std::uint64_t from_cycle,
                    std::uint64_t to_cycle) {
  const clock_domain clock = timing::noc_clock(bench.config);
  std::uint64_t flits = 0;
  for (const delivery& d : bench.at(to).received)
    if (d.at > clock.cycles(from_cycle) && d.at <= clock.cycles(to_cycle)) flits += d.flits;
  return static_cast<double>(flits) / static_cast<double>(to_cycle - from_cycle);
}

void plan_stream(fabric_bench& bench, abi::node_address from, abi::node_address to, traffic_class c,
                 std::uint32_t flits, std::uint64_t packets, std::uint64_t every = 0) {
  const clock_domain clock = timing::noc_clock(bench.config);
  for (std::uint64_t n = 0; n < packets; ++n) bench.at(from).plan(clock.cycles(n * every), to, c, flits, n);
}

TEST_CASE("one stream of full packets fills every link of its way") {
  fabric_bench bench(small_machine(1, 1, 1));
  const abi::node_address to = pe(3);
  plan_stream(bench, pe(0), to, traffic_class::comm, 17, 300);
  run_to_starvation();
  REQUIRE(bench.at(to).received.size() == 300);
  CHECK(arrival_rate(bench, to, 500, 4000) == Approx(1.0).margin(0.01));
}

TEST_CASE("one stream of one-flit packets fills every link of its way") {
  fabric_bench bench(small_machine(1, 1, 1));
  plan_stream(bench, pe(0), pe(3), traffic_class::sideband, 1, 2000);
  plan_stream(bench, pe(1), pe(2), traffic_class::comm, 1, 2000);
  run_to_starvation();
  CHECK(arrival_rate(bench, pe(3), 200, 1500) == Approx(1.0).margin(0.01));
  CHECK(arrival_rate(bench, pe(2), 200, 1500) == Approx(1.0).margin(0.01));
}

TEST_CASE("a packet that leaves is delayed by one of another class that joins it") {
  constexpr std::uint32_t flits = 17, later = 6;
  fabric_bench bench(mesh_machine(3, 1));
  const clock_domain clock = timing::noc_clock(bench.config);
  bench.at(pe(0)).plan(clock.cycles(0), pe(1), traffic_class::comm, flits, 0);
  bench.at(pe(2)).plan(clock.cycles(later), pe(1), traffic_class::request, flits, 0);
  run_to_starvation();
  const std::vector<delivery>& received = bench.at(pe(1)).received;
  REQUIRE(received.size() == 2);
  CHECK(received[0].traffic_class == traffic_class::comm);
  // They take turns until the first is through. Then as much of the second is left as the first was ahead.
  CHECK((received[1].at - received[0].at).fs == clock.cycles(later).fs);
}

/// A VC's buffer covers its credit loop of hop_cycles + credit_cycles or it throttles the stream to
/// buffer over loop, whatever the packet's length.
double wormhole_rate(std::uint64_t buffer_flits) {
  config::machine_config c = mesh_machine(4, 1);
  c.noc.flow = config::noc_flow::wormhole;
  c.noc.vc_buffer_flits = buffer_flits;
  fabric_bench bench(c);
  plan_stream(bench, pe(0), pe(3), traffic_class::comm, 17, 300);
  run_to_starvation();
  return arrival_rate(bench, pe(3), 500, 4000);
}

TEST_CASE("a wormhole through buffers that cover the credit loop fills a link") {
  CHECK(wormhole_rate(8) == Approx(1.0).margin(0.02));  // the loop is 4 + 2 cycles
}
TEST_CASE("a wormhole through buffers half the credit loop fills half a link") {
  CHECK(wormhole_rate(3) == Approx(3.0 / 6.0).margin(0.03));
}

/// Share of one of two streams of different classes that meet at an output, in flits.
double share_of_comm(const config::machine_config& c) {
  fabric_bench bench(c);
  const abi::node_address to = pe(2);
  plan_stream(bench, pe(4), to, traffic_class::comm, 17, 1000);
  plan_stream(bench, pe(0), to, traffic_class::request, 17, 1000);
  run_to_starvation();
  const clock_domain clock = timing::noc_clock(c);
  std::map<traffic_class, std::uint64_t> flits;
  for (const delivery& d : bench.at(to).received)
    if (d.at > clock.cycles(1000) && d.at <= clock.cycles(9000)) flits[d.traffic_class] += d.flits;
  CHECK(arrival_rate(bench, to, 1000, 9000) == Approx(1.0).margin(0.02));
  const auto comm = static_cast<double>(flits[traffic_class::comm]);
  return comm / (comm + static_cast<double>(flits[traffic_class::request]));
}

config::machine_config weighted(std::uint64_t comm, std::uint64_t request) {
  config::machine_config c = mesh_machine(5, 1);
  c.noc.arbiter = config::arbitration::weighted;
  c.noc.comm_weight = comm;
  c.noc.request_weight = request;
  return c;
}

TEST_CASE("weights have no effect on round robin") {
  config::machine_config c = weighted(3, 1);
  c.noc.arbiter = config::arbitration::round_robin;
  CHECK(share_of_comm(c) == Approx(0.5).margin(0.02));
}
// Shares are kept to a flit of each packet of 17: 17 beside 17 / 3 +- 1.
TEST_CASE("weighted arbitration shares an output between classes") {
  CHECK(share_of_comm(weighted(3, 1)) == Approx(0.75).margin(0.03));
}
TEST_CASE("weighted arbitration can favor requests") {
  CHECK(share_of_comm(weighted(1, 4)) == Approx(0.2).margin(0.02));
}

/// Sources at different distances and on different input ports of the destination's router get equal
/// shares, as round robin gives each *input* its turn: here every input carries one source.
TEST_CASE("round robin shares an output equally between inputs") {
  config::machine_config c = mesh_machine(3, 3);
  fabric_bench bench(c);
  // The PE of the center is reached from the four neighbors of its router, one per side.
  const auto& terminals = bench.topology.layout({}, {}).terminals;
  const auto at_router = [&](std::uint32_t router) {
    for (std::uint16_t t = 0; t < terminals.size(); ++t)
      if (terminals[t].kind == fabric::terminal_kind::pe && terminals[t].router == router) return pe(t);
    throw std::logic_error("no PE at this router");
  };
  const abi::node_address to = at_router(4);
  const std::vector<abi::node_address> sources{at_router(1), at_router(3), at_router(5), at_router(7)};
  for (const abi::node_address from : sources) plan_stream(bench, from, to, traffic_class::comm, 5, 400);
  const clock_domain clock = timing::noc_clock(c);
  run_until(clock.cycles(4000));
  std::map<abi::node_address, std::uint64_t> by_source;
  for (const delivery& d : bench.at(to).received) ++by_source[d.source];
  REQUIRE(by_source.size() == 4);
  const std::uint64_t total = bench.at(to).received.size();
  CHECK(static_cast<double>(total * 5) / 4000.0 == Approx(1.0).margin(0.02));
  for (const auto& [source, packets] : by_source)
    CHECK(static_cast<double>(packets) == Approx(static_cast<double>(total) / 4.0).margin(2.0));
}

/// Two VCs of one class on one input port want two outputs: neither may starve the other.
TEST_CASE("an input is shared between the outputs its packets want") {
  config::machine_config c = mesh_machine(3, 2);
  fabric_bench bench(c);
  // Packets of two classes from one source over a shared first link, to different rows.
  plan_stream(bench, pe(0), pe(2), traffic_class::comm, 5, 400);
  plan_stream(bench, pe(0), pe(5), traffic_class::request, 5, 400);
  const clock_domain clock = timing::noc_clock(c);
  run_until(clock.cycles(3000));
  const double first = arrival_rate(bench, pe(2), 500, 3000);
  const double second = arrival_rate(bench, pe(5), 500, 3000);
  CHECK(first + second == Approx(1.0).margin(0.02));
  CHECK(first == Approx(second).margin(0.02));
}

TEST_CASE("classes interleave: a credit beside a stream of long packets waits for flits, not for packets") {
  fabric_bench bench(small_machine(1, 1, 1));
  const std::uint64_t every = 100;
  plan_stream(bench, pe(0), pe(3), traffic_class::comm, 17, 600);
  plan_stream(bench, pe(0), pe(3), traffic_class::sideband, 1, 90, every);
  run_to_starvation();
  const sim_time idle =
      fabric::idle_latency(bench.topology, bench.config, pe(0), pe(3), traffic_class::sideband, 1);
  const clock_domain clock = timing::noc_clock(bench.config);
  std::uint64_t links = 2;  // injection and ejection
  for (const fabric::route_hop& hop : bench.topology.trace(pe(0), pe(3)))
    links += bench.topology.links()[hop.link].kind == fabric::link_kind::mesh ? 1 : 0;
  std::uint64_t credits = 0;
  sim_time worst;
  for (const delivery& d : bench.at(pe(3)).received) {
    if (d.traffic_class != traffic_class::sideband) continue;
    ++credits;
    worst = std::max(worst, d.at - d.created);
  }
  CHECK(credits == 90);
  // One cycle to the first edge, and on each link and each switch input at most one flit of the stream
  // and the flit before it.
  CHECK(worst <= idle + clock.cycles(1 + 2 * links));
}

TEST_CASE("classes interleave: a link carries no more than one flit per cycle") {
  fabric_bench bench(small_machine(1, 1, 1));
  const std::vector<traffic_class> classes{traffic_class::comm, traffic_class::request,
                                           traffic_class::response, traffic_class::message};
  std::uint32_t flits = 17;
  for (const traffic_class c : classes) {
    plan_stream(bench, pe(0), pe(3), c, flits, 400);
    flits -= 4;
  }
  plan_stream(bench, pe(0), pe(3), traffic_class::sideband, 1, 1500, 3);
  run_to_starvation();
  CHECK(arrival_rate(bench, pe(3), 500, 8000) == Approx(1.0).margin(0.02));
}

/// All PEs of a cube send to those of its neighbor: the die-to-die link is what limits them.
double ucie_gbytes_s(const config::machine_config& c) {
  fabric_bench bench(c);
  for (std::uint32_t n = 0; n < c.cube.pes; ++n)
    plan_stream(bench, pe(n, 0), pe(n, 1), traffic_class::comm, 17, 600);
  const clock_domain clock = timing::noc_clock(c);
  run_until(clock.cycles(1000));
  const auto before = bench.adapter(0, 0, fabric::side::east).sender().line_statistics();
  run_until(clock.cycles(6000));
  const auto after = bench.adapter(0, 0, fabric::side::east).sender().line_statistics();
  const double bytes = static_cast<double>((after.flits - before.flits) * c.noc.flit_bytes);
  return bytes / clock.cycles(5000).ns();
}

TEST_CASE("a UCIe link reaches its payload rate") {
  config::machine_config c = small_machine(1, 2, 1);
  c.cube.pes = 8;
  c.ucie.modules = 1;  // so that the link and not the mesh before it limits
  const double expected = timing::ucie_payload_gbytes_s(c.ucie);
  REQUIRE(expected == Approx(128.0 * 236.0 / 256.0));
  CHECK(ucie_gbytes_s(c) == Approx(expected).epsilon(0.01));
}

TEST_CASE("the default UCIe side reaches its payload rate") {
  config::machine_config c = small_machine(1, 2, 1);
  c.cube.pes = 16;
  CHECK(ucie_gbytes_s(c) == Approx(timing::ucie_payload_gbytes_s(c.ucie)).epsilon(0.01));
}

TEST_CASE("a UCIe buffer too small for its round trip limits the rate to window over round trip") {
  config::machine_config c = small_machine(1, 2, 1);
  c.cube.pes = 8;
  c.ucie.buffer_flits = 34;  // two packets
  const double window = 34.0 * 64.0;
  const double gbytes_s = ucie_gbytes_s(c);
  // Two packets per round trip of at least twice the latency and the time to drain a packet.
  CHECK(gbytes_s <= window / (2 * c.ucie.latency_ns));
  CHECK(gbytes_s >= window / (2 * c.ucie.latency_ns + 3 * 17.0));
}

TEST_CASE("uniform traffic at 0.3 flits per node and cycle wakes at most 1.5 ports per packet-hop") {
  fabric_bench bench(mesh_machine(8, 8));
  std::vector<abi::node_address> nodes;
  for (std::uint32_t n = 0; n < 64; ++n) nodes.push_back(pe(n));
  const std::uint64_t planned = plan_uniform(bench, nodes, {0.3, 3000, 1, {traffic_class::comm}, {5}});
  run_to_starvation();
  CHECK(bench.deliveries().size() == planned);
  const auto s = bench.statistics();
  REQUIRE(s.packet_hops > 20000);
  const double wakeups = static_cast<double>(s.wakeups) / static_cast<double>(s.packet_hops);
  INFO("wake-ups per packet-hop " << wakeups);
  CHECK(wakeups <= 1.5);
}

}  // namespace
}  // namespace diecast::test
