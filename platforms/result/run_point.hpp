// SPDX-License-Identifier: Apache-2.0
// One run: its input and its outcome. Plain values; they cross the pipe between the
// run's process and its parent as an archive (models/types/archive.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "models/analysis/waited_time.hpp"
#include "models/comm/install_plan.hpp"
#include "models/comm/patterns.hpp"
#include "models/comm/sync_layout.hpp"
#include "models/config/machine_config.hpp"
#include "models/numeric/types.hpp"
#include "models/timing/lost_time.hpp"
#include "models/types/archive.hpp"

namespace diecast::fabric {
class topology;
}

// Lists of the fields of a struct: what writes and reads results takes names and values from them.

/// In a struct: lists these of its members, by their names and in their order.
#define DIECAST_FIELDS(...)                                      \
  static constexpr std::string_view fields_names = #__VA_ARGS__; \
  [[nodiscard]] auto fields() { return std::tie(__VA_ARGS__); }  \
  [[nodiscard]] auto fields() const { return std::tie(__VA_ARGS__); }

namespace diecast::platforms {

/// automatic: where stderr is a terminal, once a run has taken two seconds; on: from the start, a line at a
/// time where stderr is no terminal.
enum class progress_mode : std::uint8_t { automatic, on, off };

/// How a run of any kind is observed.
struct watched_run {
  std::string vcd;       ///< waveform file; empty for none
  std::string timeline;  ///< Trace Event file; empty for none
  progress_mode progress{progress_mode::automatic};
  std::string progress_label;  ///< "run 2 of 5"

  void watch_as(const watched_run& other) { *this = other; }
};

/// Calls visit(name, value) for each field.
template <class Row, class Visit>
void each_field(Row& r, Visit visit) {
  std::string_view names = Row::fields_names;
  const auto next = [&names] {
    names.remove_prefix(names.find_first_not_of(", "));
    const std::string name(names.substr(0, names.find(',')));
    names.remove_prefix(name.size());
    return name;
  };
  std::apply([&](auto&... value) { (visit(next(), value), ...); }, r.fields());
}

/// A fault that ended a run or was found in it, as data; places are spelled as in configs.
struct detected_fault {
  std::string kind;   ///< fault_kind
  std::string place;  ///< a PE, or the block that found it
  std::string queue_pair{}, sender{};
  std::optional<std::uint64_t> sequence{}, expected{};
  std::string first_pa{}, end_pa{};  ///< physical addresses of the slot ring, or of the slot
  std::vector<std::string> links{};  ///< links that the packet crossed
  double time_ns{};

  DIECAST_FIELDS(kind, place, time_ns, queue_pair, sender, sequence, expected, first_pa, end_pa, links)
};

// Report of a workload's run on its ops and streams. Times count from the common start.

/// One op in one iteration of its stream, over all members.
struct op_row {
  std::string id, stream, op;
  std::string algorithm;  ///< algorithm of a collective
  std::uint64_t iteration{};
  std::uint64_t ranks{};
  std::uint64_t bytes{};
  double start_ns{};             ///< start of the first member
  std::optional<double> end_ns;  ///< end of the last member; empty until all have ended
  bool finished{};               ///< all members have ended it
  std::optional<bool> verified;  ///< empty: nothing to check, or not checked
  std::optional<std::uint64_t> wrong_elements;

  DIECAST_FIELDS(id, stream, op, algorithm, iteration, ranks, bytes, start_ns, end_ns, finished, verified,
                 wrong_elements)
};

struct stream_row {
  std::string name;
  std::uint64_t ranks{}, repeat{}, ops{};
  double start_ns{};
  std::optional<double> end_ns;   ///< empty until all its ops have ended
  std::optional<double> time_ns;  ///< time from the start of the first op to end_ns
  bool finished{};
  std::optional<bool> verified;
  std::optional<double> isolated_ns;  ///< time_ns of the stream alone (--isolate)
  std::optional<double> slowdown;     ///< time_ns / isolated_ns
  std::string not_isolated;           ///< why the stream cannot run alone, or has not ended then (--isolate)

  DIECAST_FIELDS(name, ranks, repeat, ops, start_ns, end_ns, time_ns, finished, verified, isolated_ns,
                 slowdown, not_isolated)
};

/// Fields that results of a kind of job have.
struct job_form {
  bool moves_data{true};     ///< the job has sizes; false: barriers
  bool one_algorithm{true};  ///< the job has bandwidths and a bound; false: streams with several algorithms

