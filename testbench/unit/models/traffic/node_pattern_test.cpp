// SPDX-License-Identifier: Apache-2.0
// Patterns of network studies against their definitions, and when packets are made.
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <rapidcheck.h>

#include "models/traffic/packet_arrivals.hpp"
#include "support/test.hpp"

namespace diecast::traffic {
namespace {

using draws = std::array<std::uint64_t, 2>;

std::vector<std::uint32_t> fixed(node_pattern p, node_grid grid) {
  const destinations where(p, grid);
  std::vector<std::uint32_t> to;
  for (std::uint32_t n = 0; n < grid.nodes(); ++n) to.push_back(where.of(n, draws{}));
  return to;
}

TEST_CASE("node patterns: BookSim2's on a 4 x 4 mesh") {
  using list = std::vector<std::uint32_t>;
  CHECK(fixed(node_pattern::transpose, {4, 4}) == list{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15});
  CHECK(fixed(node_pattern::neighbor, {4, 4}) == list{5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12, 1, 2, 3, 0});
  CHECK(fixed(node_pattern::bit_complement, {4, 4}) ==
        list{15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  // (4 + 1) / 2 - 1 = 1 in both dimensions.
  CHECK(fixed(node_pattern::tornado, {4, 4}) == fixed(node_pattern::neighbor, {4, 4}));
}

TEST_CASE("node patterns: dimensions of their own, and one row for rings") {
  CHECK(fixed(node_pattern::tornado, {8, 3})[0] == 1 * 8 + 3);
  CHECK(fixed(node_pattern::tornado, {9, 1})[8] == 3);
  CHECK(fixed(node_pattern::neighbor, {8, 1})[7] == 0);
  CHECK(fixed(node_pattern::transpose, {9, 1})[1] == 3);
}

TEST_CASE("node patterns: refused where they are not defined") {
  CHECK_THROWS_WITH(destinations(node_pattern::transpose, {4, 2}),
                    Catch::Contains("as many rows as columns"));
  CHECK_THROWS_WITH(destinations(node_pattern::transpose, {8, 1}), Catch::Contains("transpose"));
  CHECK_THROWS_WITH(destinations(node_pattern::bit_complement, {6, 2}), Catch::Contains("a power of two"));
  CHECK_THROWS_WITH(destinations(node_pattern::hotspot, {4, 4}, {16, 0.1}), Catch::Contains("0 to 15"));
}

TEST_CASE("node patterns: uniform reaches every node alike, the source included; hotspot its share more") {
  const random::stream stream(1, "test", "draws");
  const auto count = [&stream](const destinations& where) {
    std::vector<int> hits(9);
    for (std::uint64_t k = 0; k < 90'000; ++k)
      ++hits.at(where.of(4, {stream.at(2 * k), stream.at(2 * k + 1)}));
    return hits;
  };
  const auto within = [](int hits, double mean) { return std::abs(hits - mean) < 5 * std::sqrt(mean); };
  for (const int hits : count(destinations(node_pattern::uniform, {3, 3}))) CHECK(within(hits, 10'000));
  const auto hot = count(destinations(node_pattern::hotspot, {3, 3}, {2, 0.25}));
  for (std::size_t n = 0; n < hot.size(); ++n) CHECK(within(hot[n], n == 2 ? 22'500 + 7'500 : 7'500));
  const auto all = count(destinations(node_pattern::hotspot, {3, 3}, {2, 1.0}));
  CHECK(all[2] == 90'000);
}

std::vector<packet_arrival> first_arrivals(const bernoulli_arrivals::setup& s, std::size_t count) {
  bernoulli_arrivals source(s, destinations(node_pattern::uniform, {s.nodes, 1}));
  std::vector<packet_arrival> list(count);
  for (packet_arrival& a : list) REQUIRE(source.next(a));
  return list;
}

TEST_CASE("bernoulli arrivals: in order of cycle and node, one per node and cycle at most") {
  const bool holds = rc::check("order", [] {
    const auto flits = *rc::gen::inRange<std::uint32_t>(1, 9);
    const bernoulli_arrivals::setup s{*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange(1, 1001) * 1e-3,
                                      flits, *rc::gen::inRange<std::uint32_t>(1, 70)};
    const auto list = first_arrivals(s, 300);
    for (std::size_t i = 1; i < list.size(); ++i) {
      RC_ASSERT(std::pair(list[i - 1].cycle, list[i - 1].source) < std::pair(list[i].cycle, list[i].source));
      RC_ASSERT(list[i].flits == flits);
      RC_ASSERT(list[i].destination < s.nodes);
    }
  });
  CHECK(holds);
}

TEST_CASE("bernoulli arrivals: the rate is what was asked, gaps are geometric") {
  constexpr std::uint64_t cycles = 200'000;
  bernoulli_arrivals source({7, 0.3, 5, 8}, destinations(node_pattern::uniform, {8, 1}));
  std::map<std::uint32_t, std::uint64_t> last;
  double packets = 0, gaps = 0, ones = 0;
  packet_arrival a;
  while (source.next(a) && a.cycle < cycles) {
    ++packets;
    if (last.contains(a.source)) {
      ++gaps;
      ones += a.cycle - last[a.source] == 1 ? 1 : 0;
    }
    last[a.source] = a.cycle;
  }
  const double p = 0.3 / 5;
  CHECK(packets == Approx(p * 8 * cycles).epsilon(0.01));
  CHECK(ones / gaps == Approx(p).epsilon(0.05));  // the chance of a packet in the very next cycle
}

TEST_CASE("bernoulli arrivals: a full rate makes a packet in every cycle from the first on") {
  const auto list = first_arrivals({1, 1.0, 1, 3}, 30);
  for (std::size_t i = 0; i < list.size(); ++i) {
    CHECK(list[i].cycle == i / 3);
    CHECK(list[i].source == i % 3);
  }
}

TEST_CASE("bernoulli arrivals: a later first cycle makes the same packets later") {
  const auto list = first_arrivals({3, 0.4, 5, 6}, 200);
  const auto later = first_arrivals({3, 0.4, 5, 6, 1'000'000}, 200);
  for (std::size_t i = 0; i < list.size(); ++i) {
    traffic::packet_arrival shifted = list[i];
    shifted.cycle += 1'000'000;
    CHECK(later[i] == shifted);
  }
}

TEST_CASE("bernoulli arrivals: as many nodes as there are, whatever power of two they fill") {
  for (const std::uint32_t nodes : {1U, 2U, 3U, 64U, 65U}) {
    std::vector<bool> seen(nodes);
    for (const packet_arrival& a : first_arrivals({9, 1.0, 2, nodes}, 40 * std::size_t{nodes}))
      seen.at(a.source) = true;
    CHECK(std::count(seen.begin(), seen.end(), true) == nodes);
  }
}

TEST_CASE("bernoulli arrivals: packets of a node depend on the seed and the node alone") {
  const auto of_node_2 = [](const bernoulli_arrivals::setup& s) {
    std::vector<packet_arrival> list;
    for (const auto& a : first_arrivals(s, 400))
      if (a.source == 2 && list.size() < 20) list.push_back(a);
    return list;
  };
  const auto alone = of_node_2({5, 0.5, 2, 3});
  auto with_more_nodes = of_node_2({5, 0.5, 2, 9});
  REQUIRE(alone.size() == 20);
  REQUIRE(with_more_nodes.size() == 20);
  for (std::size_t i = 0; i < 20; ++i) CHECK(alone[i].cycle == with_more_nodes[i].cycle);
  CHECK(alone != of_node_2({6, 0.5, 2, 3}));
}

TEST_CASE("bernoulli arrivals: what lies outside of the ranges is refused, their ends are not") {
  const destinations where(node_pattern::uniform, {2, 1});
  const auto refused = [&where](const bernoulli_arrivals::setup& s) {
    CHECK_THROWS_AS(bernoulli_arrivals(s, where), std::invalid_argument);
  };
  refused({1, 0.0, 1, 2});
  refused({1, 1.5, 1, 2});
  refused({1, std::nan(""), 1, 2});
  refused({1, 0x1p-41, 1, 2});
  refused({1, 0.5, 0, 2});
  refused({1, 0.5, 1, 0});
  refused({1, 0.5, 1, 65537});
  refused({1, 0.5, 1, 2, std::uint64_t{1} << 47});
  constexpr std::uint64_t last_first = (std::uint64_t{1} << 47) - 1;
  packet_arrival a;
  for (const double rate : {0x1p-40, 1.0}) {
    bernoulli_arrivals latest({1, rate, 1, 2, last_first}, where);
    for (std::uint64_t before = last_first, k = 0; k < 2; ++k, before = a.cycle) {
      REQUIRE(latest.next(a));
      CHECK(a.cycle >= before);
      CHECK(a.cycle < std::uint64_t{1} << 48);
    }
  }
}

}  // namespace
}  // namespace diecast::traffic
