// SPDX-License-Identifier: Apache-2.0
// One run of a network study: its input and its outcome. Plain values; the outcome crosses
// the pipe between the run's process and its parent as JSON (platforms/noc/result).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"
#include "models/traffic/packet_arrivals.hpp"
#include "models/traffic/transactions.hpp"
#include "platforms/result/run_point.hpp"

namespace diecast::noc {

/// Packets of a file, in order of (cycle, source).
struct replay_trace {
  std::string file;
  std::vector<traffic::packet_arrival> packets;
  std::uint32_t longest{};  ///< flits
};

/// Most cycles of a study, and of a packet in a trace.
inline constexpr std::uint64_t most_cycles = 1'000'000'000;
/// Cycles between checks of signals and arrivals.
inline constexpr std::uint64_t slice_cycles = 1000;

struct study_point : platforms::watched_run {
  traffic::node_pattern pattern{traffic::node_pattern::uniform};
  traffic::hotspot hot;
  std::shared_ptr<const replay_trace> replay;                     ///< null: the pattern
  std::shared_ptr<const traffic::transaction_plan> transactions;  ///< null: the pattern or replay
  double rate{0.1};                                               ///< flits per node and cycle
  std::uint32_t packet_flits{5};
  std::uint64_t cycles{10'000};        ///< measured
  std::uint64_t warmup_cycles{2'000};  ///< cycles before the measured interval
  std::uint64_t latency_bound{500};    ///< cycles; a mean beyond it is saturation

  /// As on the command line: "uniform", "replay:trace.txt".
  [[nodiscard]] std::string traffic_text() const;
};

/// One barrier of a transaction run.
struct barrier_row {
  std::uint64_t column{}, row{};  ///< place of its core
  std::uint64_t network{};
  std::uint64_t issue_cycle{}, latency_cycles{};

  DIECAST_FIELDS(column, row, network, issue_cycle, latency_cycles)
};

struct study_outcome {
  platforms::run_status status{platforms::run_status::ok};
  std::string message;  ///< text for the user, when status is not ok
  bool output_lost{};   ///< the waveform could not be written

  std::string traffic;
  std::optional<std::uint64_t> packet_flits;  ///< empty: determined by the trace
  std::uint64_t cycles{};                     ///< cycles of the measured interval
  double offered_flits_per_node_cycle{};
  double injected_flits_per_node_cycle{};  ///< rate of the sources in the interval
  double accepted_flits_per_node_cycle{};  ///< rate of the sinks in the interval
  /// Latencies of packets made in the interval, queue included; empty when none of them has arrived.
  std::optional<double> avg_packet_latency_cycles, p50_packet_latency_cycles, p99_packet_latency_cycles;
  std::optional<std::uint64_t> max_packet_latency_cycles;
  double avg_hops{};  ///< mean number of router-to-router links that a measured packet crosses
  std::uint64_t measured_packets{};
  std::uint64_t packets{};                   ///< delivered in the whole run
  std::uint64_t packet_hops{}, flit_hops{};  ///< over router-to-router links, in the whole run
  bool saturated{};
  std::optional<std::uint64_t>
      duration_cycles;                ///< duration of transactions: first issue to last barrier end
  std::vector<barrier_row> barriers;  ///< barriers in the order in which they are issued
  std::string fingerprint;

  double wall_s{};  ///< simulation only
  double elaborate_s{};
  std::uint64_t wakeups{};
  double peak_rss_mib{};
  std::vector<platforms::link_row> links;

  /// Every plain field of a run in result.json and results.csv by its name, in their order.
  DIECAST_FIELDS(traffic, packet_flits, cycles, offered_flits_per_node_cycle, injected_flits_per_node_cycle,
                 accepted_flits_per_node_cycle, avg_packet_latency_cycles, p50_packet_latency_cycles,
                 p99_packet_latency_cycles, max_packet_latency_cycles, avg_hops, measured_packets, packets,
                 packet_hops, flit_hops, saturated, fingerprint, duration_cycles)
  /// Sent by a run's process to its parent.
  DIECAST_MEMBERS(fields(), status, message, output_lost, wall_s, elaborate_s, wakeups, peak_rss_mib,
                  barriers, links)
};

/// A network that can be simulated: config checked, graph built, dependency graph free of cycles.
struct network {
  /// Throws user_error with every problem.
  explicit network(config::machine_config c, fabric::purpose what = fabric::purpose::network_study);
  config::machine_config config;
  fabric::topology topology;
  std::vector<std::unique_ptr<const fabric::topology>>
      further;  ///< networks beyond the first (noc.networks), for transactions
  [[nodiscard]] std::vector<const fabric::topology*> topologies() const;
  [[nodiscard]] std::uint32_t nodes() const {
    return static_cast<std::uint32_t>(config.noc.columns * config.noc.rows);
  }
  /// Nodes as traffic patterns count them.
  [[nodiscard]] traffic::node_grid grid() const;
};

/// Adapts a config to a network study: one cube, and room for the packets.
/// Throws user_error when they then contradict the config.
[[nodiscard]] config::machine_config adapt(config::machine_config c, std::uint32_t packet_flits);

/// Fills in the input, before anything ran.
void describe(const study_point& point, study_outcome& o);

/// Elaborates the network in this process and runs one point. Call once per process.
[[nodiscard]] study_outcome simulate(const study_point& point, const network& net);

// Packets from a file: lines "CYCLE SRC DST FLITS", decimal, anything after # a comment, in any order.

/// Longest packet of a file, flits.
inline constexpr std::uint64_t most_packet_flits = 1024;

/// Throws user_error with the lines that are wrong.
[[nodiscard]] replay_trace read_replay(const std::filesystem::path& file, std::uint32_t nodes);

// --traffic transactions:FILE. A line is a JSON object: "core": [COLUMN, ROW], "network", "op" (read, write,
// posted_write, atomic, barrier), "target": [COLUMN, ROW] and "bytes", and "at" (recorded cycle of its issue)
// or "after" (cycles after the issue of the operation before in its stream, of a barrier after its end). A
// barrier may have "until", its recorded end. The lines of a core and network are a stream, in order.

/// Throws user_error with the lines that are wrong, and where `config` has no networks for transactions.
[[nodiscard]] traffic::transaction_plan read_transactions(const std::filesystem::path& file,
                                                          const config::machine_config& config);

/// simulate() of a point with transactions: elaborates the networks in this process and runs them to their
/// end.
[[nodiscard]] study_outcome simulate_transactions(const study_point& point, const network& net);

}  // namespace diecast::noc
