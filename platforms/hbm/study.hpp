// SPDX-License-Identifier: Apache-2.0
// One run of a memory study: its input and its outcome. Plain values; the outcome
// crosses the pipe between the run's process and its parent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/config/machine_config.hpp"
#include "models/timing/dram.hpp"
#include "models/traffic/memory_pattern.hpp"
#include "platforms/netlist/cube.hpp"
#include "platforms/result/run_point.hpp"

namespace diecast::hbm {

/// A trace: its requests by the channel they go to.
struct replay_trace {
  std::string file;
  bool timed{};  ///< every line has its arrival
  std::vector<std::vector<traffic::memory_request>> channels;
  std::uint64_t requests{};
};

/// Rate of requests.
struct pace {
  enum class kind : std::uint8_t { rate, saturate, closed, recorded };
  kind how{kind::saturate};
  double percent{};             ///< rate: of the stack's peak
  std::uint64_t outstanding{};  ///< closed: per channel
};
/// As on the command line: "80%", "max", "64 outstanding", "recorded".
[[nodiscard]] std::string to_string(const pace& p);

struct study_point : platforms::watched_run {
  traffic::memory_pattern pattern{traffic::memory_pattern::seq};
  std::uint64_t stride_bytes{};
  std::shared_ptr<const replay_trace> replay;  ///< null: the pattern
  double read_fraction{1.0};
  std::uint64_t requests{100'000};  ///< requests of all channels together; the default is for one channel
  std::uint32_t request_bytes{};
  pace speed;
  bool check_data{};

  /// As on the command line: "rand", "stride:4096", "replay:trace.txt".
  [[nodiscard]] std::string pattern_text() const;
};

/// Name in study_outcome::time_saved, besides those of the limits, of the run without any limit.
inline constexpr const char* all_limits = "all";

struct study_outcome {
  platforms::run_status status{platforms::run_status::ok};
  bool output_lost{};   ///< a waveform or timeline could not be written
  std::string message;  ///< text for the user, when status is not ok

  std::string pattern, pace;
  std::optional<double> rate_percent;
  std::optional<std::uint64_t> outstanding;
  std::optional<double> read_fraction;         ///< empty: the trace says
  std::optional<std::uint64_t> request_bytes;  ///< empty: the trace says

  std::uint64_t requests{}, reads{}, writes{}, bytes{};
  double time_ns{};  ///< time from the start to the last response
  double bandwidth_gbytes_s{}, peak_gbytes_s{};
  std::optional<double> bound_gbytes_s;  ///< closed form of the pattern, where there is one
  std::string bound_kind;
  /// Mean latencies of reads, or of writes in a run without reads.
  double avg_latency_ns{}, avg_latency_from_acceptance_ns{};
  double p50_latency_ns{}, p99_latency_ns{}, max_latency_ns{};
  std::optional<double> avg_write_latency_ns, avg_write_latency_from_acceptance_ns;
  std::optional<double> row_hit_rate;             ///< empty: the memory does not report it
  std::optional<double> bus_busy_percent;         ///< adds up to 100% with lost_time; empty when lost_time is
  std::optional<std::uint64_t> forwarded_bursts;  ///< answered from the write queue: never on the bus
  /// Percent of the peak lost to each limit; empty: the memory does not report it.
  platforms::statistics lost_time;
  /// Percent of the run's time saved without each limit, with --without-limits: add_savings(); else empty.
  platforms::statistics time_saved;
  std::optional<bool> verified;                  ///< empty: not checked
  std::uint64_t checked_reads{}, wrong_reads{};  ///< reads compared, and wrong ones, with --check-data
  std::vector<std::string> notes;

  double wall_s{};  ///< simulation only
  double peak_rss_mib{};

  /// Every plain field of a run in result.json and results.csv by its name, in their order.
  DIECAST_FIELDS(pattern, pace, rate_percent, outstanding, read_fraction, request_bytes, requests, reads,
                 writes, bytes, time_ns, bandwidth_gbytes_s, peak_gbytes_s, bound_gbytes_s, bound_kind,
                 avg_latency_ns, avg_latency_from_acceptance_ns, p50_latency_ns, p99_latency_ns,
                 max_latency_ns, avg_write_latency_ns, avg_write_latency_from_acceptance_ns, row_hit_rate,
                 bus_busy_percent, forwarded_bursts, verified, checked_reads, wrong_reads)
  /// Sent by a run's process to its parent.
  DIECAST_MEMBERS(fields(), status, message, output_lost, notes, lost_time, time_saved, wall_s, peak_rss_mib)
};

/// Definition of an HBM binary. An out-of-tree binary gives its own name, config and memory.
struct registries {
  std::string name;         ///< "diecast-hbm"
  std::string description;  ///< one line for --help
  std::filesystem::path default_config;
  std::filesystem::path data_dir;       ///< empty: share/diecast beside the binary
  netlist::memory_factory make_memory;  ///< makes the memory of one channel
};
[[nodiscard]] registries builtin_registries();

/// The coordinates of one channel. Throws user_error when its address map is broken.
[[nodiscard]] traffic::memory_geometry geometry_of(const config::hbm_block& hbm);
/// Bandwidth in GB/s that one channel can reach with reads of a burst each, refresh included; empty where
/// there is no closed form.
[[nodiscard]] std::optional<timing::dram_bound> bound_of(traffic::memory_pattern pattern,
                                                         const config::hbm_block& hbm);

/// Fills in the input, before anything ran.
void describe(const study_point& point, const config::machine_config& config, study_outcome& o);

/// Elaborates the stack in this process and runs one point. Call once per process. Never throws for what
/// the simulated memory does: that is in the outcome's status and message.
[[nodiscard]] study_outcome simulate(const study_point& point, const config::machine_config& config,
                                     const netlist::memory_factory& make_memory);

// Cost of each limit of the memory for a run, measured by a further run without the limit.

/// Runs a point on a config; in a process of its own.
using point_runner = std::function<study_outcome(const study_point&, const config::machine_config&)>;

/// Adds to the outcome of `point` the time that it takes less without each removable limit, and without all
/// of them, in percent of its own: study_outcome::time_saved. A run that does not end well gives the outcome
/// its status and message, and is the last. wall_s stays that of the point. Precondition: the outcome ended
/// well.
void add_savings(const study_point& point, const config::machine_config& config, const point_runner& run,
                 study_outcome& o);

// Recorded memory traffic: a text file with one request per line.
//
//   R|W ADDRESS BYTES [ARRIVAL_NS]
//
// ADDRESS is decimal or 0x hexadecimal, an offset within the stack: channels follow each other, hbm.port_mib
// each. Arrivals are on all lines or on none, and never go back. Empty lines and what follows a # are
// skipped.

/// Throws user_error with every bad line (the first hundred).
[[nodiscard]] replay_trace read_replay(const std::filesystem::path& file, const config::hbm_block& hbm);

}  // namespace diecast::hbm
