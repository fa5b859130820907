// SPDX-License-Identifier: Apache-2.0
// Reads the counters of a machine that has stopped.
#pragma once

#include <string>

#include "models/analysis/barrier_checker.hpp"
#include "models/analysis/critical_hops.hpp"
#include "models/analysis/wait_for.hpp"
#include "platforms/netlist/pod.hpp"
#include "platforms/run/host_side.hpp"
#include "platforms/run/machine_totals.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// Rows of links, queue pairs and memory channels of the SIPs of this process, and what they have counted.
[[nodiscard]] machine_totals collect(const prepared_run& run, netlist::pod& pod, run_outcome& o);
/// Of links other than those to and from terminals.
struct link_summary {
  std::uint64_t bytes{};
  double busiest{};    ///< utilization of the busiest
  double imbalance{};  ///< that over the mean of its kind; 0 where nothing moves
};
[[nodiscard]] link_summary summary_of(const prepared_run& run, const std::vector<link_row>& rows);
/// From the results and `engines`, the sum over the members' queue engines.
void set_fingerprints(const host_side& s, std::uint64_t engines, run_outcome& o);
/// Statistics, energy and fingerprint of the whole machine.
void report_totals(const prepared_run& run, const machine_totals& totals, const host_side& s,
                   const analysis::critical_hops& hops, run_outcome& o);

/// What every member's registers and everything in flight say now. `still`: nothing moves any more.
[[nodiscard]] analysis::stopped_machine machine_now(const prepared_run& run, netlist::pod& pod, bool still);

/// Status deadlock (nothing moves) or limit (the run was cut off) with the report: waiting queue pairs,
/// wait-for graph, deadlock.json. `why`: what ended the run, "no event is left". `lines`: who stored
/// and wrote back what; may be null.
void report_stop(const prepared_run& run, netlist::pod& pod, run_status status, const std::string& why,
                 const analysis::line_history* lines, run_outcome& o);
/// The same of any machine, stopped at `now`.
void report_stop(const prepared_run& run, const analysis::stopped_machine& stopped,
                 const std::vector<analysis::watched_word>& watched, sim_time now, run_status status,
                 const std::string& why, run_outcome& o);

}  // namespace diecast::platforms
