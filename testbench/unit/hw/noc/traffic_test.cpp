// SPDX-License-Identifier: Apache-2.0
// Laws of the fabric under random traffic: nothing lost, nothing twice, in order per flow, credits
// home, and the same result whatever order the machine was built in.
#include "traffic.hpp"

#include <map>

#include "support/deliveries.hpp"
#include "support/sc_fixture.hpp"
#include "support/test.hpp"

namespace diecast::test {
namespace {

void run_random(const config::machine_config& c, double load, std::uint32_t seed) {
  fabric_bench bench(c);
  const std::uint64_t planned =
      plan_uniform(bench, bench.endpoints(), {load, 2000, seed, every_class, {1, 2, 5, 9, 17}});
  REQUIRE(planned > 500);
  run_to_starvation();
  check_conserved(bench, planned);
  std::uint64_t mesh_packets = 0;
  std::uint64_t mesh_flits = 0;
  const machine_shape& shape = bench.topology.shape();
  for (std::uint32_t n = 0; n < shape.cubes(); ++n) {
    const auto& noc = bench.noc(n / shape.cubes_per_sip(), n % shape.cubes_per_sip());
    noc.visit_links([&](std::uint32_t link, const hw::cube_noc::link_usage& u) {
      if (bench.topology.links()[link].kind != fabric::link_kind::mesh) return;
      mesh_packets += u.packets;
      mesh_flits += u.flits;
    });
  }
  CHECK(mesh_packets == bench.statistics().packet_hops);
  CHECK(mesh_flits == bench.statistics().flit_hops);
}

TEST_CASE("random traffic on one cube is conserved and in order") {
  run_random(small_machine(1, 1, 1), 0.4, 1);
}
TEST_CASE("random traffic beyond saturation is conserved and in order") {
  run_random(small_machine(1, 1, 1), 3.0, 2);
}
TEST_CASE("random traffic over four cubes is conserved and in order") {
  run_random(small_machine(1, 2, 2), 0.5, 3);
}
TEST_CASE("random traffic over four SIPs is conserved and in order") {
  run_random(small_machine(4, 2, 2), 0.3, 4);
}
TEST_CASE("random traffic with sideband wires is conserved and in order") {
  config::machine_config c = small_machine(2, 2, 1);
  c.noc.sideband = config::sideband_kind::wires;
  run_random(c, 0.5, 5);
}
TEST_CASE("random traffic over links with minimal buffers is conserved and in order") {
  config::machine_config c = small_machine(2, 2, 2);
  c.noc.vc_buffer_flits = 17;
  c.noc.sideband_buffer_flits = 1;
  c.ucie.buffer_flits = 17;
  c.sip_link.buffer_flits = 17;
  run_random(c, 1.0, 6);
}

TEST_CASE("random traffic as wormholes through buffers smaller than a packet is conserved and in order") {
  config::machine_config c = small_machine(2, 2, 2);
  c.noc.flow = config::noc_flow::wormhole;
  c.noc.vc_buffer_flits = 4;
  run_random(c, 0.5, 10);
}
TEST_CASE("random traffic as wormholes beyond saturation is conserved and in order") {
  config::machine_config c = small_machine(1, 2, 2);
  c.noc.flow = config::noc_flow::wormhole;
  c.noc.vc_buffer_flits = 1;
  run_random(c, 3.0, 11);
}

/// The bytes a link carries are those of the routes the packets take.
TEST_CASE("flits over links are the sum over packets of flits times links") {
  fabric_bench bench(small_machine(2, 2, 2));
  plan_uniform(bench, bench.endpoints(), {0.3, 1000, 7, {abi::traffic_class::comm}, {5}});
  run_to_starvation();
  std::map<fabric::link_kind, std::uint64_t> expected;
  for (const delivery& d : bench.deliveries()) {
    for (const fabric::route_hop& hop : bench.topology.trace(d.source, d.destination))
      expected[bench.topology.links()[hop.link].kind] += d.flits;
  }
  std::map<fabric::link_kind, std::uint64_t> carried;
  const machine_shape& shape = bench.topology.shape();
  for (std::uint32_t n = 0; n < shape.cubes(); ++n)
    bench.noc(n / shape.cubes_per_sip(), n % shape.cubes_per_sip())
        .visit_links([&](std::uint32_t link, const hw::cube_noc::link_usage& u) {
          carried[bench.topology.links()[link].kind] += u.flits;
        });
  expected.erase(fabric::link_kind::ucie);
  expected.erase(fabric::link_kind::sip);
  CHECK(expected == carried);
}

struct link_listener : events::observer {
  void on(const events::link_occupied& e) override {
    flits[e.link] += e.flits;
    if (e.tail <= e.head) ++empty;
  }
  std::map<std::uint32_t, std::uint64_t> flits;
  std::uint64_t empty{};
};

TEST_CASE("events of occupied links agree with the counters") {
  fabric_bench bench(small_machine(2, 2, 1));
  link_listener listener;
  bench.hub.attach(listener, events::links);
  plan_uniform(bench, bench.endpoints(), {0.5, 500, 12, every_class, {1, 5, 17}});
  run_to_starvation();
  std::map<std::uint32_t, std::uint64_t> counted;
  for (std::uint32_t n = 0; n < 4; ++n)
    bench.noc(n / 2, n % 2).visit_links([&](std::uint32_t link, const hw::cube_noc::link_usage& u) {
      if (u.flits != 0) counted[link] = u.flits;
    });
  std::uint64_t between_cubes = 0;
  std::erase_if(listener.flits, [&](const auto& entry) {
    const fabric::link_kind kind = bench.topology.links()[entry.first].kind;
    if (kind == fabric::link_kind::ucie || kind == fabric::link_kind::sip) between_cubes += entry.second;
    return kind == fabric::link_kind::ucie || kind == fabric::link_kind::sip;
  });
  CHECK(listener.flits == counted);
  CHECK(between_cubes > 0);
  CHECK(listener.empty == 0);
}

TEST_CASE("results do not depend on the order of construction and binding") {
  const config::machine_config c = small_machine(2, 2, 2);
  fabric_bench forward(c, {}, "forward");
  fabric_bench reverse(c, {.reverse = true}, "reverse");
  fabric_bench shuffled(c, {.shuffle_seed = 7}, "shuffled");
  for (fabric_bench* bench : {&forward, &reverse, &shuffled})
    plan_uniform(*bench, bench->endpoints(), {0.8, 1000, 8, every_class, {1, 5, 17}});
  run_to_starvation();
  REQUIRE(forward.deliveries().size() > 1000);
  CHECK(forward.deliveries() == reverse.deliveries());
  CHECK(forward.deliveries() == shuffled.deliveries());
  CHECK(forward.statistics().wakeups == reverse.statistics().wakeups);
  CHECK(forward.statistics().wakeups == shuffled.statistics().wakeups);
}

TEST_CASE("messages between SIPs as bytes change nothing under load") {
  config::machine_config c = small_machine(2, 2, 2);
  fabric_bench plain(c, {}, "plain");
  c.sim.links_as_bytes = true;
  fabric_bench bytes(c, {}, "bytes");
  for (fabric_bench* bench : {&plain, &bytes})
    plan_uniform(*bench, bench->endpoints(), {0.5, 1000, 9, every_class, {1, 5, 17}});
  run_to_starvation();
  REQUIRE(plain.deliveries().size() > 1000);
  CHECK(plain.deliveries() == bytes.deliveries());
}

}  // namespace
}  // namespace diecast::test
