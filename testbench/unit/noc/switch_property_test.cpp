// SPDX-License-Identifier: Apache-2.0
// Properties of the switches alone, on random networks under random traffic: nothing is lost, doubled or
// overtaken, and all credits come home.
#include <fmt/format.h>
#include <map>
#include <string>
#include <tuple>

#include <rapidcheck.h>

#include "support/random_network.hpp"
#include "support/test.hpp"

namespace diecast::test {
namespace {

struct random_run {
  random_network r;
  std::vector<planned_packet> packets;
};

random_run any_run() {
  random_run run;
  run.r = random_network_of(*rc::gen::arbitrary<std::uint64_t>());
  network_description& n = run.r.network;
  n.columns = *rc::gen::inRange<std::uint32_t>(1, 6);
  n.rows = *rc::gen::inRange<std::uint32_t>(1, 5);
  traffic_plan& t = run.r.traffic;
  t.where = traffic_plan::pattern::uniform;
  t.rate = *rc::gen::inRange(1, 11) / 10.0;
  t.cycles = *rc::gen::inRange<std::uint64_t>(1, 600);
  run.packets = packets_of(n, t);
  return run;
}

void play_to_the_end(const random_run& run, switch_network& net) {
  constexpr std::uint64_t limit = 200000;
  for (std::uint32_t k = 0; net.now() < limit && (k < run.packets.size() || !net.at_rest());) {
    for (; k < run.packets.size() && run.packets[k].created == net.now(); ++k) net.queue(run.packets[k], k);
    net.step();
  }
}

/// Runs it to its end; what went wrong, or nothing.
std::string faults_of(const random_run& run) {
  const network_description& n = run.r.network;
  switch_network net(n);
  play_to_the_end(run, net);
  std::string wrong;
  std::vector<std::uint32_t> flits(run.packets.size()), tails(run.packets.size());
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, unsigned>, std::uint32_t> last_of_flow;
  for (const auto& d : net.deliveries()) {
    const planned_packet& p = run.packets[d.packet];
    flits[d.packet] += d.flits;
    tails[d.packet] += d.tail ? 1 : 0;
    if (d.tail && d.arrived < p.created + p.flits) wrong += "arrived before it can have; ";
    if (n.dynamic || !d.tail) continue;
    const auto [at, fresh] =
        last_of_flow.emplace(std::tuple{p.source, p.destination, p.traffic_class, unsigned{d.vc}}, d.packet);
    if (!fresh && d.packet <= at->second) wrong += "overtaken within its flow; ";
    at->second = d.packet;
  }
  for (std::size_t k = 0; k < run.packets.size(); ++k) {
    if (tails[k] != 1) wrong += fmt::format("packet {} delivered {} times; ", k, tails[k]);
    if (flits[k] != run.packets[k].flits) wrong += fmt::format("{} flits of packet {}; ", flits[k], k);
  }
  if (!net.core().empty()) wrong += "packets are left; ";
  if (!net.at_rest()) wrong += "credits are missing; ";
  return wrong;
}

TEST_CASE("switches deliver every packet once, in order per flow, and all credits return") {
  CHECK(rc::check("conservation", [] {
    const random_run run = any_run();
    RC_LOG() << run.r.text() << ", " << run.packets.size() << " packets\n";
    RC_ASSERT(faults_of(run) == "");
  }));
}

TEST_CASE("switches that fetch records ahead do the same in the same cycles") {
  CHECK(rc::check("fetching ahead", [] {
    random_run run = any_run();
    RC_LOG() << run.r.text() << ", " << run.packets.size() << " packets\n";
    switch_network plain(run.r.network);
    play_to_the_end(run, plain);
    run.r.network.fetch_ahead = true;
    switch_network ahead(run.r.network);
    play_to_the_end(run, ahead);
    RC_ASSERT(!plain.core().fetches_ahead());
    RC_ASSERT(ahead.core().fetches_ahead());
    RC_ASSERT(ahead.deliveries() == plain.deliveries());
    RC_ASSERT(ahead.core().statistics().looks == plain.core().statistics().looks);
  }));
}

}  // namespace
}  // namespace diecast::test
