// SPDX-License-Identifier: Apache-2.0
// The switches against the flit-by-flit reference network.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <vector>

#include "support/random_network.hpp"
#include "support/test.hpp"

namespace diecast::test {
namespace {

/// What the switches make of a random network, against the reference network.
struct comparison {
  double load{};              ///< offered, as a share of the saturation throughput
  double throughput_error{};  ///< throughput error of the switches beyond saturation
  double latency_error{};     ///< error of the mean latency at `load`; NaN: a packet was lost
  bool same{};                ///< every packet arrives in the same cycle, at `load` and beyond saturation

  [[nodiscard]] bool latency_holds() const {
    return std::abs(latency_error) <= (load <= low_load ? low_tolerance : high_tolerance);
  }
  [[nodiscard]] bool holds() const {
    return std::abs(throughput_error) <= throughput_tolerance && latency_holds();
  }
};

comparison compare(const random_network& r) {
  constexpr std::uint64_t warm = 500, cycles = 3000, limit = 60000;
  comparison c;
  traffic_plan t = r.traffic;
  t.cycles = cycles;
  t.rate = 1;
  std::vector<planned_packet> packets = packets_of(r.network, t);
  const played most = play_reference(r.network, packets, {warm, cycles, cycles});
  const played switched = play_switches(r.network, packets, {warm, cycles, cycles});
  c.throughput_error = switched.accepted / most.accepted - 1;
  c.load = r.load;
  t.rate = most.accepted * r.load;
  packets = packets_of(r.network, t);
  const played slow = play_reference(r.network, packets, {warm, cycles, limit});
  const played fast = play_switches(r.network, packets, {warm, cycles, limit});
  c.latency_error = mean_latency(packets, fast, warm, cycles) / mean_latency(packets, slow, warm, cycles) - 1;
  c.same = fast.arrived == slow.arrived && switched.accepted == most.accepted;
  return c;
}

/// Pipelined routers grant what the flit-by-flit routers do, to the cycle, as long as whole packets of
/// several classes do not share a port: how these go on is computed.
bool exact(const network_description& n) { return n.pipelined && (n.classes == 1 || !n.whole_packets); }

/// Throughput of one-way tori whose ports several classes share with whole packets; seeds 0 to 99 reach
/// 0.069.
constexpr double oneway_tolerance = 0.08;

/// Compares 50 networks: each has to be within tolerance.
void check_random_networks(std::uint64_t first, bool oneway = false) {
  unsigned same = 0;
  std::vector<double> errors;
  for (std::uint64_t seed = first; seed < first + 50; ++seed) {
    random_network r = random_network_of(seed);
    if (oneway) r.network.torus = r.network.oneway = true;
    r.network.port_per_vc = oneway && seed % 2 != 0 && !r.network.whole_packets;
    const comparison c = compare(r);
    INFO(fmt::format("seed {}: {}; throughput {:+.1f}%, latency at {:.0f}% of saturation {:+.1f}%", seed,
                     r.text(), 100 * c.throughput_error, 100 * c.load, 100 * c.latency_error));
    REQUIRE_FALSE(std::isnan(c.latency_error));
    errors.push_back(std::abs(c.latency_error));
    if (exact(r.network)) CHECK(c.same);
    same += exact(r.network) ? 1 : 0;
    if (oneway && !exact(r.network)) {
      CHECK(std::abs(c.throughput_error) <= oneway_tolerance);
      CHECK(c.latency_holds());
    } else {
      CHECK(c.holds());
    }
  }
  std::nth_element(errors.begin(), errors.begin() + 25, errors.end());
  INFO(fmt::format("median of the latency error {:.2f}%", 100 * errors[25]));
  CHECK(same > 0);
  CHECK(errors[25] <= 0.002);
}

TEST_CASE("switches against the reference network: random networks 0 to 49") { check_random_networks(0); }
TEST_CASE("switches against the reference network: random networks 50 to 199", "[long]") {
  for (const std::uint64_t first : {50U, 100U, 150U}) check_random_networks(first);
}

TEST_CASE("switches against the reference network: one-way tori 0 to 49") { check_random_networks(0, true); }
TEST_CASE("switches against the reference network: one-way tori 50 to 99", "[long]") {
  check_random_networks(50, true);
}

/// Packets whose arrival differs; all of them arrive.
std::size_t differences(const network_description& n, const traffic_plan& t) {
  const auto packets = packets_of(n, t);
  const play_window w{0, t.cycles, 100 * t.cycles};
  const played slow = play_reference(n, packets, w), fast = play_switches(n, packets, w);
  CHECK(std::count(slow.arrived.begin(), slow.arrived.end(), played::never) == 0);
  std::size_t n_different = 0;
  for (std::size_t k = 0; k < packets.size(); ++k) n_different += fast.arrived[k] == slow.arrived[k] ? 0 : 1;
  return n_different;
}

TEST_CASE("flits of worms of one class take turns on a link") {
  network_description n;
  n.columns = n.rows = 3;
  n.vcs = 4;
  n.pipelined = true;
  n.front = 8;
  n.back = 1;
  n.buffer = {9};
  const traffic_plan t{.kinds = {{0, 9, 1}}, .rate = 1, .cycles = 1000, .seed = 3};
  CHECK(differences(n, t) == 0);
}

TEST_CASE("a head at a router takes the first VC that is free and has room") {
  network_description n;
  n.columns = 3;
  n.rows = 1;
  n.vcs = 3;
  n.pipelined = true;
  n.front = 8;
  n.back = 1;
  n.buffer = {6};  // less than the credit loop: which VCs are taken decides the rate
  const traffic_plan t{
      .where = traffic_plan::pattern::neighbor, .kinds = {{0, 11, 1}}, .rate = 1, .cycles = 1000, .seed = 4};
  CHECK(differences(n, t) == 0);
}

TEST_CASE("a source takes a VC that has room, also where VC allocation is a stage of its own") {
  network_description n;
  n.columns = 2;
  n.rows = 1;
  n.vcs = 12;
  n.whole_packets = n.hold = true;
  n.buffer = {1};
  const traffic_plan t{.rate = 1, .cycles = 3000, .seed = 1};
  const auto packets = packets_of(n, t);
  const double slow = play_reference(n, packets, {500, 3000, 3000}).accepted;
  const double fast = play_switches(n, packets, {500, 3000, 3000}).accepted;
  CHECK(std::abs(fast / slow - 1) <= 0.02);
}

TEST_CASE("heads of two classes that ask for free VCs of one output both get one") {
  network_description n;
  n.columns = 2;
  n.rows = n.vcs = 1;
  n.classes = 2;
  n.buffer = {8, 8};
  n.whole_packets = n.hold = true;
  const traffic_plan t{.where = traffic_plan::pattern::neighbor,
                       .kinds = {{0, 3, 1}, {1, 3, 1}},
                       .rate = 1,
                       .cycles = 200,
                       .seed = 2};
  const auto packets = packets_of(n, t);
  const played p = play_switches(n, packets, {0, t.cycles, 10 * t.cycles});
  CHECK(std::count(p.arrived.begin(), p.arrived.end(), played::never) == 0);
}

TEST_CASE("a whole packet waits for as many credits as it has flits, one by one") {
  // Buffer of one packet: the next head leaves when the credit of the last flit is back, L - 1 cycles and a
  // round trip after the one before; the longest round trip is that of the node.
  network_description n;
  n.columns = 2;
  n.rows = n.vcs = 1;
  n.whole_packets = n.pipelined = true;
  n.front = 8;
  n.back = 1;
  constexpr std::uint32_t flits = 16;
  n.buffer = {flits};
  const std::vector<planned_packet> packets(6, {0, 0, 1, flits, 0});
  const played fast = play_switches(n, packets, {0, 1000, 1000});
  const played slow = play_reference(n, packets, {0, 1000, 1000});
  CHECK(fast.arrived == slow.arrived);
  for (std::size_t k = 2; k < packets.size(); ++k)
    CHECK(fast.arrived[k] - fast.arrived[k - 1] ==
          flits - 1 + n.front + std::max(n.back, n.ni_in) + n.credit);
}

TEST_CASE("packets of two classes that share a link each get half of it") {
  network_description n;
  n.columns = 2;
  n.rows = n.vcs = 1;
  n.classes = 2;
  n.buffer = {40, 40};
  n.whole_packets = n.hold = true;
  const traffic_plan t{.where = traffic_plan::pattern::neighbor,
                       .kinds = {{0, 4, 1}, {1, 4, 1}},
                       .rate = 1,
                       .cycles = 3000,
                       .seed = 1};
  const auto packets = packets_of(n, t);
  const double slow = play_reference(n, packets, {500, 3000, 3000}).accepted;
  const double fast = play_switches(n, packets, {500, 3000, 3000}).accepted;
  CHECK(std::abs(fast / slow - 1) <= 0.01);
}

/// A line of five routers beyond saturation: packets of all classes join each other on every port.
struct crowded_line {
  static constexpr std::uint32_t flits = 16;
  static constexpr std::uint64_t cycles = 10'000;
  network_description network;
  std::vector<planned_packet> packets;

