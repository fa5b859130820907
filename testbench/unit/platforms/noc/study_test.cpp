// SPDX-License-Identifier: Apache-2.0
// Network studies: zero-load latency of every pair, conservation and order under random traffic on random
// networks. Random networks run in processes of their own, so that a failing one is shrunk.
#include <csignal>
#include <fmt/format.h>
#include <map>
#include <tuple>
#include <unistd.h>

#include <rapidcheck.h>

#include "hw/base/time.hpp"
#include "models/types/error.hpp"
#include "platforms/config_io/config_json.hpp"
#include "platforms/noc/app.hpp"
#include "platforms/noc/machine.hpp"
#include "platforms/run/child.hpp"
#include "support/faults.hpp"
#include "support/sc_fixture.hpp"
#include "support/test.hpp"

namespace diecast::noc {
namespace {

using config::noc_topology;

#ifndef DIECAST_CONFIGS
#error "DIECAST_CONFIGS names the folder of shipped configs"
#endif

config::machine_config reference(std::uint64_t side, std::uint32_t packet_flits) {
  platforms::config_request request;
  request.file = std::filesystem::path(DIECAST_CONFIGS) / "noc_reference.json";
  config::machine_config c = platforms::load_config(request).config;
  c.noc.columns = c.noc.rows = side;
  return adapt(c, packet_flits);
}

/// Everything a study runs on, sharing the simulation of the process.
struct parts {
  parts(const std::string& name, const config::machine_config& c, traffic::packet_arrivals& arrivals)
      : net(c), modules(name.c_str(), net, arrivals, pool, {}, hub) {}
  events::hub hub;
  network net;
  hw::packet_pool pool;
  machine modules;
};

void check_zero_load(std::uint32_t side, std::uint32_t flits) {
  constexpr std::uint64_t spacing = 400;
  std::vector<traffic::packet_arrival> single;
  const std::uint32_t nodes = side * side;
  for (std::uint32_t from = 0; from < nodes; ++from) {
    for (std::uint32_t to = 0; to < nodes; ++to) single.push_back({single.size() * spacing, from, to, flits});
  }
  traffic::recorded_arrivals arrivals(single);
  parts study("study", reference(side, flits), arrivals);
  std::size_t delivered = 0;
  study.modules.traffic->observe([&](const hw::packet&, std::uint8_t, std::uint64_t tail) {
    const traffic::packet_arrival& a = single.at(delivered++);
    const std::uint32_t d = study.net.topology.distance(static_cast<std::uint16_t>(a.source),
                                                        static_cast<std::uint16_t>(a.destination));
    CHECK(tail - a.cycle == 7 + 5 * d + (flits - 1));
  });
  test::run_to_starvation();
  CHECK(test::text_of(study.modules.faults) == "");
  CHECK(delivered == single.size());
  CHECK(study.modules.noc->quiescent());
  CHECK(study.modules.traffic->quiescent());
}

TEST_CASE("noc study: a replay interrupted before its first packet arrives says so") {
  const network net(reference(2, 5));
  study_point point;
  point.progress = platforms::progress_mode::off;
  point.replay = std::make_shared<replay_trace>(replay_trace{"trace", {{0, 0, 3, 5}}, 5});
  platforms::install_signal_handlers();
  const study_outcome o = platforms::run_in_child([&] {
    raise(SIGINT);
    return simulate(point, net);
  });
  INFO(o.message);
  CHECK(o.status == platforms::run_status::interrupted);
  CHECK(o.cycles == 0);
  CHECK(o.accepted_flits_per_node_cycle == 0);
}

TEST_CASE("reference router: zero-load latency of a flit over every pair of a 4 x 4 mesh") {
  check_zero_load(4, 1);
}
TEST_CASE("reference router: zero-load latency of 5 flits over every pair of a 4 x 4 mesh") {
  check_zero_load(4, 5);
}
TEST_CASE("reference router: zero-load latency of a flit over every pair of an 8 x 8 mesh") {
  check_zero_load(8, 1);
}
TEST_CASE("reference router: zero-load latency of 5 flits over every pair of an 8 x 8 mesh") {
  check_zero_load(8, 5);
}

TEST_CASE("noc study: a packet announced ahead enters the network in its own cycle") {
  const std::vector<traffic::packet_arrival> list{{0, 0, 3, 5}, {3, 1, 2, 5}, {3, 2, 1, 5}, {30, 3, 0, 5}};
  traffic::recorded_arrivals arrivals(list);
  parts study("study", reference(2, 5), arrivals);
  const sim_time cycle = timing::noc_clock(study.net.config).period;
  const auto& traffic = study.modules.traffic->statistics();
  const auto entered = [&] { return study.modules.noc->statistics().packets; };
  for (std::uint64_t end = 1; end <= 40; ++end) {
    CAPTURE(end);
    test::run_until(cycle * end);
    // A packet of cycle c is on its link from then to the end of the cycle; the interface has it from there
    // on.
    const auto made = std::count_if(list.begin(), list.end(), [end](const auto& a) { return a.cycle < end; });
    CHECK(entered() == static_cast<std::uint64_t>(made));
    std::uint64_t flits_in = 0;
    study.modules.noc->visit_links([&](std::uint32_t link, const hw::cube_noc::link_usage& u) {
      if (study.net.topology.links()[link].kind == fabric::link_kind::inject) flits_in += u.flits;
    });
    CHECK(flits_in == 5 * entered());
    CHECK(study.modules.packets_under_way() == entered() - traffic.delivered);
    if (end <= 15) CHECK(traffic.made == 3);  // announced in one go
    if (end <= 7) CHECK_FALSE(study.modules.noc->quiescent());
  }
  test::run_to_starvation();
  CHECK(traffic.delivered == 4);
  CHECK(study.modules.packets_under_way() == 0);
  CHECK(study.modules.noc->quiescent());
}

TEST_CASE("noc study: a source of packets that goes back in time is told") {
  const std::vector<traffic::packet_arrival> list{{0, 0, 3, 5}, {9, 1, 2, 5}, {8, 2, 1, 5}};
  traffic::recorded_arrivals arrivals(list);
  parts study("study", reference(2, 5), arrivals);
  test::run_to_starvation();
  CHECK_THAT(test::text_of(study.modules.faults), Catch::Contains("study.noc") &&
                                                      Catch::Contains("announced behind") &&
                                                      Catch::Contains("in order"));
}

TEST_CASE("noc study: packets that wait at their sources are under way") {
  const std::vector<traffic::packet_arrival> list{{0, 0, 3, 5}, {0, 0, 3, 5}, {0, 0, 3, 5}};
  traffic::recorded_arrivals arrivals(list);
  config::machine_config c = reference(2, 5);
  c.noc.flow = config::noc_flow::virtual_cut_through;
  c.noc.vc_buffer_flits.reset();
  parts study("study", adapt(c, 5), arrivals);
  test::run_until(timing::noc_clock(study.net.config).period);
  CHECK(study.modules.traffic->waiting() > 0);
  CHECK(study.modules.packets_under_way() == 3);
  test::run_to_starvation();
  CHECK(test::text_of(study.modules.faults) == "");
  CHECK(study.modules.packets_under_way() == 0);
}

constexpr unsigned patience_s = 20;  // a run takes milliseconds
constexpr double rest_ns = 200'000;  // 300 packets of 9 flits one after the other take a tenth of it

/// A small network of any kind, with traffic that may saturate it.
struct random_study {
  config::machine_config config;
  std::vector<traffic::packet_arrival> packets;
};

random_study any_study() {
  const auto count = [](int least, int most) {
    return static_cast<std::uint64_t>(*rc::gen::inRange(least, most + 1));
  };
  random_study s;
  config::noc_block& n = s.config.noc;
  n.topology = *rc::gen::element(noc_topology::mesh, noc_topology::torus, noc_topology::ring,
                                 noc_topology::crossbar, noc_topology::torus_oneway);
  n.directions = *rc::gen::element<std::string>("east_north", "south_west", "west_north");
  n.columns = count(1, 5);
  n.rows = count(1, 4);
  const bool wraps = n.topology != noc_topology::mesh && n.topology != noc_topology::crossbar;
  n.vcs_taken = *rc::gen::element(config::vc_policy::per_flow, config::vc_policy::dynamic);
  n.vcs = n.vcs_taken == config::vc_policy::dynamic && wraps ? 2 * count(1, 3) : count(1, 4);
  n.flow = *rc::gen::element(config::noc_flow::virtual_cut_through, config::noc_flow::wormhole);
  n.routing_cycles = count(0, 2);
  n.vc_alloc_cycles = count(0, 1);
  n.switch_alloc_cycles = count(0, 1);
  n.hop_cycles = n.routing_cycles + n.vc_alloc_cycles + n.switch_alloc_cycles + n.link_cycles + count(1, 3);
  n.credit_cycles = count(1, 4);
  n.max_packet_bytes = n.flit_bytes;
  const auto longest = count(1, 9);
  if (n.flow == config::noc_flow::wormhole) n.vc_buffer_flits = count(1, 12);
  s.config = adapt(s.config, static_cast<std::uint32_t>(longest));
  const auto nodes = static_cast<int>(n.columns * n.rows);
  const auto packets = count(1, 300);
  std::uint64_t cycle = 0;
  for (std::uint64_t k = 0; k < packets; ++k) {
    cycle += count(0, 2);
    s.packets.push_back({cycle, static_cast<std::uint32_t>(count(0, nodes - 1)),
                         static_cast<std::uint32_t>(count(0, nodes - 1)),
                         static_cast<std::uint32_t>(count(1, static_cast<int>(longest)))});
  }
  std::stable_sort(s.packets.begin(), s.packets.end(), [](const auto& a, const auto& b) {
    return std::tie(a.cycle, a.source) < std::tie(b.cycle, b.source);
  });
  return s;
}

/// Runs a study to its end; what went wrong, or nothing.
std::string faults_of(const random_study& s) {
  traffic::recorded_arrivals arrivals(s.packets);
  // Never destroyed: the process ends.
  auto& study = *new parts("study", s.config, arrivals);
  std::map<std::pair<std::uint16_t, std::uint64_t>, int> deliveries;
  std::map<std::tuple<std::uint16_t, std::uint16_t, unsigned>, std::uint64_t> last_of_flow;
  std::string wrong;
  const bool per_flow = s.config.noc.vcs_taken == config::vc_policy::per_flow;
  study.modules.traffic->observe([&](const hw::packet& p, std::uint8_t vc, std::uint64_t tail) {
    const auto source = p.header.source.terminal;
    if (++deliveries[{source, p.header.transaction}] != 1) wrong += "delivered twice; ";
    const std::uint64_t created = p.created.fs / timing::noc_clock(s.config).period.fs;
    if (tail < created + p.flits) wrong += "arrived before it can have; ";
    if (!per_flow) return;
    const std::tuple flow{source, p.header.destination.terminal, unsigned{vc}};
    const auto [at, fresh] = last_of_flow.emplace(flow, p.header.transaction);
    if (!fresh && p.header.transaction <= at->second) wrong += "overtaken within its flow; ";
    at->second = p.header.transaction;
  });
  sc_core::sc_start(hw::to_sc(nanoseconds(rest_ns)), sc_core::SC_EXIT_ON_STARVATION);
  wrong += test::text_of(study.modules.faults);
  if (sc_core::sc_pending_activity()) wrong += "never comes to rest; ";
  if (deliveries.size() != s.packets.size()) {
    wrong += fmt::format("{} of {} packets delivered; ", deliveries.size(), s.packets.size());
  }
  if (!study.modules.noc->quiescent()) wrong += "the NoC misses credits or holds packets; ";
  if (!study.modules.traffic->quiescent()) wrong += "the sources miss credits; ";
  const auto& c = study.modules.noc->statistics();
  std::uint64_t hops = 0, flit_hops = 0, on_links = 0;
  for (const auto& a : s.packets) {
    const auto& terminals = study.net.topology.layout({}, {}).terminals;
    const std::uint32_t d =
        study.net.topology.distance(terminals[a.source].router, terminals[a.destination].router);
    hops += d;
    flit_hops += std::uint64_t{d} * a.flits;
  }
  study.modules.noc->visit_links([&](std::uint32_t link, const hw::cube_noc::link_usage& u) {
    if (study.net.topology.links()[link].kind == fabric::link_kind::mesh) on_links += u.flits;
  });
  if (c.packet_hops != hops || c.flit_hops != flit_hops) wrong += "hops are not those of the routes; ";
  if (on_links != flit_hops) wrong += "flits on links are not flits x hops; ";
  return wrong;
}

TEST_CASE("every packet is delivered once, in order per flow, and all credits return") {
  const bool holds = rc::check("conservation", [] {
    const random_study s = any_study();
    const auto& n = s.config.noc;
    RC_LOG() << "topology " << static_cast<int>(n.topology) << ", " << n.columns << " x " << n.rows
             << ", vcs " << *n.vcs << ", policy " << static_cast<int>(n.vcs_taken) << ", flow "
             << static_cast<int>(n.flow) << ", buffer " << n.vc_buffer_flits.value_or(0) << ", hop "
             << n.hop_cycles << "\n";
    const auto answer = platforms::run_text_in_child([&s]() -> std::string {
      alarm(patience_s);  // a network that never comes to rest is a failure, not a test that never ends
      try {
        return "wrong: " + faults_of(s);
      } catch (const std::exception& e) {
        return e.what();
      }
    });
    RC_ASSERT(answer.death == "");
    RC_ASSERT(answer.text == "wrong: ");
  });
  CHECK(holds);
}

TEST_CASE("a network whose datelines are off is refused with the cycle") {
  config::machine_config c;
  c.noc.topology = noc_topology::ring;
  c.noc.columns = 6;
  c.noc.rows = 1;
  CHECK_NOTHROW(network(adapt(c, 5)));
  config::machine_config oneway;
  oneway.noc.topology = noc_topology::torus_oneway;
  CHECK_NOTHROW(network(adapt(oneway, 5)));
  oneway.noc.dateline_vcs = false;
  CHECK_THROWS_WITH(network(adapt(oneway, 5)), Catch::Contains("noc.dateline_vcs"));
  c.noc.dateline_vcs = false;
  CHECK_THROWS_WITH(network(adapt(c, 5)),
                    Catch::Contains("router_5_0.east leg 0") && Catch::Contains("noc.dateline_vcs"));
}

}  // namespace
}  // namespace diecast::noc
