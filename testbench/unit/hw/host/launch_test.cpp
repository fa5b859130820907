// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "launch_bench.hpp"
#include "models/types/error.hpp"
#include "support/machines.hpp"
#include "support/sc_fixture.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::test;

namespace {

config::machine_config machine(const machine_shape& s) {
  config::machine_config c = machine_of(s);
  c.hbm.ports = 1;
  return c;
}

/// Launches on every PE at a common start and waits for all of its SIP.
void launch_all(diecast::abi::host_hal& host, launch_bench& bench) {
  const std::vector<pe_coord> all = bench.all_pes();
  const auto mine = launch_bench::launches(host.self(), all, 1, host.now() + bench.worst(all));
  host.launch(mine);
  host.wait_for_completions(1, static_cast<std::uint32_t>(mine.size()));
}

/// Runs to the end, if that has not been done.
void expect_clean_run(const launch_bench& bench) {
  if (hw::now() == sim_time{}) run_to_starvation();
  CHECK(bench.fault() == "");
  CHECK(bench.unrest().empty());
  for (const auto& h : bench.hosts) CHECK(h->finished());
}

/// A machine with everything that launch timing depends on drawn anew.
config::machine_config random_machine(std::mt19937& random) {
  const auto draw = [&](std::uint64_t low, std::uint64_t high) { return low + random() % (high - low + 1); };
  const auto up_to = [&](std::uint32_t most) { return static_cast<std::uint32_t>(draw(1, most)); };
  config::machine_config c = machine({up_to(2), up_to(4), up_to(3), up_to(8)});
  c.host.host_cycles = draw(1, 300);
  c.host.io_cpu_cycles = draw(0, 1) != 0 ? draw(1, 10) : draw(1, 150);
  c.host.control_cpu_cycles = draw(0, 1) != 0 ? draw(1, 10) : draw(1, 150);
  c.noc.columns = draw(1, 4);
  c.noc.rows = draw(2, 4);
  c.noc.hop_cycles = draw(2, 12);
  c.noc.credit_cycles = draw(1, 5);
  c.noc.flit_bytes = std::uint64_t{32} << draw(0, 2);
  c.noc.max_packet_bytes = 256;
  c.noc.clock_ghz = draw(0, 1) != 0 ? 1.0 : 1.4;
  const std::uint64_t packet = 1 + 256 / c.noc.flit_bytes;
  if (draw(0, 1) != 0) c.noc.vc_buffer_flits = draw(packet, 2 * packet);
  c.ucie.gt_s = draw(0, 1) != 0 ? 16.0 : 4.0;
  c.ucie.lanes = draw(0, 1) != 0 ? 64 : 16;
  c.ucie.modules = draw(1, 2);
  c.ucie.latency_ns = static_cast<double>(draw(2, 30));
  if (draw(0, 1) != 0) c.ucie.buffer_flits = draw(packet, 4 * packet);
  if (draw(0, 2) == 0) {
    c.overrides = {{.match = draw(0, 1) != 0 ? "pod.sip0.cube_0_0" : "*.cube_?_0.noc",
                    .hop_cycles = c.noc.hop_cycles + draw(1, 20)}};
  }
  if (draw(0, 2) == 0) {  // less than a round trip: packets wait for room in the retry buffer
    c.ucie.format = draw(0, 1) != 0 ? config::flit_format::flit_68 : config::flit_format::flit_256;
    c.ucie.retry_flits = draw(1, 3);
  }
  return c;
}

}  // namespace