  crowded_line(std::uint32_t classes, std::uint32_t buffer) {
    network.columns = 5;
    network.rows = 1;
    network.classes = classes;
    network.vcs = 3;
    network.dynamic = false;
    network.pipelined = network.whole_packets = network.hold = true;
    network.front = 8;
    network.back = 1;
    network.buffer.assign(classes, buffer);
    traffic_plan t;
    t.kinds.clear();
    for (std::uint32_t c = 0; c < classes; ++c) t.kinds.push_back({c, flits, 1});
    t.rate = 1;
    t.cycles = cycles;
    t.seed = 5;
    packets = packets_of(network, t);
  }
};

TEST_CASE("however many classes share it, no port passes more than a flit per cycle") {
  const crowded_line line(5, 200);
  switch_network net(line.network);
  for (std::uint32_t queued = 0; net.now() < crowded_line::cycles; net.step()) {
    for (; queued < line.packets.size() && line.packets[queued].created == net.now(); ++queued)
      net.queue(line.packets[queued], queued);
  }
  std::uint64_t busiest = 0;
  for (std::uint32_t output = 0; output < net.outputs(); ++output)
    busiest = std::max(busiest, net.core().usage_of(output).flits);
  // A packet counts when it is granted: those under way at the end are in.
  CHECK(busiest <= crowded_line::cycles + line.network.classes * crowded_line::flits);
  CHECK(busiest >= crowded_line::cycles * 7 / 10);
}

/// Three routers in a row that whole packets of two classes pass, the first of up to 7 flits, the other
/// of 25.
network_description row_of_two_classes() {
  network_description n;
  n.columns = 3;
  n.rows = n.vcs = 1;
  n.classes = 2;
  n.dynamic = false;
  n.pipelined = n.whole_packets = n.hold = true;
  n.front = 8;
  n.back = 1;
  n.credit = 1;
  n.buffer = {8, 26};
  return n;
}

TEST_CASE("a packet slowed down at one router is not slowed down again at the next by the same packets") {
  // Two long ones; two short ones join the first at the router between.
  const std::vector<planned_packet> packets{
      {0, 0, 2, 25, 1}, {1, 0, 2, 25, 1}, {15, 1, 2, 7, 0}, {16, 1, 2, 7, 0}};
  const played slow = play_reference(row_of_two_classes(), packets, {0, 500, 500});
  const played fast = play_switches(row_of_two_classes(), packets, {0, 500, 500});
  for (std::size_t k = 0; k < packets.size(); ++k) {
    INFO("packet " << k << ": " << slow.arrived[k] << ", " << fast.arrived[k]);
    CHECK(std::abs(static_cast<double>(fast.arrived[k]) - static_cast<double>(slow.arrived[k])) <= 1);
  }
}

/// Four routers in a row that whole packets of two classes pass, with room for what comes.
network_description wide_row() {
  network_description n = row_of_two_classes();
  n.columns = 4;
  n.buffer = {300, 300};
  return n;
}

TEST_CASE("a packet that goes on as it comes slows down where others joined it before, not on an even line") {
  // By cycle of creation, source, destination, flits, class.
  const std::vector<std::vector<planned_packet>> cases{
      {{3, 0, 3, 22, 1}, {6, 1, 3, 9, 0}, {17, 0, 3, 9, 0}},
      {{25, 0, 3, 19, 1}, {25, 1, 3, 19, 1}, {12, 0, 3, 9, 0}},
      // What joins at the second router comes when the previous packet has passed a point of the first one's
      // rate schedule.
      {{24, 0, 3, 21, 1}, {36, 1, 3, 2, 0}, {17, 2, 3, 2, 0}},
      {{27, 0, 3, 14, 1}, {36, 0, 3, 14, 1}, {39, 1, 3, 2, 0}}};
  for (std::vector<planned_packet> packets : cases) {
    const auto earlier = [](const auto& a, const auto& b) { return a.created < b.created; };
    std::stable_sort(packets.begin(), packets.end(), earlier);
    const played slow = play_reference(wide_row(), packets, {0, 500, 500});
    const played fast = play_switches(wide_row(), packets, {0, 500, 500});
    CHECK(fast.arrived == slow.arrived);
  }
}

TEST_CASE("on a line with room and little traffic of two classes nearly every packet arrives in its cycle") {
  std::size_t different = 0, all = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    traffic_plan t;
    const auto odd = static_cast<std::uint32_t>(seed);
    t.kinds = {{0, 1 + odd % 11, 1}, {1, 12 + odd % 17, 1}};
    t.rate = 0.2;
    t.cycles = 1500;
    t.seed = seed;
    different += differences(wide_row(), t);
    all += packets_of(wide_row(), t).size();
  }
  INFO(different << " of " << all);
  CHECK(all > 5000);
  CHECK(different <= all * 4 / 100);
}

TEST_CASE("a stream of long packets keeps its rate beside one of short packets") {
  constexpr std::uint64_t cycles = 6000;
  std::vector<planned_packet> packets;
  for (std::uint64_t t = 0; t < cycles; ++t) {
    if (t % 25 == 0) packets.push_back({t, 0, 2, 25, 1});
    if (t % 7 == 0) packets.push_back({t, 1, 2, 7, 0});
  }
  const auto rate = [&](const played& p) {
    double flits = 0;
    for (std::size_t k = 0; k < packets.size(); ++k)
      flits += packets[k].traffic_class == 1 && p.arrived[k] < cycles ? packets[k].flits : 0;
    return flits / cycles;
  };
  const double slow = rate(play_reference(row_of_two_classes(), packets, {0, cycles, cycles}));
  const double fast = rate(play_switches(row_of_two_classes(), packets, {0, cycles, cycles}));
  CHECK(std::abs(fast / slow - 1) <= 0.01);
}

TEST_CASE("single flits that join shorter packets of another class do not get more than a flit per cycle") {
  network_description n;
  n.columns = n.rows = 4;
  n.classes = 2;
  n.whole_packets = n.hold = true;
  n.buffer = {105, 106};
  traffic_plan t;
  t.where = traffic_plan::pattern::transpose;
  t.kinds = {{0, 1, 1}, {1, 2, 1}};
  t.cycles = 3000;
  t.seed = 546;
  t.rate = 1;
  auto packets = packets_of(n, t);
  const play_window all{500, t.cycles, t.cycles};
  const double most = play_reference(n, packets, all).accepted;
  CHECK(std::abs(play_switches(n, packets, all).accepted / most - 1) <= 0.01);
  t.rate = 0.6 * most;
  packets = packets_of(n, t);
  const play_window w{500, t.cycles, 60'000};
  const double slow = mean_latency(packets, play_reference(n, packets, w), w.from, w.to);
  CHECK(std::abs(mean_latency(packets, play_switches(n, packets, w), w.from, w.to) / slow - 1) <= 0.02);
}

TEST_CASE("whole packets wait for the credits of a packet that others slow down as long as flit by flit") {
  // The rate of the long ones is that of their credits: of as many flits as are to leave until then.
  for (const std::uint32_t spare : {1U, 2U, 5U}) {
    network_description n = row_of_two_classes();
    n.buffer[1] = 25 + spare;
    constexpr std::uint64_t cycles = 6000;
    std::vector<planned_packet> packets;
    for (std::uint64_t t = 0; t < cycles; ++t) {
      if (t % 25 == 0) packets.push_back({t, 0, 2, 25, 1});
      if (t % 7 == 0) packets.push_back({t, 1, 2, 7, 0});
    }
    const auto arrived = [&](const played& p) {
      double n_arrived = 0;
      for (std::size_t k = 0; k < packets.size(); ++k)
        n_arrived += packets[k].traffic_class == 1 && p.arrived[k] < cycles ? 1 : 0;
      return n_arrived;
    };
    const double slow = arrived(play_reference(n, packets, {0, cycles, cycles}));
    const double fast = arrived(play_switches(n, packets, {0, cycles, cycles}));
    INFO(spare << " to spare: " << slow << ", " << fast);
    CHECK(std::abs(fast / slow - 1) <= 0.01);
  }
}

TEST_CASE("a line of routers saturates where the flit-by-flit network does, whatever the classes") {
  for (const std::uint32_t classes : {1U, 2U, 3U, 5U}) {
    const crowded_line line(classes, 28);
    const play_window w{2000, crowded_line::cycles, crowded_line::cycles};
    const double reference = play_reference(line.network, line.packets, w).accepted;
    const double error = play_switches(line.network, line.packets, w).accepted / reference - 1;
    INFO(fmt::format("{} classes: {:+.1f}%", classes, 100 * error));
    CHECK(std::abs(error) <= throughput_tolerance);
  }
}

}  // namespace
}  // namespace diecast::test
