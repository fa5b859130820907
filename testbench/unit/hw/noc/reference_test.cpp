// SPDX-License-Identifier: Apache-2.0
// The flit-by-flit reference network against BookSim2.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>
#include <vector>

#include "support/random_network.hpp"
#include "support/test.hpp"

namespace diecast::test {
namespace {

#ifndef DIECAST_TEST_DATA
#error "DIECAST_TEST_DATA names the folder of reference data"
#endif

network_description calibrated(std::uint32_t side, std::uint32_t vcs, std::uint32_t buffer) {
  network_description n;
  n.columns = n.rows = side;
  n.vcs = vcs;
  n.buffer = {buffer};
  return n;
}

void check_single_packets(std::uint32_t flits) {
  constexpr std::uint64_t spacing = 60;
  const network_description n = calibrated(4, 4, 8);
  std::vector<planned_packet> packets;
  for (std::uint32_t from = 0; from < n.nodes(); ++from) {
    for (std::uint32_t to = 0; to < n.nodes(); ++to)
      packets.push_back({packets.size() * spacing, from, to, flits, 0});
  }
  const std::uint64_t end = packets.size() * spacing;
  const played slow = play_reference(n, packets, {0, end, end});
  const played fast = play_switches(n, packets, {0, end, end});
  for (std::size_t k = 0; k < packets.size(); ++k) {
    const auto x = [&](std::uint32_t at) { return static_cast<int>(at % n.columns); };
    const auto y = [&](std::uint32_t at) { return static_cast<int>(at / n.columns); };
    const planned_packet& p = packets[k];
    const auto links = static_cast<std::uint64_t>(std::abs(x(p.source) - x(p.destination)) +
                                                  std::abs(y(p.source) - y(p.destination)));
    CHECK(slow.arrived[k] - p.created == 7 + 5 * links + (flits - 1));
    CHECK(fast.arrived[k] == slow.arrived[k]);
  }
}

TEST_CASE("reference network: a single flit takes 7 + 5 d cycles over d links") { check_single_packets(1); }
TEST_CASE("reference network: a single packet of 5 flits takes 7 + 5 d + 4 cycles over d links") {
  check_single_packets(5);
}

/// A row of booksim_calibration.csv by the names of its columns.
using row = std::map<std::string, std::string>;

std::vector<row> calibration_rows() {
  const auto file = std::filesystem::path(DIECAST_TEST_DATA) / "noc/booksim_calibration.csv";
  std::ifstream in(file);
  std::vector<row> rows;
  std::vector<std::string> names;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> cells;
    std::stringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    if (names.empty()) {
      names = cells;
      continue;
    }
    row& r = rows.emplace_back();
    for (std::size_t k = 0; k < cells.size() && k < names.size(); ++k) r[names[k]] = cells[k];
  }
  return rows;
}

std::uint32_t whole(const row& r, const char* column) {
  return static_cast<std::uint32_t>(std::stoul(r.at(column)));
}

struct measured {
  double latency{}, accepted{};
};
measured measure_reference(const row& r) {
  constexpr std::uint64_t warm = 1500, cycles = 7500, limit = 30000;
  const network_description n = calibrated(whole(r, "k"), whole(r, "vcs"), whole(r, "buf"));
  traffic_plan t;
  REQUIRE(r.at("traffic") == "uniform");
  t.kinds = {{0, whole(r, "packet_size"), 1}};
  t.rate = std::stod(r.at("injection_rate"));
  t.cycles = cycles;
  t.seed = 1;
  const auto packets = packets_of(n, t);
  const bool overload = r.at("status").starts_with("overload");
  const played p = play_reference(n, packets, {warm, cycles, overload ? cycles : limit});
  return {mean_latency(packets, p, warm, cycles), p.accepted};
}

TEST_CASE("reference network: latency and throughput of BookSim2's rows") {
  using network = std::tuple<std::string, std::string, std::string, std::string>;
  const auto network_of = [](const row& r) {
    return network{r.at("k"), r.at("packet_size"), r.at("vcs"), r.at("buf")};
  };
  const std::vector<row> rows = calibration_rows();
  std::map<network, double> saturation;
  for (const row& r : rows) {
    if (!r.at("status").starts_with("overload")) continue;
    saturation[network_of(r)] = std::stod(r.at("accepted_flits_per_node_cycle"));
  }
  std::size_t compared = 0;
  for (const row& r : rows) {
    const std::string& status = r.at("status");
    const double rate = std::stod(r.at("injection_rate"));
    const auto best = saturation.find(network_of(r));
    const bool overload = status.starts_with("overload");
    if (!overload && (status != "stable" || (best != saturation.end() && rate > high_load * best->second)))
      continue;
    const measured m = measure_reference(r);
    const double expected =
        std::stod(r.at(overload ? "accepted_flits_per_node_cycle" : "avg_packet_latency"));
    const double error = (overload ? m.accepted : m.latency) / expected - 1;
    INFO(fmt::format("{0}x{0}, {1} flits, {2} VCs, rate {3}: {4:+.1f}%", r.at("k"), r.at("packet_size"),
                     r.at("vcs"), rate, 100 * error));
    CHECK(std::abs(error) <= (overload ? throughput_tolerance : low_tolerance));
    ++compared;
  }
  CHECK(compared >= 25);
}

}  // namespace
}  // namespace diecast::test