TEST_CASE("host: a launch takes the time of its stations to the cycle") {
  config::machine_config c = machine({1, 2, 1, 2});
  c.host = {config::launch_kind::modelled, 100, 50, 200};
  launch_bench bench(c, launch_all);
  expect_clean_run(bench);
  const fabric::topology& t = bench.fabric.topology;
  const std::uint32_t flits = 1 + 224 / 64 + 1;  // 28 words of 8 bytes
  const auto idle = [&](diecast::abi::node_address from, diecast::abi::node_address to) {
    return fabric::idle_latency(t, c, from, to, diecast::abi::traffic_class::request, flits).ns();
  };
  for (std::uint32_t n = 0; n < bench.pes.size(); ++n) {
    const stub_pe& pe = *bench.pes[n];
    const diecast::abi::node_address io = comm::io_cpu_node(t, sip_id{0});
    const diecast::abi::node_address control = comm::control_cpu_node(t, sip_id{0}, pe.self().cube);
    const diecast::abi::node_address end = t.locate(comm::launch_mailbox(pe.self()));
    REQUIRE(pe.arrivals.size() == 1);
    // Each terminal sends one cycle after it was asked to; 1 GHz.
    const double expected = 200 + 100 * (n + 1) + 1 + idle(io, control) + 50 + 1 + idle(control, end);
    CHECK(pe.arrivals[0].at.ns() == Approx(expected).epsilon(1e-12));
    CHECK(pe.arrivals[0].by_packet);
  }
}

TEST_CASE("host: a slow control CPU makes the packets of its cube queue") {
  config::machine_config c = machine({1, 1, 1, 8});
  c.host = {config::launch_kind::modelled, 10, 300, 1};
  launch_bench bench(c, launch_all);
  expect_clean_run(bench);
  for (std::uint32_t n = 1; n < 8; ++n) {
    const auto from = [&](std::uint32_t pe) {
      const fabric::topology& t = bench.fabric.topology;
      const sim_time idle = fabric::idle_latency(t, c, comm::control_cpu_node(t, sip_id{0}, cube_id{0}),
                                                 t.locate(comm::launch_mailbox(bench.pes[pe]->self())),
                                                 diecast::abi::traffic_class::request, 5);
      return bench.pes[pe]->arrivals.at(0).at.ns() - idle.ns();
    };
    CHECK(from(n) - from(n - 1) == Approx(300));
  }
}

TEST_CASE("host: every PE of the pod gets its own block, before the common start") {
  launch_bench bench(machine({2, 3, 2, 4}), launch_all);
  expect_clean_run(bench);
  const std::vector<pe_coord> all = bench.all_pes();
  const sim_time start = bench.worst(all);
  for (std::uint32_t r = 0; r < bench.pes.size(); ++r) {
    REQUIRE(bench.pes[r]->arrivals.size() == 1);
    const stub_pe::arrival& a = bench.pes[r]->arrivals[0];
    CHECK(diecast::abi::encode_launch(a.block) ==
          diecast::abi::encode_launch(launch_bench::block(r, 1, start)));
    CHECK(a.at <= start);
  }
  for (const auto& io : bench.io_cpus) CHECK(io->terminal().packets_sent() == 24);
  for (const auto& control : bench.control_cpus) CHECK(control->terminal().packets_sent() == 4);
}

TEST_CASE("host: build order does not show in a launch") {
  const auto c = machine({2, 2, 2, 3});
  launch_bench forward(c, launch_all, "forward");
  launch_bench reverse(c, launch_all, "reverse", {true, 0});
  launch_bench shuffled(c, launch_all, "shuffled", {false, 7});
  run_to_starvation();
  for (std::uint32_t r = 0; r < forward.pes.size(); ++r) {
    CHECK(forward.pes[r]->arrivals.at(0).at == reverse.pes[r]->arrivals.at(0).at);
    CHECK(forward.pes[r]->arrivals.at(0).at == shuffled.pes[r]->arrivals.at(0).at);
  }
}

