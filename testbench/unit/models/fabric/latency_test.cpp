// SPDX-License-Identifier: Apache-2.0
// Idle latency against sums done by hand, rates, automatic buffers and the balance table.
#include <map>

#include "fabric_test_util.hpp"
#include "models/fabric/topology.hpp"
#include "models/timing/link.hpp"
#include "support/test.hpp"

namespace diecast::fabric {
namespace {

using test::machine;

sim_time idle(const config::machine_config& c, abi::node_address from, abi::node_address to,
              std::uint32_t flits) {
  return idle_latency(topology(c), c, from, to, abi::traffic_class::comm, flits);
}

TEST_CASE("inside a cube: injection, hops, the last router, ejection, then the tail") {
  const config::machine_config c;  // 1 GHz: NI 5 + 5, hop 9 of which 1 is wire
  const topology t(c);
  for (std::uint16_t to = 0; to < 26; ++to) {
    const int a = test::terminal_at(t, {0, 0, 0}).router;
    const int b = test::terminal_at(t, {0, 0, to}).router;
    const auto columns = static_cast<std::uint64_t>(std::abs(a % 4 - b % 4));
    const auto rows = static_cast<std::uint64_t>(std::abs(a / 4 - b / 4));
    const std::uint64_t d = columns + rows;
    CHECK(idle(c, {0, 0, 0}, {0, 0, to}, 1) == nanoseconds(1) * (5 + d * 9 + 8 + 5));
    CHECK(idle(c, {0, 0, 0}, {0, 0, to}, 17) == nanoseconds(1) * (5 + d * 9 + 8 + 5 + 16));
  }
}

TEST_CASE("to the next cube: the adapter stores the packet, the receiver streams it") {
  config::machine_config c = machine(1, {2, 1}, {1, 1});
  c.ucie.format = config::flit_format::raw;  // 256 GB/s: a flit in 0.25 ns, 17 in 4.25 ns
  // Tail at the sender's adapter: 18 + 16 = 34 ns. First flit across: 34.25 + 11 = 45.25, edge 46.
  CHECK(idle(c, {0, 0, 0}, {0, 1, 0}, 17) == nanoseconds(46 + 18 + 16));
  // A slow link decides by its tail: 17 flits at 32 GB/s take 34 ns, there at 34 + 34 + 11 = 79, and
  // the head may start 16 cycles earlier.
  c.ucie.modules = 1;
  c.ucie.lanes = 16;
  CHECK(idle(c, {0, 0, 0}, {0, 1, 0}, 17) == nanoseconds(79 - 16 + 18 + 16));
  // One flit: head is tail. 18 + 2 + 11 = 31.
  CHECK(idle(c, {0, 0, 0}, {0, 1, 0}, 1) == nanoseconds(31 + 18));
}

TEST_CASE("a slow die costs its own hops, and those that pass through it") {
  config::machine_config c = machine(1, {3, 1}, {1, 1});
  c.ucie.format = config::flit_format::raw;
  const sim_time before = idle(c, {0, 0, 0}, {0, 2, 0}, 1);
  c.overrides = {
      {.match = "pod.sip0.cube_1_0", .hop_cycles = 20}};  // one router, of 9: 11 more in its pipeline
  CHECK(idle(c, {0, 0, 0}, {0, 2, 0}, 1) == before + nanoseconds(11));
  CHECK(idle(c, {0, 1, 0}, {0, 1, 1}, 1) == nanoseconds(18 + 11));
  CHECK(idle(c, {0, 2, 0}, {0, 2, 1}, 1) == nanoseconds(18));
}

TEST_CASE("to the next SIP over the SIP link") {
  config::machine_config c = machine(2, {1, 1}, {1, 1});
  c.sip_link.gbytes_s = 64;
  c.sip_link.latency_ns = 100.5;
  // 18 + 16 = 34; head across at 34 + 1 + 100.5 = 135.5, tail 16 ns later: edge 136.
  CHECK(idle(c, {0, 0, 0}, {1, 0, 0}, 17) == nanoseconds(136 + 18 + 16));
}

TEST_CASE("a link never lets a flit overtake its bytes, and wastes less than a cycle") {
  const bool holds = rc::check("injection", [] {
    timing::link_timing link;
    link.flit_bytes = *rc::gen::element<std::uint64_t>(16, 64, 128);
    link.gbytes_s = static_cast<double>(*rc::gen::inRange(1, 4000)) / 8.0;
    link.latency = picoseconds(*rc::gen::inRange<std::uint64_t>(0, 200'000));
    link.receiver = clock_domain::from_ghz(static_cast<double>(*rc::gen::inRange(1, 30)) / 10.0);
    const sim_time start = link.receiver.cycles(*rc::gen::inRange<std::uint64_t>(0, 1000));
    const auto flits = *rc::gen::inRange<std::uint32_t>(1, 40);
    const timing::span there = link.arrival(start, flits);
    RC_ASSERT(there.tail == start + link.serialization(flits) + link.latency);
    const sim_time head = link.injection(there, flits);
    RC_ASSERT(head.fs % link.receiver.period.fs == 0);
    bool tight = false;
    for (std::uint32_t i = 0; i < flits; ++i) {
      const sim_time bytes_here = start + link.serialization(i + 1) + link.latency;
      const sim_time leaves = head + link.receiver.cycles(i);
      RC_ASSERT(leaves.fs + 1 >= bytes_here.fs);  // serialization rounds to the femtosecond
      tight = tight || leaves.fs < bytes_here.fs + link.receiver.period.fs;
    }
    RC_ASSERT(tight);
    RC_ASSERT(link.crossing(start, flits) == head);
  });
  CHECK(holds);
}

TEST_CASE("latency never falls with distance or length") {
  const bool holds = rc::check("monotone", [] {
    const config::machine_config c = test::any_machine();
    const topology t(c);
    const auto all = test::blocks(t);
    const auto from = all[*rc::gen::inRange<std::size_t>(0, all.size())];
    const auto to = all[*rc::gen::inRange<std::size_t>(0, all.size())];
    const auto flits = *rc::gen::inRange<std::uint32_t>(1, 20);
    const auto at = [&](const config::machine_config& m, std::uint32_t n) {
      return idle_latency(t, m, from, to, abi::traffic_class::request, n);
    };
    RC_ASSERT(at(c, flits) < at(c, flits + 1));
    config::machine_config slower = c;
    ++slower.noc.hop_cycles;
    RC_ASSERT(at(c, flits) < at(slower, flits));
    slower = c;
    slower.ucie.latency_ns *= 2;
    slower.sip_link.latency_ns *= 2;
    RC_ASSERT(at(c, flits) <= at(slower, flits));
  });
  CHECK(holds);
}

TEST_CASE("UCIe rates before and after the flit format") {
  config::ucie_block u;  // x64 at 16 GT/s, 2 modules
  CHECK(timing::ucie_raw_gbytes_s(u) == Approx(256.0));
  CHECK(timing::ucie_payload_gbytes_s(u) == Approx(236.0));
  u.format = config::flit_format::flit_68;
  CHECK(timing::ucie_payload_gbytes_s(u) == Approx(256.0 * 64 / 68));
  u.format = config::flit_format::raw;
  CHECK(timing::ucie_payload_gbytes_s(u) == Approx(256.0));
}

TEST_CASE("automatic buffers cover their loops; given ones are taken as they are") {
  config::machine_config c;
  CHECK(vc_buffer_flits(c) == 32);  // 17 + 9 + 2
  CHECK(sideband_buffer_flits(c) == 16);
  // 42 ns x 236 GB/s = 155 flits of 64 B, and a packet.
  CHECK(ucie_buffer_flits(c, c.ucie) == 176);
  c.sip_link.gbytes_s = 64;
  c.sip_link.latency_ns = 100;
  CHECK(sip_link_buffer_flits(c, c.sip_link) == 240);  // 220 ns x 64 GB/s, and a packet
  c.sip_link.gbytes_s = 4;
  CHECK(sip_link_buffer_flits(c, c.sip_link) == 40);  // a packet lasts longer (272 ns) than its credit: two
  c.sip_link.gbytes_s = 8;
  CHECK(sip_link_buffer_flits(c, c.sip_link) == 56);  // 136 ns: three
  c.noc.vc_buffer_flits = 20;
  c.noc.sideband_buffer_flits = 3;
  c.ucie.buffer_flits = 50;
  c.sip_link.buffer_flits = 60;
  CHECK(vc_buffer_flits(c) == 20);
  CHECK(sideband_buffer_flits(c) == 3);
  CHECK(ucie_buffer_flits(c, c.ucie) == 50);
  CHECK(sip_link_buffer_flits(c, c.sip_link) == 60);
}

std::vector<std::string> warnings(const config::machine_config& c) {
  std::vector<std::string> found;
  for (const balance_row& row : balance(topology(c), c)) {
    CHECK_FALSE(row.what.empty());
    CHECK(row.gbytes_s > 0);
    if (!row.warning.empty()) found.push_back(row.what + ": " + row.warning);
  }
  return found;
}

TEST_CASE("the shipped machine is balanced") {
  const auto found = warnings(config::machine_config{});
  for (const std::string& w : found) FAIL_CHECK(w);
}

TEST_CASE("the interface of a simple memory keeps as many packets under way as the memory queues") {
  const auto rate = [](std::uint64_t queue) {
    config::machine_config c;
    c.hbm.model = config::hbm_model::simple;
    c.hbm.simple_latency_ns = 20'000;
    c.hbm.queue = queue;
    for (const balance_row& row : balance(topology(c), c))
      if (row.what == "interface of the cube's HBM") return row.gbytes_s;
    return 0.0;
  };
  CHECK(rate(64) == Approx(64 * 1024 / 20'000.0));
  CHECK(rate(256) == Approx(256 * 1024 / 20'000.0));
  CHECK(rate(1) == rate(64));  // no fewer than the interface has
}

TEST_CASE("the balance table knows links that overrides change") {
  config::machine_config c;
  c.ucie.buffer_flits = ucie_buffer_flits(c, c.ucie);
  c.sip_link.buffer_flits = sip_link_buffer_flits(c, c.sip_link);
  CHECK(warnings(c).empty());
  // Both ways of a link are changed, whichever end is named.
  c.overrides = {{.match = "pod.sip*.cube_0_0.ucie_east", .latency_ns = 400},
                 {.match = "pod.sip0.e-sip1.w", .gbytes_s = 8}};
  const std::string slow = "pod.sip0.cube_0_0.ucie_east and 3 like it",
                    narrow = "pod.sip0.e-sip1.w and 1 like it";
  const auto found = warnings(c);
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], Catch::StartsWith("VC buffer of " + slow + ": ucie.buffer_flits sustains only "));
  std::map<std::string, double> rates;
  for (const balance_row& row : balance(topology(c), c)) rates[row.what] = row.gbytes_s;
  CHECK(rates.at(slow) == Approx(timing::ucie_payload_gbytes_s(c.ucie)));
  CHECK(rates.at("VC buffer of " + slow) < rates.at("UCIe VC buffer") / 10);
  CHECK(rates.at(narrow) == Approx(8));
  CHECK(rates.at("SIP link") == Approx(64));
  CHECK(rates.at("pod, first half of the SIPs to the second") == Approx(8));
}

TEST_CASE("the balance table names what cannot keep up") {
  using machine = config::machine_config;
  const std::vector<std::pair<void (*)(machine&), const char*>> cases{
      {[](machine& c) { c.pe.vector_lanes = 16; }, "PE vector unit"},
      {[](machine& c) { c.pe.tcm_banks = 8; }, "PE TCM"},
      {[](machine& c) { c.noc.vc_buffer_flits = 17; }, "noc.vc_buffer_flits"},
      {[](machine& c) { c.noc.sideband_buffer_flits = 2; }, "noc.sideband_buffer_flits"},
      {[](machine& c) { c.ucie.buffer_flits = 64; }, "ucie.buffer_flits"},
      {[](machine& c) {
         c.sip.rows = 1;
         c.ucie.modules = 4;
       },
       "die edge"},
      {[](machine& c) { c.sip_link.gbytes_s = 128; }, "SIP link"},
      {[](machine& c) { c.sip_link.buffer_flits = 100; }, "sip_link.buffer_flits"},
      {[](machine& c) { c.pe.dma_outstanding = 2; }, "pe.dma_outstanding"},
      {[](machine& c) { c.ipcq.n_slots = 1; }, "ipcq.n_slots"}};
  for (const auto& [change, what] : cases) {
    machine c;
    change(c);
    const auto found = warnings(c);
    INFO(what);
    for (const std::string& w : found) UNSCOPED_INFO(w);
    REQUIRE(found.size() == 1);
    CHECK_THAT(found.front(), Catch::Contains(what));
  }
  machine c;
  c.ucie.modules = 1;  // slower than the edge could feed: a choice, not a fault
  CHECK(warnings(c).empty());
}

}  // namespace
}  // namespace diecast::fabric