  DIECAST_FIELDS(moves_data, one_algorithm)
};

/// Basis of the choice of an algorithm.
enum class chooser : std::uint8_t { user, rule, key, estimate };
[[nodiscard]] const char* to_string(chooser c);

/// Input of a run.
struct run_point : watched_run {
  std::string collective{"all_reduce"};
  std::string algorithm;
  std::string algorithm_reason{"given"};  ///< why this one, when it is named
  chooser chosen_by{chooser::user};
  numeric::dtype type{numeric::dtype::f16};
  numeric::reduction op{numeric::reduction::sum};
  std::uint64_t bytes{};                ///< per rank
  std::optional<comm::rank_set> ranks;  ///< empty: the algorithm's default
  bool if_possible{};                   ///< a run of --algorithm all: left out when it cannot run here
  std::uint64_t iters{1};
  std::uint64_t warmup{0};
  bool isolate{};                       ///< run each stream of a workload alone, too
  bool data{true};                      ///< false: timing only, nothing stored or verified
  std::string pattern_data{"exact"};    ///< exact | rank_plus_one
  std::optional<comm::team_spec> team;  ///< team of a barrier; empty: all ranks
  std::string workload;                 ///< MSCCL program or JSON file; empty for neither
  bool ccl_trace{};                     ///< a line on stderr per send, receive and credit
  std::string flight_file;              ///< file for the flight recorder, which a signal makes the run write
  bool report_faults{true};             ///< report which faults were met
  bool inspect{};                       ///< report where dispatch tables lead
  bool record{};                        ///< keep what every rank did in every step
  bool critical_path{};                 ///< keep what it takes to find the critical path
  bool waits{};                         ///< sum how long each core waits, by cause
  std::uint64_t jitter_runs{};  ///< runs of --jitter, the one without delays among them; 0: not asked for
  std::uint64_t jitter_ns{};    ///< largest delay of a PE's start in them

  /// Sent to processes that simulate a run together.
  DIECAST_MEMBERS(collective, algorithm, algorithm_reason, chosen_by, type, op, bytes, ranks, if_possible,
                  iters, warmup, isolate, data, pattern_data, team, workload, ccl_trace, vcd, flight_file,
                  report_faults, inspect, record, timeline, critical_path, waits, jitter_runs, jitter_ns)
};

enum class run_status : std::uint8_t {
  ok,
  wrong,
  deadlock,
  limit,  ///< cut off at sim.limit_ms; nothing is known to be stuck
  fault,
  error,
  not_reproducible,
  interrupted,
  system,
  internal
};
[[nodiscard]] const char* to_string(run_status s);
/// The line of a message on stderr: after the status, unless that is ok (a waveform that could not be
/// written).
[[nodiscard]] std::string complaint(run_status s, const std::string& message);
/// The status that to_string gives this name; throws std::runtime_error when there is none.
[[nodiscard]] run_status status_named(const std::string& name);
/// Status of several runs: the worst by precedence 70, 71, 5, 4, 3, 1, 6.
[[nodiscard]] run_status worst(const std::vector<run_status>& all);
/// Status of several outcomes, for any kind of run.
template <class Outcome>
[[nodiscard]] run_status worst(const std::vector<Outcome>& runs) {
  std::vector<run_status> all;
  all.reserve(runs.size());
  for (const Outcome& o : runs) all.push_back(o.status);
  return worst(all);
}
/// 0 ok, 1 wrong, 2 error, 3 deadlock or limit, 4 fault, 6 not reproducible, 70 internal, 71
/// system, 130 interrupted.
[[nodiscard]] int exit_code(run_status s);
/// Exit code when a file or standard output could not be written.
inline constexpr int output_failed = 5;

/// One link of the fabric, for links.csv.
struct link_row {
  std::uint32_t number{};  ///< number of the link in the topology
  std::string link;
  std::uint64_t bytes{};
  std::uint64_t packets{};
  double busy_fraction{};
  double stall_ns{};
  // Of die-to-die and SIP links only.
  std::uint64_t payload_bytes{};  ///< the part of `bytes` that is not header flits
  std::uint64_t d2d_flits{};      ///< UCIe flits on the wire, those sent again included
  std::uint64_t replays{};        ///< UCIe flits sent again
  std::uint64_t naks{}, crc_errors{};
  double retry_stall_ns{};  ///< the wire was idle because the retry buffer was full
  double energy_pj{};       ///< UCIe only