TEST_CASE("host: the worst dispatch latency is a bound on any machine, and a close one on the default") {
  std::vector<std::unique_ptr<launch_bench>> benches;
  std::mt19937 random(2024);
  for (int n = 0; n < 60; ++n) {
    benches.push_back(
        std::make_unique<launch_bench>(random_machine(random), launch_all, fmt::format("machine{}", n)));
  }
  config::machine_config shipped;
  benches.push_back(std::make_unique<launch_bench>(shipped, launch_all, "shipped"));
  for (const auto& bench : benches) {
    const config::machine_config& c = bench->fabric.config;
    INFO("io " << c.host.io_cpu_cycles << " control " << c.host.control_cpu_cycles << " cubes "
               << c.sip.columns << 'x' << c.sip.rows << " pes " << c.cube.pes << " hop " << c.noc.hop_cycles);
    expect_clean_run(*bench);
    CHECK(bench->last_arrival() <= bench->worst(bench->all_pes()));
  }
  const launch_bench& last = *benches.back();
  CHECK(last.worst(last.all_pes()).ns() <= 1.1 * last.last_arrival().ns());
}

TEST_CASE("host: the worst dispatch follows the participants and the configuration") {
  config::machine_config c = machine({2, 4, 4, 8});
  const fabric::topology t(c);
  const auto worst = [&](const std::vector<pe_coord>& p) { return comm::worst_dispatch(t, c, p); };
  const pe_coord here{sip_id{0}, t.io_cube(sip_id{0}), pe_id{0}};
  const pe_coord far{sip_id{0}, cube_id{15}, pe_id{7}};
  const pe_coord other_sip{sip_id{1}, cube_id{15}, pe_id{7}};
  CHECK(worst({}) == sim_time{});
  CHECK(worst({here}) < worst({far}));
  CHECK(worst({here, far}) == worst({far, far}));
  CHECK(worst({far, other_sip}) == worst({far}));  // each SIP has a host of its own
  const sim_time two = worst({here, here});
  c.host.io_cpu_cycles += 10;
  CHECK(worst({here, here}) - two == nanoseconds(20));
  c.host.launch = config::launch_kind::ideal;
  CHECK(worst({here, far}) == sim_time{});
}

TEST_CASE("host: replays are allowed for with all that overrides say of a link") {
  config::machine_config whole = machine({1, 2, 2, 2});
  whole.ucie.gt_s = 16;
  whole.ucie.modules = 4;
  whole.ucie.ber = 1e-5;
  config::machine_config parts = whole;
  whole.ucie.gt_s = 4;
  whole.ucie.modules = 1;
  parts.overrides = {{.match = "*", .modules = 1}, {.match = "*", .gt_s = 4.0}};
  const auto worst = [](const config::machine_config& c) {
    const fabric::topology t(c);
    const std::vector<pe_coord> all{{sip_id{0}, cube_id{0}, pe_id{1}}, {sip_id{0}, cube_id{3}, pe_id{1}}};
    return comm::worst_dispatch(t, c, all);
  };
  CHECK(worst(parts) == worst(whole));
  parts.overrides.pop_back();
  CHECK(worst(parts) < worst(whole));
}

TEST_CASE("host: an ideal launch is there at once and takes no packets") {
  config::machine_config c = machine({1, 2, 2, 2});
  c.host.launch = config::launch_kind::ideal;
  launch_bench bench(c, [](diecast::abi::host_hal& host, launch_bench& b) {
    host.wait_until(nanoseconds(100));
    launch_all(host, b);
  });
  expect_clean_run(bench);
  for (const auto& pe : bench.pes) {
    REQUIRE(pe->arrivals.size() == 1);
    CHECK(pe->arrivals[0].at == nanoseconds(100));
    CHECK(pe->arrivals[0].block.target_start == nanoseconds(100));
    CHECK_FALSE(pe->arrivals[0].by_packet);
  }
  CHECK(bench.io_cpus[0]->terminal().packets_sent() == 0);
}

