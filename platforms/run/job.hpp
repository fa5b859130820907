// SPDX-License-Identifier: Apache-2.0
// A kind of job: decides whether it runs a command line, and prepares the run: a prepared_run
// (platforms/run/prepare.hpp). Kinds are rows of registries::jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/comm/patterns.hpp"
#include "models/comm/sync_layout.hpp"
#include "models/config/machine_config.hpp"
#include "models/events/events.hpp"
#include "models/types/immovable.hpp"
#include "platforms/netlist/pod.hpp"
#include "platforms/result/run_point.hpp"

namespace diecast::app {
struct registries;
}
namespace diecast::analysis {
class line_history;
}

namespace diecast::platforms {

class host_side;
class process_group;
struct machine_model;
struct prepared_run;

/// The part of the command line that determines what to run.
struct job_request {
  run_point point;                      ///< common part of all runs of the request
  std::vector<std::string> algorithms;  ///< "all" is not expanded; empty: auto
  std::vector<std::uint64_t> bytes{65536};
  std::vector<comm::team_spec> teams;  ///< teams of barriers; empty: all ranks
  bool estimate{};
  std::vector<std::string> run_flags;  ///< given flags of the run: "--bytes" and others

  /// A run per algorithm and size.
  [[nodiscard]] std::vector<run_point> points(const std::vector<std::string>& named) const;
};

struct job_entry {
  std::string name;
  job_form form;
  /// Whether this kind runs the collective, or the file of --workload (empty for none).
  bool (*runs)(const std::string& collective, const std::string& workload){};
  /// The requested runs. Throws user_error for flags without a meaning for this kind.
  std::vector<run_point> (*points)(const app::registries& tables, const job_request& request,
                                   const config::machine_config& config){};
  /// Throws user_error with every problem.
  std::unique_ptr<prepared_run> (*prepare)(const machine_model& machine, const app::registries& tables,
                                           const run_point& point){};
};

/// The last kind of the table that runs this. Throws user_error without one.
[[nodiscard]] const job_entry& job_of(const app::registries& tables, const std::string& collective,
                                      const std::string& workload);

/// Observes a run, and checks its results at the end.
class judge : abstract_interface {
 public:
  /// A launch begins.
  virtual void next_launch() {}
  /// Verdict, counts and notes. `group`: of the processes that simulate the other SIPs; null when this one
  /// has all.
  virtual void report(const host_side& hosts, netlist::pod& pod, process_group* group, run_outcome& o) = 0;
  /// Stores and write-backs by PE, for reports of hangs; may be null.
  [[nodiscard]] virtual analysis::line_history* history() { return nullptr; }
};

}  // namespace diecast::platforms