  DIECAST_FIELDS(link, bytes, packets, busy_fraction, stall_ns, payload_bytes, d2d_flits, replays, naks,
                 crc_errors, retry_stall_ns, energy_pj, number)
};
/// Columns of links.csv, those of network studies, which every link has, and those of message fidelity.
inline constexpr std::size_t link_columns = 12, common_link_columns = 5, transfer_link_columns = 4;

/// One queue pair, for ipcq.csv.
struct queue_pair_row {
  std::string pe;
  std::string direction;
  std::uint64_t sends{}, bytes{};              ///< messages and bytes that the transmit half sent
  std::uint64_t received{}, bytes_received{};  ///< messages that became visible
  double credit_stall_ns{}, empty_wait_ns{};
  std::string occupancy_ns;  ///< "messages:ns" of the receive ring, separated by blanks

  DIECAST_FIELDS(pe, direction, sends, bytes, received, bytes_received, credit_stall_ns, empty_wait_ns,
                 occupancy_ns)
};

/// One HBM channel with banks that served anything, for hbm.csv. Shares of the channel's peak.
struct hbm_row {
  std::string channel;
  std::uint64_t reads{}, writes{};  ///< bursts
  std::uint64_t activates{};
  double busy_share{};
  std::array<double, timing::lost_causes> lost_share{};  ///< by timing::lost_cause

  DIECAST_FIELDS(channel, reads, writes, activates, busy_share, lost_share)
};

/// Measurement of one of the machine's own monitors, for health.csv.
struct health_row {
  std::string measure, where;
  double value{}, expected{};
  std::string unit;
  std::uint64_t section{}, place{};  ///< rows of a section go by rank or SIP

  DIECAST_FIELDS(measure, where, value, expected, unit, section, place)
};
inline constexpr std::size_t health_columns = 5;

/// How long one core waited, for waits.csv.
struct wait_row {
  std::string pe;
  std::array<double, analysis::wait_causes> cause_ns{};  ///< by events::wait_cause
  double poll_ns{}, never_ended_ns{};                    ///< never ended: open at the run's end
  std::uint64_t rank{};

  DIECAST_FIELDS(pe, cause_ns, poll_ns, never_ended_ns, rank)
};
inline constexpr std::size_t wait_columns = 4;

/// One entry of `faults`, for faults_met.
struct fault_row {
  std::size_t fault{};  ///< number of the fault in the list
  std::string kind, where;
  std::uint64_t met{};  ///< packets or operations it acted on, at all its places
  std::string why_not;  ///< reason, when there are no times

  DIECAST_FIELDS(fault, kind, where, met, why_not)
};

/// Times of a run whose PEs start a little later, platforms/run/simulate.hpp. By draw, the first without
/// delays.
struct jitter_times {
  double median_ns{}, min_ns{}, max_ns{};
  double spread_percent{};                  ///< largest less smallest time, of the median
  double spread_without_delay_percent{};    ///< spread of times less the largest delay of their draw
  std::uint64_t limit_ns{};                 ///< largest delay that can be drawn
  std::vector<double> times_ns, delays_ns;  ///< delays: the largest of each draw

  DIECAST_FIELDS(median_ns, min_ns, max_ns, spread_percent, spread_without_delay_percent, limit_ns, times_ns,
                 delays_ns)
};

/// Causes of the time above the bound (platforms/run/simulate.hpp). bound, parts and rest add up to the time.
struct time_part {
  std::string cause, detail;
  std::vector<std::string> keys;  ///< keys that would reduce it
  double time_ns{};
  bool measured{};  ///< false: the machine without this cause cannot run the job
};
struct explanation {
  double time_ns{}, bound_ns{};
  std::vector<time_part> parts;
  double rest_ns{};  ///< no removal saves it: rounds and bytes beyond the bound, waits of PEs for each other
};

/// Named numbers in a fixed order; the unit is part of the name.
using statistics = std::vector<std::pair<std::string, double>>;

/// What writers and observers know of a run: its parts and their names.
struct run_names {
  const run_point& point;
  job_form form;
  const config::machine_config& config;
  const fabric::topology& topology;
  const std::vector<pe_coord>& members;
  comm::direction_namer direction;
  [[nodiscard]] std::string pe(pe_coord p) const { return pe_path(config.shape(), p); }
};

/// Outcome of a run.
struct run_outcome {
  run_status status{run_status::ok};
  std::string message;             ///< text for the user, when status is not ok
  bool output_lost{};              ///< a file of this run could not be written: exit code 5
  std::string deadlock_json;       ///< contents of deadlock.json, when there was one
  std::string critical_path_json;  ///< contents of critical_path.json, when it was asked for
  std::string flight_json;         ///< contents of flight.json of a run that failed
  std::string steps;               ///< rows of run_point::record, platforms/result/step_rows.hpp