TEST_CASE("host: completions are counted per launch, and the host sleeps until the last") {
  std::vector<double> woke;
  launch_bench bench(machine({1, 1, 1, 4}), [&](diecast::abi::host_hal& host, launch_bench& b) {
    const std::vector<pe_coord> all = b.all_pes();
    for (std::uint32_t id = 1; id <= 3; ++id) {
      const sim_time start = host.now() + b.worst(all);
      host.launch(launch_bench::launches(sip_id{0}, all, id, start));
      host.wait_for_completions(id, 4);
      woke.push_back((host.now() - start).ns());
      CHECK(b.io_cpus[0]->completed(id) == 4);
      CHECK(b.io_cpus[0]->completed(id + 1) == 0);
    }
  });
  expect_clean_run(bench);
  REQUIRE(woke.size() == 3);
  CHECK(woke[0] > stub_pe::run_ns);
  CHECK(woke[0] < stub_pe::run_ns + 150);
  CHECK(woke[1] == Approx(woke[0]).margin(1.0));
  CHECK(woke[2] == Approx(woke[0]).margin(1.0));
}

TEST_CASE("host: waiting for a PE that never reports ends in starvation") {
  launch_bench bench(machine({1, 1, 1, 2}), [](diecast::abi::host_hal& host, launch_bench& b) {
    host.launch(launch_bench::launches(sip_id{0}, b.all_pes(), 1, nanoseconds(2000)));
    host.wait_for_completions(1, 3);
  });
  CHECK(run_to_starvation() < nanoseconds(3000));
  CHECK(bench.fault() == "");
  CHECK_FALSE(bench.hosts[0]->finished());
  CHECK(bench.io_cpus[0]->completed(1) == 2);
}

TEST_CASE("host: a launch on a PE of another SIP is refused by name") {
  launch_bench bench(machine({2, 1, 1, 1}), [](diecast::abi::host_hal& host, launch_bench&) {
    if (host.self() == sip_id{1}) return;
    const diecast::abi::pe_launch wrong{{sip_id{1}, cube_id{0}, pe_id{0}}, {}};
    host.launch({&wrong, 1});
  });
  bench.fabric.faults.expected = true;
  run_to_starvation();
  CHECK_THAT(bench.fault(), Catch::StartsWith("pod_sip0_host: launch 0 (value sip 1, cube 0, pe 0;"));
  CHECK_FALSE(bench.hosts[0]->finished());
}

TEST_CASE("host: a control CPU refuses what is not for a PE of its cube") {
  config::machine_config c = machine({1, 1, 1, 2});
  launch_bench bench(c, [](diecast::abi::host_hal&, launch_bench&) {});
  bench.fabric.faults.expected = true;
  // The block of a PE that does not exist, sent by the PE itself.
  hw::packet_ptr p = bench.fabric.pool(0).make();
  p->header.kind = diecast::abi::packet_kind::launch;
  p->header.target =
      diecast::abi::encode({sip_id{0}, cube_id{0}, diecast::abi::region::launch_mailbox, 7, 0});
  p->header.destination = comm::control_cpu_node(bench.fabric.topology, sip_id{0}, cube_id{0});
  bench.pes[0]->port.send(std::move(p));
  run_to_starvation();
  CHECK_THAT(bench.fault(), Catch::StartsWith("pod_sip0_cube0_control: unexpected launch packet"));
  CHECK_THAT(bench.fault(), Catch::Contains("launch_mailbox[7]"));
}

TEST_CASE("host: buffers too small for a launch packet are a configuration error") {
  config::machine_config c = machine({1, 1, 1, 1});
  c.noc.max_packet_bytes = 64;
  c.noc.vc_buffer_flits = 4;
  CHECK(comm::launch_flits(c) == 5);
  CHECK_THROWS_WITH(comm::check_launch_packet(c),
                    Catch::Contains("noc.vc_buffer_flits") && Catch::Contains("5 or more"));
  c.noc.flow = config::noc_flow::wormhole;
  CHECK_NOTHROW(comm::check_launch_packet(c));
  c.noc.flow = config::noc_flow::virtual_cut_through;
  c.noc.vc_buffer_flits = 5;
  CHECK_NOTHROW(comm::check_launch_packet(c));
}
