// SPDX-License-Identifier: Apache-2.0
// What is particular to --collective barrier: members, the choice of `auto`, what is watched, the verdict
// and the counts. Barriers of workloads are watched and judged by the same checker.
#pragma once

#include <memory>
#include <string>

#include "models/abi/errata.hpp"
#include "models/analysis/barrier_checker.hpp"
#include "models/comm/sync_layout.hpp"
#include "models/fabric/topology.hpp"
#include "platforms/netlist/pod.hpp"
#include "platforms/result/run_point.hpp"

namespace diecast::platforms {

struct machine_model;
struct prepared_run;
class host_side;
class process_group;

/// A barrier, ready to simulate.
struct barrier_plan {
  comm::team_spec team;
  comm::barrier_algorithm algorithm{};
  std::string reason;  ///< why this algorithm
  abi::errata_word errata;
  std::uint32_t ranks{};
};

/// The ranks of the point's team, all their PEs as `members`; the algorithm, `auto` resolved. Throws
/// user_error when the team, the radix or the memory do not fit.
[[nodiscard]] barrier_plan plan_barrier(const machine_model& machine, const run_point& point,
                                        comm::group& members);

/// Observers of one run's barriers.
class barrier_watch {
 public:
  /// Attaches to `events` when the run is a barrier, or a workload with barriers.
  barrier_watch(const prepared_run& run, events::hub& events);
  /// A launch begins.
  void next_launch();
  /// Verdict (of a workload: also of each op and stream), counts per barrier and their formulas.
  /// `group`: of the processes that simulate the other SIPs; null when this one has all.
  void report(const host_side& s, netlist::pod& pod, process_group* group, run_outcome& o) const;
  [[nodiscard]] const analysis::line_history* history() const { return history_.get(); }

 private:
  /// What the firmware and the data caches of all members have counted.
  struct counts;

  [[nodiscard]] std::string judge_ops(run_outcome& o) const;
  void report_barrier(const host_side& s, const counts& sum, run_outcome& o) const;
  void report_workload(const host_side& s, const counts& sum, run_outcome& o) const;
  void tell_escapes(run_outcome& o) const;
  /// Notes for the bits of ccl.errata that have done no harm.
  void tell_harmless(const counts& sum, run_outcome& o) const;
  /// Without data nothing says that the other ops of a stream are right, so its barriers can only be wrong.
  [[nodiscard]] bool judges(bool good) const;

  const prepared_run& run_;
  std::unique_ptr<analysis::barrier_checker> checker_;
  std::unique_ptr<analysis::line_history> history_;
};

/// Who waits for which word, and what caches and memory hold of it. `history` may be null.
[[nodiscard]] std::vector<analysis::watched_word> watched_words(netlist::pod& pod,
                                                                const std::vector<pe_coord>& members,
                                                                const analysis::line_history* history);

}  // namespace diecast::platforms
