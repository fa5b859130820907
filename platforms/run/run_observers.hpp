// SPDX-License-Identifier: Apache-2.0
// Observers of one run of a machine, as its point and its config require.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/analysis/credit_checker.hpp"
#include "models/analysis/critical_path.hpp"
#include "models/analysis/waited_time.hpp"
#include "models/events/events.hpp"
#include "platforms/netlist/pod.hpp"
#include "platforms/observe/dram_taps.hpp"
#include "platforms/observe/step_recorder.hpp"
#include "platforms/observe/timeline.hpp"
#include "platforms/observe/vcd_writer.hpp"
#include "platforms/result/flight_recorder.hpp"
#include "platforms/run/host_side.hpp"
#include "platforms/run/kernel.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

// The flight recorder of one run: kept during the run, written when it fails or when a signal requests it.

class flight_dump {
 public:
  /// Attaches a recorder unless trace.flight_operations is 0.
  flight_dump(const prepared_run& run, events::hub& events);

  /// A launch begins.
  void next_launch();
  /// Contents of flight.json; empty without a recorder. Arguments as of machine_now(): this process then has
  /// the records of the others of the group.
  [[nodiscard]] std::string text(netlist::pod& pod, const std::string& why, bool still,
                                 analysis::line_history* lines, process_group* group) const;
  /// Between slices: if a signal requests it, writes the flight recorder to run_point::flight_file; the run
  /// continues.
  void look_for_request(netlist::pod& pod) const;

 private:
  const prepared_run& run_;
  std::unique_ptr<observe::flight_recorder> recorder_;
};

class run_observers {
 public:
  /// Attaches all of them. Not `whole`: one stream alone or a draw of --jitter, a run behind the run, whose
  /// files would replace those of the run. `sips`: those of this process; empty when it has all.
  run_observers(const prepared_run& run, bool whole, events::hub& events, process_group* group,
                const std::vector<bool>& sips);
  run_observers(const run_observers&) = delete;
  run_observers& operator=(const run_observers&) = delete;

  /// A launch begins, the first included: what was gathered for the launch before it alone is forgotten.
  void next_launch();
  /// Before the simulation starts.
  void listen_to(host_side& hosts);
  void listen_to(netlist::pod& pod);
  /// Between slices of the simulation.
  void catch_up(netlist::pod& pod);

  /// Whether all credits are where they belong after a run that has finished; a fault when not.
  void check_credits(run_outcome& o) const;
  /// Results of the job's own checker.
  void report_verdict(const host_side& hosts, netlist::pod& pod, process_group* group, run_outcome& o) const;
  /// Rows of waits and steps.
  void report_rows(netlist::pod& pod, run_outcome& o) const;
  /// The critical path of a run that has finished. `group`: of the processes that simulate the other SIPs;
  /// null when this one has all.
  void report_path(process_group* group, run_outcome& o) const;
  /// Ends waveform and timeline. Precondition, as of catch_up(): listen_to(pod). `group`: as of
  /// report_path().
  void close_files(process_group* group, run_outcome& o);

  [[nodiscard]] analysis::critical_hops& hops() { return *hops_; }
  [[nodiscard]] analysis::path_events* path_events() { return path_events_.get(); }  ///< null: not requested
  [[nodiscard]] observe::timeline* timeline() { return timeline_.get(); }            ///< null: not requested
  [[nodiscard]] const flight_dump& flight() const { return flight_; }
  [[nodiscard]] analysis::line_history* history() const { return judge_ ? judge_->history() : nullptr; }

 private:
  const prepared_run& run_;
  // Null: not requested. In the order in which they get an event.
  std::unique_ptr<analysis::critical_hops> hops_;
  std::unique_ptr<observe::vcd_writer> vcd_;
  std::unique_ptr<observe::timeline> timeline_;
  std::unique_ptr<analysis::path_events> path_events_;
  std::unique_ptr<analysis::waited_time> waits_;
  std::unique_ptr<observe::ccl_trace> trace_;
  std::unique_ptr<analysis::credit_checker> credits_;
  std::unique_ptr<observe::step_recorder> steps_;
  flight_dump flight_;
  std::unique_ptr<judge> judge_;
  std::optional<observe::dram_taps> dram_;
};

}  // namespace diecast::platforms
