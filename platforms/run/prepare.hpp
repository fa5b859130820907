// SPDX-License-Identifier: Apache-2.0
// From a run point to everything that can be known before the simulation: members, kernel, install
// plan, launch arguments. All errors a user can make are found here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "models/comm/mappers.hpp"
#include "models/comm/patterns.hpp"
#include "models/config/machine_config.hpp"
#include "models/cost/rules.hpp"
#include "models/fabric/collective_tree.hpp"
#include "models/fabric/topology.hpp"
#include "models/types/immovable.hpp"
#include "platforms/config_io/msccl_xml.hpp"
#include "platforms/result/run_point.hpp"
#include "platforms/run/barrier_run.hpp"
#include "platforms/run/registries.hpp"
#include "sw/collectives/base/kernel_table.hpp"
#include "sw/collectives/msccl/msccl_interpreter.hpp"
#include "sw/host/collective.hpp"
#include "sw/workload/program.hpp"
#include "sw/workload/workload.hpp"

namespace diecast::platforms {

struct machine_model;

/// The machine on which a collective program runs: what its defaults are too small for, the program's needs
/// replace.
struct program_setup {
  msccl_file file;
  comm::group members;
  std::unique_ptr<const machine_model> machine;  ///< null: the given one has all that the program needs
  std::vector<std::string> notes;                ///< what was changed, and why
  /// Output is the input's buffer. The buffers of an out-of-place program are its own to use until its end.
  [[nodiscard]] bool in_place() const;
};
/// Reads the program of `point` and gives it as many queue pairs as it has FIFOs, receive rings that leave it
/// half of the TCM, and tensors in HBM where the TCM has no room for them. Throws user_error.
[[nodiscard]] program_setup set_up_program(const machine_model& machine, const run_point& point);

/// A machine that can be simulated: config checked, graph built, dependency graph free of cycles.
struct machine_model {
  /// Throws user_error with what is wrong.
  explicit machine_model(config::machine_config c);
  config::machine_config config;
  fabric::topology topology;
};

/// One run, ready to simulate. Not movable: the launch context refers to its members.
struct prepared_run : private immovable {
  prepared_run(const machine_model& machine, const app::registries& tables, run_point what);

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
  /// The run outlives them.
  [[nodiscard]] run_names names() const;
  /// Whether it has barriers, whose signals are data.
  [[nodiscard]] bool uses_signals() const { return barrier || (workload && workload->uses_signals()); }

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

// What the config's ccl.algorithms and ccl.patterns change about a run.

/// Throws user_error with every name in ccl.algorithms and ccl.patterns that is in no table, and every
/// pattern of the config that has the name of one in the tables.
void check_ccl(const app::registries& tables, const config::machine_config& config);

/// The settings of an algorithm; empty ones when the config has none.
[[nodiscard]] config::algorithm_settings settings_of(const config::machine_config& config,
                                                     const std::string& algorithm);

/// The machine with the algorithm's own ring memory; null when the given one already is.
[[nodiscard]] std::unique_ptr<const machine_model> machine_for(const machine_model& machine,
                                                               const std::string& algorithm);

/// Members of a run: by --ranks, else by the algorithm's mapper, else its first rank set. Throws user_error
/// when the algorithm does not run on them or when the tensor layout does not fit the validator.
[[nodiscard]] comm::group members_for(const app::registries& tables, const config::machine_config& config,
                                      const sw::kernel_entry& kernel, const run_point& point);

/// The kernel's pattern, or the one that the config gives it.
[[nodiscard]] comm::pattern_entry pattern_for(const app::registries& tables,
                                              const config::machine_config& config,
                                              const sw::kernel_entry& kernel);

// Faults of kind wrong_install: an install plan as a careless host would have made it.

/// Changes the queue pairs of every PE that such a fault names; true when the plan is to be proved again.
/// `swap` installs the first two directions that receive as each other, `overlap` puts the second ring half a
/// slot into the first. `first_match` makes every direction write into the first ring of its peer that comes
/// from this PE; the host that pairs so proves nothing. Throws user_error when a PE has too few directions
/// for it.
bool spoil_install(const config::machine_config& config, comm::install_plan& plan);

// --algorithm auto: which algorithm a point runs, and what the user wants instead.

/// ccl.algorithm_rules, then the rows of the table ccl.tuner. Throws user_error with everything that is
/// wrong: malformed rules, a table that cannot be read, algorithms that do not exist.
[[nodiscard]] std::vector<cost::algorithm_rule> user_rules(const config::ccl_block& ccl,
                                                           const app::registries& tables);

/// The name that asks for a choice.
inline constexpr const char* automatic_algorithm = "auto";

/// The point's run. Its algorithm is taken as it is unless it is "auto": then by the first match of
/// ccl.algorithm_rules, of the table ccl.tuner, else the fastest by estimates (sw::race) among those
/// that can run here (enough queue pairs, tensors that fit). Throws user_error with every problem.
[[nodiscard]] std::unique_ptr<prepared_run> prepare_point(const machine_model& machine,
                                                          const app::registries& tables, run_point point);

// Shard-wise collectives (models/comm/mappers.hpp) run as streams: one for every shard, all at once.

/// The layout that makes a run of point.algorithm over SIPs shard-wise: one given in ccl.algorithms.NAME or,
/// of kernels with levels within a SIP, a shard for every PE, if it has more than one per SIP and no
/// validator says otherwise. Throws user_error for what a shard-wise run cannot do (--iters, --warmup,
/// --data, a pattern of the config).
[[nodiscard]] std::optional<comm::tensor_layout> sharded_layout(const config::machine_config& config,
                                                                const run_point& point,
                                                                const sw::kernel_entry& kernel,
                                                                comm::rank_set set);

/// A stream per shard with the one collective.
[[nodiscard]] comm::workload streams_of(const std::vector<comm::shard_group>& shards,
                                        const sw::kernel_entry& kernel, const run_point& point,
                                        std::uint64_t root);

/// The strongest of what each shard's group needs and of what must cross the edges of a SIP for all of them.
void add_bound_of_shards(const prepared_run& run, run_outcome& outcome);

}  // namespace diecast::platforms
