// SPDX-License-Identifier: Apache-2.0
// Properties of the switches alone, on random networks under random traffic: nothing is lost, doubled or
// overtaken, and all credits come home.
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

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

/// A random network of the kind that unobserved switches handle by a faster path: one class, and
/// packets that follow each other on a link.
random_network plain_network_of(std::uint64_t seed) {
  random_network r = random_network_of(seed);
  network_description& n = r.network;
  n.classes = 1;
  n.vcs = std::min(n.vcs, 8 / n.sets());
  n.buffer = {32};
  n.hold = true;
  n.whole_packets = seed % 2 == 0;
  r.traffic.kinds = {{0, 1, 2}, {0, 5, 1}, {0, 24, 1}};
  r.traffic.rate = 0.1 + 0.1 * static_cast<double>(seed % 9);
  r.traffic.cycles = 400;
  return r;
}

struct watched_run {
  std::vector<std::uint64_t> arrived;  ///< by packet, of its tail
  std::uint64_t end{};                 ///< cycle of the last credit home
  std::uint64_t flits_seen{}, flit_hops{}, packet_hops{}, evaluations{};
};

/// To its end, or not beyond `limit`; `watches`: whether somebody does in a cycle.
watched_run run_watched(const random_network& r, const std::function<bool(std::uint64_t)>& watches) {
  constexpr std::uint64_t limit = 100000;
  const std::vector<planned_packet> packets = packets_of(r.network, r.traffic);
  switch_network net(r.network);
  for (std::uint32_t k = 0; net.now() < limit && (k < packets.size() || !net.at_rest());) {
    net.watch(watches(net.now()));
    for (; k < packets.size() && packets[k].created == net.now(); ++k) net.queue(packets[k], k);
    net.step();
  }
  watched_run run;
  run.arrived.resize(packets.size(), played::never);
  for (const auto& d : net.deliveries())
    if (d.tail) run.arrived[d.packet] = d.arrived;
  run.end = net.now();
  run.flits_seen = net.flits_seen();
  const auto counted = net.core().statistics();
  run.flit_hops = counted.flit_hops;
  run.packet_hops = counted.packet_hops;
  run.evaluations = counted.evaluations;
  return run;
}

TEST_CASE("switches do the same to the cycle, watched, unwatched and watched by turns") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const random_network r = plain_network_of(seed);
    CAPTURE(seed, r.text());
    const watched_run alone = run_watched(r, [](std::uint64_t) { return false; });
    const watched_run watched = run_watched(r, [](std::uint64_t) { return true; });
    const watched_run by_turns = run_watched(r, [](std::uint64_t cycle) { return cycle / 37 % 2 != 0; });
    CHECK(std::count(alone.arrived.begin(), alone.arrived.end(), played::never) == 0);
    CHECK(alone.flits_seen == 0);
    CHECK(watched.flits_seen > watched.flit_hops);  // those out of sources and to nodes are no hops
    CHECK((0 < by_turns.flits_seen && by_turns.flits_seen < watched.flits_seen));
    for (const watched_run* other : {&watched, &by_turns}) {
      CHECK(other->arrived == alone.arrived);
      CHECK(other->end == alone.end);
      CHECK(other->flit_hops == alone.flit_hops);
      CHECK(other->packet_hops == alone.packet_hops);
      CHECK(other->evaluations == alone.evaluations);
    }
  }
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
    RC_ASSERT(ahead.core().statistics().evaluations == plain.core().statistics().evaluations);
  }));
}

}  // namespace
}  // namespace diecast::test