  std::string collective, algorithm, algorithm_reason, dtype, op, rank_set;
  std::string algorithm_chosen_by;  ///< chooser
  std::string fidelity;             ///< sim.fidelity
  job_form form;
  std::string team;  ///< team of a barrier
  std::uint64_t bytes{}, ranks{};
  double time_ns{}, time_min_ns{}, time_max_ns{},
      launch_ns{};  ///< 0 before a first launch has ended: see timed()
  double algbw_gbytes_s{}, busbw_gbytes_s{};
  double bound_ns{};                 ///< the least time on this machine (models/cost); 0: nothing must happen
  std::string bound_kind{"none"};    ///< kind of the limit: injection, sip, latency, ...
  std::string bound_detail;          ///< rank, cut or pair of ranks of the limit
  std::optional<double> efficiency;  ///< bound_ns / time_ns; empty without a bound or a time
  std::optional<bool> verified;      ///< empty: not checked
  std::string verified_how;
  std::optional<std::uint64_t> wrong_elements;
  std::optional<bool> ranks_bitwise_equal;
  std::optional<double> output_min, output_max;  ///< over all elements of all ranks
  std::string fingerprint;
  std::string data_fingerprint;  ///< fingerprint of the results alone, without times
  std::optional<jitter_times> jitter;
  std::optional<explanation> why;  ///< result of --explain
  statistics stats;
  statistics energy;  ///< pJ by part, of all launches, and what follows from them
  std::vector<std::string> notes;

  double wall_s{};  ///< simulation only
  double elaborate_s{};
  std::uint64_t wakeups{};  ///< port evaluations in the fabric
  std::uint64_t packet_hops{};
  double peak_rss_mib{};

  std::vector<link_row> links;
  std::vector<queue_pair_row> queue_pairs;
  std::vector<op_row> ops;          ///< ops of a workload
  std::vector<stream_row> streams;  ///< streams of a workload
  std::vector<hbm_row> hbm;
  std::vector<health_row> health;  ///< platforms/run/collect.hpp
  std::vector<wait_row> waits;
  std::vector<fault_row> faults;  ///< none without faults
  std::optional<detected_fault>
      detected;  ///< fault that ended a run of status fault, or barrier that was left too early

  [[nodiscard]] bool of_packets() const { return fidelity == "packet"; }
  /// A time or bandwidth of this run for users; nothing where the run ended before it had one: 0 would read
  /// as the fastest of all.
  [[nodiscard]] std::optional<double> timed(double figure) const;

  /// Every plain field of a run in result.json by its name, in their order.
  DIECAST_FIELDS(collective, algorithm, algorithm_reason, algorithm_chosen_by, fidelity, dtype, op, bytes,
                 rank_set, ranks, time_ns, time_min_ns, time_max_ns, launch_ns, algbw_gbytes_s,
                 busbw_gbytes_s, bound_ns, bound_kind, bound_detail, efficiency, verified, verified_how,
                 wrong_elements, ranks_bitwise_equal, output_min, output_max, fingerprint, data_fingerprint,
                 stats, energy, notes, status)
  /// Sent by a run's process to its parent.
  DIECAST_MEMBERS(fields(), message, team, form, output_lost, deadlock_json, critical_path_json, flight_json,
                  health, waits, steps, wall_s, elaborate_s, wakeups, packet_hops, peak_rss_mib, links,
                  queue_pairs, hbm, ops, streams, faults, detected)
};

}  // namespace diecast::platforms
