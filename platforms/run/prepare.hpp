// SPDX-License-Identifier: Apache-2.0
// A run with everything that can be known before the simulation: machine, members, install plan. All errors a
// user can make are found while it is made. Kinds of jobs derive theirs (platforms/job).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "models/comm/patterns.hpp"
#include "models/config/machine_config.hpp"
#include "models/fabric/collective_tree.hpp"
#include "models/fabric/topology.hpp"
#include "models/types/immovable.hpp"
#include "platforms/result/run_point.hpp"
#include "platforms/run/job.hpp"
#include "platforms/run/registries.hpp"
#include "sw/collectives/base/kernel_table.hpp"

namespace diecast::platforms {

class start_agreement;

/// A machine that can be simulated: config checked, graph built, dependency graph free of cycles.
struct machine_model {
  /// Throws user_error with every problem.
  explicit machine_model(config::machine_config c);
  config::machine_config config;
  fabric::topology topology;
};

/// One kernel with its launch on all members.
struct kernel_launch {
  sw::argument_context arguments;
  sw::kernel_entry kernel;
};

struct prepared_run;
/// Simulates a run of a job that was prepared, in a process or several of its own. `only`: of a workload, the
/// one stream to run. `draw`: of --jitter; 0: the run itself.
using simulator = std::function<run_outcome(const prepared_run& run, std::optional<std::uint32_t> only,
                                            std::uint64_t draw)>;

/// One run, ready to simulate. Not movable: launches refer to its members.
struct prepared_run : abstract_interface {
  /// `own`: the machine of a job that needs another than the given one; null for none.
  prepared_run(const machine_model& given, std::unique_ptr<const machine_model> own, run_point what);

  run_point point;
  const machine_model& given;  ///< machine on which the run was prepared
  std::unique_ptr<const machine_model> own_machine;
  const machine_model& machine;
  job_form form;
  comm::group members;
  comm::install_plan plan;
  std::optional<fabric::collective_tree> tree;  ///< tree in the network, if the plan has one
  std::vector<std::string> notes;
  std::string algorithm_reason;
  bool uses_signals{};  ///< the run has barriers, whose signals are data

  /// The programs that drive the machine. `only`: of several streams, the one to run. `agreement`: of the
  /// hosts of the `sips` of this process. `on_round` is called before each launch.
  [[nodiscard]] virtual std::unique_ptr<host_side> hosts(std::optional<std::uint32_t> only,
                                                         std::uint64_t sips, start_agreement& agreement,
                                                         std::function<void()> on_round) const = 0;
  /// The kernel that all members run together; null: streams with several kernels.
  [[nodiscard]] virtual const kernel_launch* launch() const { return nullptr; }
  /// Listens to the run; null where the hosts alone judge it.
  [[nodiscard]] virtual std::unique_ptr<judge> watch(events::hub& /*events*/) const { return nullptr; }
  /// Makes further runs, whose results are part of this one's (--isolate).
  virtual void run_more(const simulator& /*simulate*/, run_outcome& /*o*/) const {}
  /// Fills in the input of the run, so that its row is complete even when its process dies.
  virtual void describe(run_outcome& o) const;
  /// Name of a direction of one PE.
  [[nodiscard]] virtual std::string direction_name(pe_coord pe, comm::direction d) const = 0;
  /// The run outlives them.
  [[nodiscard]] run_names names() const;

 protected:
  /// Changes the plan where a fault requires it, and proves it again.
  void spoil_plan();
  /// The last step: refuses faults without an effect on this run, and notes missing parts of the machine.
  void complete();
};

/// The point's run, by its kind of job. Throws user_error with every problem.
[[nodiscard]] std::unique_ptr<prepared_run> prepare_point(const machine_model& machine,
                                                          const app::registries& tables, run_point point);

}  // namespace diecast::platforms
