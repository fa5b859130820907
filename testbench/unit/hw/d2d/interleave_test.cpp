// SPDX-License-Identifier: Apache-2.0
// Classes share a die-to-die or SIP link flit by flit: a credit never waits for a long packet.
#include "d2d_bench.hpp"

namespace diecast::test {
namespace {

using abi::traffic_class;

/// Latency of single one-flit packets of class sideband from the middle of a stream of long packets over
/// a slow link, above what it is on an idle machine, worst case.
sim_time worst_delay(const config::machine_config& c, abi::node_address from, abi::node_address to,
                     abi::node_address credit_from, abi::node_address credit_to) {
  fabric_bench bench(c);
  const clock_domain clock = timing::noc_clock(c);
  for (std::uint64_t n = 0; n < 300; ++n) bench.at(from).plan({}, to, traffic_class::comm, 17, n);
  for (std::uint64_t n = 0; n < 60; ++n)
    bench.at(credit_from).plan(clock.cycles(1000 + 41 * n), credit_to, traffic_class::sideband, 1, n);
  run_to_starvation();
  const sim_time idle =
      fabric::idle_latency(bench.topology, c, credit_from, credit_to, traffic_class::sideband, 1);
  sim_time worst;
  std::uint64_t credits = 0;
  for (const delivery& d : bench.at(credit_to).received) {
    if (d.traffic_class != traffic_class::sideband) continue;
    ++credits;
    worst = std::max(worst, d.at - d.created);
  }
  CHECK(credits == 60);
  REQUIRE(worst > idle);
  return worst - idle;
}

/// The credit's own PEs have routes to the link that the stream does not use.
TEST_CASE("d2d interleave: a credit beside long packets on a UCIe link waits for flits") {
  config::machine_config c = two_cubes();
  c.ucie.lanes = 16;
  c.ucie.gt_s = 4;
  c.ucie.format = config::flit_format::raw;  // 8 GB/s: a flit in 8 ns, a packet in 136
  // One flit of the packet on the wire and one that shares with its own: 16 ns; three clock edges.
  CHECK(worst_delay(c, pe(0), pe(0, 1), pe(7), pe(7, 1)) <= nanoseconds(16 + 3));
}
TEST_CASE("d2d interleave: a credit beside long packets in 256 B flits waits for a flit more") {
  config::machine_config c = two_cubes();
  c.ucie.lanes = 16;
  c.ucie.gt_s = 4;  // a frame of 256 B in 32 ns, a packet in 148
  // Two NoC flits (17.4 ns), the rest of the frame they fall into, three clock edges.
  CHECK(worst_delay(c, pe(0), pe(0, 1), pe(7), pe(7, 1)) <= nanoseconds(17.4 + 32 + 3));
}
TEST_CASE("d2d interleave: a credit beside long packets on a SIP link waits for flits") {
  config::machine_config c = small_machine(2, 1, 1);
  c.sip_link.gbytes_s = 8;
  // The gateway's port is one port: stream and credit also share the NoC's way there.
  CHECK(worst_delay(c, pe(0), pe(0, 0, 1), pe(3), pe(3, 0, 1)) <= nanoseconds(16 + 12));
}

TEST_CASE("d2d interleave: the shares of two classes that saturate a link are equal, and its rate is whole") {
  config::machine_config c = two_cubes();
  fabric_bench bench(c);
  for (std::uint64_t n = 0; n < 700; ++n) {
    for (std::uint32_t p = 0; p < 8; ++p)
      bench.at(pe(p)).plan({}, pe(p, 1), p % 2 == 0 ? traffic_class::comm : traffic_class::request, 17, n);
  }
  const clock_domain clock = timing::noc_clock(c);
  run_until(clock.cycles(1000));
  const std::size_t before = bench.deliveries().size();
  run_until(clock.cycles(5000));
  std::map<traffic_class, std::uint64_t> flits;
  const auto deliveries = bench.deliveries();
  for (const delivery& d : deliveries)
    if (d.at > clock.cycles(1000)) flits[d.traffic_class] += d.flits;
  REQUIRE(deliveries.size() > before);
  const double window_ns = clock.cycles(4000).ns();
  const auto comm = static_cast<double>(flits[traffic_class::comm] * c.noc.flit_bytes) / window_ns;
  const auto request = static_cast<double>(flits[traffic_class::request] * c.noc.flit_bytes) / window_ns;
  CHECK(comm + request == Approx(118.0).epsilon(0.01));
  CHECK(comm == Approx(request).epsilon(0.02));
}

}  // namespace
}  // namespace diecast::test
