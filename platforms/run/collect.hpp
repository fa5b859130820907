// SPDX-License-Identifier: Apache-2.0
// Results of a machine that has stopped: counters, energy, health of links, faults, memory (--inspect).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/analysis/barrier_checker.hpp"
#include "models/analysis/critical_path.hpp"
#include "models/analysis/wait_for.hpp"
#include "models/cost/energy.hpp"
#include "models/types/archive.hpp"
#include "platforms/netlist/pod.hpp"
#include "platforms/result/run_point.hpp"
#include "platforms/run/host_side.hpp"
#include "platforms/run/prepare.hpp"
#include "platforms/run/process_group.hpp"
#include "sw/mock_machine/timed_machine.hpp"

namespace diecast::platforms {

// Counters (platforms/run/counters.cpp): counts of parts of the machine, and values computed from them.

/// All of them as rows of a table in Markdown.
[[nodiscard]] std::string counters_markdown();

/// Counts of the SIPs of a process. Sums are of whole numbers, so that they do not depend on which
/// process adds up what.
struct machine_totals {
  std::vector<std::uint64_t> counts;  ///< by counter; a counter per class has one entry for each
  std::uint64_t unwritten{};          ///< bytes read
  std::uint64_t fingerprint{};        ///< fingerprint of the members' IPCQ engines
  std::string first_unwritten;
  cost::activity activity;
  DIECAST_MEMBERS(counts, unwritten, fingerprint, first_unwritten, activity)
};

/// Fills machine_totals::counts.
void count(const prepared_run& run, netlist::pod& pod, machine_totals& totals);
void count(const prepared_run& run, const sw::timed_machine& machine, machine_totals& totals);
/// Adds the counts of another process.
void add_counts(std::vector<std::uint64_t>& counts, const std::vector<std::uint64_t>& more);
/// Number of the SIP in a path such as "pod.sip12.cube_0_0"; 0 for a path that names none, which so is first.
[[nodiscard]] std::uint64_t sip_in(const std::string& path);
/// Makes totals and hops those of all processes, and in process 0 the rows, in the order that one process
/// would have.
void join(process_group& group, const prepared_run& run, run_outcome& o, machine_totals& totals,
          analysis::critical_hops& hops);

/// Rows of links, queue pairs and memory channels of the SIPs of this process, with their counts.
[[nodiscard]] machine_totals collect(const prepared_run& run, netlist::pod& pod, run_outcome& o);
/// Counts of the machine that sim.fidelity=message runs.
[[nodiscard]] machine_totals collect(const prepared_run& run, sw::timed_machine& machine, run_outcome& o);
/// Statistics and fingerprint of the whole machine, and its energy where there were packets. `hops`: null
/// without packets.
void report_totals(const prepared_run& run, const machine_totals& totals, const host_side& s,
                   const analysis::critical_hops* hops, sim_time now, run_outcome& o);

/// The state of every member's registers and of everything in flight. `still`: nothing moves any more.
/// `group`: of the processes that simulate the other SIPs; null when this one has all.
/// `lines`: who stored and wrote back what; may be null.
[[nodiscard]] analysis::stopped_machine machine_now(const prepared_run& run, netlist::pod& pod, bool still,
                                                    analysis::line_history* lines, process_group* group);

/// Status deadlock (nothing moves) or limit (the run was cut off) with the report: waiting queue pairs,
/// wait-for graph, deadlock.json. `why`: what ended the run, "no event is left".
void report_stop(const prepared_run& run, const analysis::stopped_machine& stopped, sim_time now,
                 run_status status, const std::string& why, run_outcome& o);

// The energy account of a run, from the counters of all instances.

/// Activity of the cubes of this process; links are counted elsewhere.
void collect_activity(const prepared_run& run, netlist::pod& pod, cost::activity& activity);
/// Fills outcome.energy: "<part>_pj", "total_pj", "per_launch_pj" and, where vectors are reduced,
/// "pj_per_bit_reduced". `activity`: of all cubes. Precondition: outcome.links is filled.
void report_energy(const prepared_run& run, cost::activity activity, std::uint64_t launches,
                   run_outcome& outcome);

// Text of --inspect about a machine at the end of its run.

/// Where the entries of the members' dispatch tables lead, and led when they were loaded: a line per entry,
/// of each PE or of all whose tables are alike.
[[nodiscard]] std::vector<std::string> dispatch_lines(const prepared_run& run, netlist::pod& pod,
                                                      process_group* group);

// Which of the config's faults acted in a run: without that, the run is no test of the fault.

/// One row for every entry of `faults`, in their order. `group`: of the processes that simulate the other
/// SIPs; null when this one has all.
[[nodiscard]] std::vector<fault_row> fault_rows(const prepared_run& run, netlist::pod& pod,
                                                process_group* group);

/// "faults[0] (dead_pe at pod.sip0.cube_0_0.pe1) was not met: ..."
[[nodiscard]] std::string to_text(const fault_row& row);

// Measurements of the machine's own monitors, each with the value by config: health.csv.

/// The longest latency of a credit, in ns on an idle fabric, to each PE that has a queue pair to send.
using credit_latencies = std::map<pe_coord, double>;

/// Latency of a credit to `pe` on an idle fabric, in ns. A credit that a fault sends to a PE without a queue
/// pair to send is compared with the longest latency of all.
[[nodiscard]] double expected_credit_ns(const credit_latencies& idle, pe_coord pe);

/// Rows by their `measure`. core_clock, of each member's core: cycles of its
/// instructions over their time. link_rate, of each UCIe side and SIP link that carried packets of several
/// flits, at its receiving end. crc_errors, of each UCIe side with any: corrupted frames; expected by its bit
/// error rate. packets, of each UCIe side, SIP link and PE inlet where these differ: packets
/// that arrived; expected: that were sent (of a run that was cut off, packets in flight look lost).
/// credit_arrival, of each UCIe side and SIP link with a late credit: age of the oldest that arrived;
/// expected: its age with the configured latency (a late credit that is younger than another one that waited
/// before the link does not show). wrong_checksums and out_of_order, likewise, under comm.checksum: packets
/// of messages that arrived with a wrong checksum, or not after the previous one of their flow; expected:
/// those that were sent so. credits_skipped, of each queue pair with any: credits lost, by gaps in their
/// numbers. credit_latency_max, of each member with credits: from a release to its credit; expected:
/// expected_credit_ns(). `group`: of the processes that simulate the other SIPs; null when this one has all.
[[nodiscard]] std::vector<health_row> health_rows(const prepared_run& run, netlist::pod& pod,
                                                  process_group* group);

}  // namespace diecast::platforms
