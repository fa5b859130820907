// SPDX-License-Identifier: Apache-2.0
// From a run point to everything that can be known before the simulation: members, kernel, install
// plan, launch arguments. All errors a user can make are found here.
#pragma once

#include <memory>
#include <optional>

#include "models/comm/install_plan.hpp"
#include "models/comm/mappers.hpp"
#include "models/fabric/collective_tree.hpp"
#include "models/fabric/topology.hpp"
#include "platforms/app/registries.hpp"
#include "platforms/run/barrier_run.hpp"
#include "platforms/run/program_setup.hpp"
#include "platforms/run/run_point.hpp"
#include "sw/host/collective.hpp"
#include "sw/kernels/msccl_interpreter.hpp"
#include "sw/workload/program.hpp"

namespace diecast::platforms {

/// A machine that can be simulated: config checked, graph built, dependency graph free of cycles.
struct machine_model {
  /// Throws user_error with what is wrong.
  explicit machine_model(config::machine_config c);
  config::machine_config config;
  fabric::topology topology;
};

/// One run, ready to simulate. Not movable: the launch context refers to its members.
struct prepared_run {
  prepared_run(const machine_model& machine, const app::registries& tables, run_point what);
  prepared_run(const prepared_run&) = delete;
  prepared_run& operator=(const prepared_run&) = delete;

  run_point point;
  const job_kind job;
  std::optional<program_setup> setup;  ///< of a program
  std::unique_ptr<const machine_model>
      own_machine;  ///< machine of an algorithm or a program that wants another than the given one
  const machine_model& machine;
  comm::group members;
  std::optional<sw::msccl_run> program;
  comm::workload workload_file;                    ///< what `workload` was made from
  std::unique_ptr<sw::workload_program> workload;  ///< then kernel and launch are not used
  std::vector<comm::shard_group> shards;  ///< shards of a collective; `workload` has a stream for each
  std::optional<barrier_plan> barrier;    ///< plan of collective barrier
  sw::kernel_entry kernel;
  std::optional<sw::argument_context> launch;
  comm::install_plan plan;
  std::optional<fabric::collective_tree> tree;  ///< in the network, where the plan has one
  std::vector<std::string> notes;
  std::string algorithm_reason;
  /// Fills in what was asked for: the row of a run is complete even when its process dies.
  void describe(run_outcome& o) const;
  /// Name of a direction of one PE: a program names its own.
  [[nodiscard]] std::string direction_name(pe_coord pe, comm::direction d) const;

 private:
  void choose_barrier(const app::registries& tables);
  void choose_kernel(const app::registries& tables);
  void load_program();
  void load_file(const app::registries& tables);
  void load_shards(const app::registries& tables, const comm::tensor_layout& layout);
  void load_streams(const app::registries& tables);
  void wire(const app::registries& tables);
  /// All is known: what sim.fidelity permits, and notes of what the machine lacks.
  void complete();
  /// Where a fault has changed the plan.
  void prove_again();
  void grow_tree();

  comm::pattern_entry pattern_;  ///< pattern of the kernel; none for a program
};

/// Algorithms of a collective, in table order; of a rank set, those that run on it. Throws user_error naming
/// the known collectives, or the rank set that none runs on.
[[nodiscard]] std::vector<std::string> algorithms_of(const app::registries& tables,
                                                     const std::string& collective,
                                                     std::optional<comm::rank_set> ranks = std::nullopt);

}  // namespace diecast::platforms
