// SPDX-License-Identifier: Apache-2.0
// Times of transfers over servers, against closed forms.
#include "models/timing/transfer_engine.hpp"

#include <random>
#include <set>
#include <tuple>

#include "models/fabric/fabric_servers.hpp"
#include "models/timing/link.hpp"
#include "support/machines.hpp"
#include "support/test.hpp"

namespace diecast::timing {
namespace {

/// Servers of a flit per ns; ends by user.
struct bench {
  event_queue events;
  std::map<std::uint32_t, double> ends, left;
  transfer_engine engine{events,
                         0,
                         {[this](std::uint32_t user, sim_time tail) { ends[user] = tail.ns(); },
                          [this](std::uint32_t user, sim_time at) { left[user] = at.ns(); }}};
  void run() {
    while (!events.empty()) engine.handle(events.take());
  }
  std::vector<std::uint32_t> servers(std::size_t n, double flit_ns = 1) {
    std::vector<std::uint32_t> made;
    while (made.size() < n) made.push_back(engine.add_server(flit_ns));
    return made;
  }
};

constexpr double latency = 5;
transfer_route through(const std::vector<std::uint32_t>& servers, double buffer_flits = 1000) {
  transfer_route r;
  for (const std::uint32_t s : servers) r.push_back({s, 0, latency, 0, buffer_flits, false, r.empty()});
  return r;
}

/// Eight packets of 17 flits, as a slot of 8 KiB.
constexpr std::uint32_t train_flits = 136;
constexpr transfer_shape train{8, train_flits, 17, 2};
constexpr transfer_shape packet{1, 17, 17, 2};

TEST_CASE("transfers: alone, the tail follows the head at the slowest server") {
  bench b;
  const auto fast = b.servers(2), slow = b.servers(1, 3), last = b.servers(1);
  const transfer_route r = through({fast[0], fast[1], slow[0], last[0]});
  b.engine.start(r, train, nanoseconds(100), nanoseconds(100), 1, 0);
  b.run();
  CHECK(b.ends[1] == Approx(100 + 4 * latency + 3.0 * (train_flits - 1)));
  CHECK(b.engine.packet_hops() == 8 * 3);
}

TEST_CASE("transfers: two that share a server take turns, whichever is longer goes on alone") {
  bench b;
  const auto in = b.servers(2), shared = b.servers(1);
  const transfer_route one = through({in[0], shared[0]}), other = through({in[1], shared[0]});
  SECTION("equal ones end together, after the work of both") {
    b.engine.start(one, train, {}, {}, 1, 0);
    b.engine.start(other, train, {}, {}, 2, 0);
    b.run();
    CHECK(b.ends[1] == Approx(2 * latency + 2 * train_flits - 1).margin(17));
    CHECK(b.ends[2] == Approx(2 * latency + 2 * train_flits - 1).margin(17));
    CHECK(std::max(b.ends[1], b.ends[2]) >= 2 * latency + 2 * train_flits - 1);
  }
  SECTION("a packet meets one packet of a train, not all of it") {
    b.engine.start(one, train, {}, {}, 1, 0);
    b.engine.start(other, packet, nanoseconds(20), nanoseconds(20), 2, 0);
    b.run();
    // Alone it ends at 20 + 2 latencies + 16; it waits for as much of the other, half a packet more at most.
    CHECK(b.ends[2] >= 20 + 2 * latency + 16 + 8);
    CHECK(b.ends[2] <= 20 + 2 * latency + 16 + 17 + 9);
    CHECK(b.ends[1] == Approx(2 * latency + train_flits + 17 - 1));
  }
  SECTION("apart in time neither knows of the other") {
    b.engine.start(one, train, {}, {}, 1, 0);
    b.engine.start(other, train, nanoseconds(300), nanoseconds(300), 2, 0);
    b.run();
    CHECK(b.ends[1] == Approx(2 * latency + train_flits - 1));
    CHECK(b.ends[2] == Approx(300 + 2 * latency + train_flits - 1));
  }
}

TEST_CASE("transfers: an incast serves all senders at the receiver's rate and holds their interfaces") {
  constexpr std::uint32_t senders = 5;
  bench b;
  const auto in = b.servers(senders), out = b.servers(1);
  std::vector<transfer_route> routes;
  for (std::uint32_t i = 0; i < senders; ++i) routes.push_back(through({in[i], out[0]}, 17));
  for (std::uint32_t i = 0; i < senders; ++i) b.engine.start(routes[i], train, {}, {}, i, 1);
  // Behind it at the interface of the last sender.
  const auto elsewhere = b.servers(1);
  const transfer_route away = through({in[senders - 1], elsewhere[0]}, 17);
  b.engine.start(away, packet, nanoseconds(1), nanoseconds(1), senders, 0);
  b.run();
  double last = 0;
  for (std::uint32_t i = 0; i < senders; ++i) last = std::max(last, b.ends[i]);
  CHECK(last == Approx(2 * latency + senders * train_flits - 1).epsilon(0.05));
  // All but what the buffer holds has to be gone before the packet's turn comes.
  CHECK(b.ends[senders] > (senders - 1) * train_flits);
}

TEST_CASE(
    "transfers: those of one queue follow each other, a chain of servers passes them on without a gap") {
  bench b;
  const auto line = b.servers(6);
  const transfer_route r = through(line);
  for (std::uint32_t i = 0; i < 4; ++i) b.engine.start(r, train, {}, {}, i, 1);
  b.run();
  for (std::uint32_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(b.ends[i] == Approx(6 * latency + (i + 1) * train_flits - 1));
    CHECK(b.left[i] == Approx((i + 1) * train_flits - 17));
  }
}

TEST_CASE(
    "transfers: what a slow link holds at a source holds the next one, or takes turns with it by flow") {
  constexpr double slow = 10;
  for (const bool turns : {false, true}) {
    CAPTURE(turns);
    bench b;
    const auto in = b.servers(1), links = b.servers(2, slow);
    const transfer_route one = through({in[0], links[0]}, 17), other = through({in[0], links[1]}, 17);
    transfer_shape first = train, second = train;
    first.flow = 1;
    second.flow = turns ? 2 : 1;
    for (std::uint32_t i = 0; i < 4; ++i) b.engine.start(one, first, {}, {}, i, 0);
    for (std::uint32_t i = 4; i < 8; ++i) b.engine.start(other, second, {}, {}, i, 0);
    b.run();
    // The link is busy from the first flit on: four trains, one after the other.
    const double four = 2 * latency + 4 * slow * train_flits;
    CHECK(b.ends[3] == Approx(four).epsilon(0.02));
    // All of the first ones but what a buffer holds goes first, or a packet of each goes in turn.
    CHECK(b.ends[7] == Approx(turns ? four : 2 * four - slow * 17).epsilon(0.03));
  }
}

TEST_CASE(
    "transfers: a packet passes a train that trickles in from a slow server, and waits for one that is "
    "there") {
  bench b;
  const auto slow = b.servers(1, 10), fast = b.servers(1), middle = b.servers(1), out = b.servers(1);
  const transfer_route trickle = through({slow[0], middle[0], out[0]});
  const transfer_route quick = through({fast[0], middle[0], out[0]});
  SECTION("it meets one packet at a time") {
    b.engine.start(trickle, train, {}, {}, 1, 0);
    b.engine.start(quick, packet, nanoseconds(300), nanoseconds(300), 2, 0);
    b.run();
    CHECK(b.ends[1] == Approx(3 * latency + 10 * train_flits).epsilon(0.02));
    CHECK(b.ends[2] >= 300 + 3 * latency + 16);
    CHECK(b.ends[2] <= 300 + 3 * latency + 16 + 2 * 17);
  }
  SECTION("a train of its own input goes first") {
    b.engine.start(quick, train, {}, {}, 1, 0);
    b.engine.start(quick, packet, nanoseconds(20), nanoseconds(20), 2, 0);
    b.run();
    CHECK(b.ends[2] == Approx(3 * latency + train_flits + 17 - 1));
  }
}

TEST_CASE("transfers: a packet between any two PEs takes what the idle fabric takes") {
  for (const bool framed : {true, false}) {
    config::machine_config c = test::grid_of_cubes(2, 2);
    c.cube.pes = 4;
    c.ucie.format = framed ? config::flit_format::flit_256 : config::flit_format::raw;
    const fabric::topology t(c);
    bench b;
    fabric::fabric_servers servers(t, c, b.engine);
    const machine_shape shape = c.shape();
    const auto node = [&](std::uint32_t i) {
      const pe_coord p = shape.pe_at(i);
      return t.locate(abi::encode({p.sip, p.cube, abi::region::tcm, p.pe.value, 0}));
    };
    for (std::uint32_t from = 0; from < shape.pes(); ++from) {
      for (const std::uint32_t to : {0U, 7U, shape.pes() - 1}) {
        for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{64}, c.noc.max_packet_bytes}) {
          if (from == to) continue;
          CAPTURE(from, to, bytes, framed);
          const transfer_shape s = servers.shape(bytes, abi::traffic_class::comm);
          const sim_time start = timing::noc_clock(c).edge_at_or_after(b.events.now() + nanoseconds(1000));
          b.engine.start(servers.route(node(from), node(to)), s, start, start, 1, 0);
          b.run();
          const sim_time idle =
              fabric::idle_latency(t, c, node(from), node(to), abi::traffic_class::comm, s.flits);
          CHECK(b.ends[1] - start.ns() == Approx(idle.ns()).margin(0.002));
        }
      }
    }
  }
}

TEST_CASE("events come in order of time, then of their numbers, whatever lies far ahead") {
  event_queue q;
  std::set<std::tuple<std::uint64_t, std::uint64_t>> expected;
  std::uint64_t number = 0;
  const auto put = [&](sim_time at) {
    q.put(at, 0, static_cast<std::uint32_t>(number));
    expected.emplace(std::max(at, q.now()).fs, number++);
  };
  std::mt19937_64 draw(1);
  for (const std::uint64_t us : {1u, 1'000u, 1'000'000u}) put(sim_time{us * 1'000'000'000});
  for (int i = 0; i < 20'000 && !q.empty(); ++i) {
    const timed_event e = q.take();
    REQUIRE(std::tuple{e.at.fs, std::uint64_t{e.index}} == *expected.begin());
    expected.erase(expected.begin());
    if (number < 9'000) put(q.now() + sim_time{draw() % 400'000'000});
    if (draw() % 4 == 0 && number < 9'000) put(q.now() + sim_time{draw() % 400});
  }
  CHECK(expected.empty());
}

}  // namespace
}  // namespace diecast::timing
