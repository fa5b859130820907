// SPDX-License-Identifier: Apache-2.0
// Algorithms by name, in the tables and in the config.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/comm/mappers.hpp"
#include "models/comm/patterns.hpp"
#include "models/cost/rules.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// The collective that a run's point names; null where there is none.
[[nodiscard]] const sw::kernel_entry* kernel_of(const app::registries& tables, const run_point& point);

/// The algorithms that a request names for its collective: "all" stands for each that runs on its ranks, none
/// for auto. Those that run on the same ranks come one after the other: a table compares equal ranks.
[[nodiscard]] std::vector<std::string> requested_algorithms(const app::registries& tables,
                                                            const job_request& request);
/// Whether a request is for every algorithm.
[[nodiscard]] bool requests_all(const job_request& request);
/// The rank set of an algorithm without --ranks.
[[nodiscard]] std::optional<comm::rank_set> usual_ranks_of(const app::registries& tables,
                                                           const std::string& collective,
                                                           const std::string& algorithm);

// Flags that mean something to one kind of job only. They throw user_error.

void refuse_isolate(const job_request& request);
void refuse_teams(const job_request& request);

/// Algorithms of a collective, in table order; of a rank set, those that run on it. Throws user_error naming
/// the known collectives, or the rank set that none runs on.
[[nodiscard]] std::vector<std::string> algorithms_of(const app::registries& tables,
                                                     const std::string& collective,
                                                     std::optional<comm::rank_set> ranks = std::nullopt);

// Changes of a run by the config's ccl.algorithms and ccl.patterns.

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

/// The kernel's pattern, or that of the config.
[[nodiscard]] comm::pattern_entry pattern_for(const app::registries& tables,
                                              const config::machine_config& config,
                                              const sw::kernel_entry& kernel);

// Shard-wise collectives (models/comm/mappers.hpp) run as streams: one for every shard, all at once.

/// The layout that makes a run of point.algorithm over SIPs shard-wise: one given in ccl.algorithms.NAME or,
/// of kernels with levels within a SIP, a shard for every PE, if it has more than one per SIP and no
/// validator says otherwise. Throws user_error for what a shard-wise run cannot do (--iters, --warmup,
/// --data, a pattern of the config).
[[nodiscard]] std::optional<comm::tensor_layout> sharded_layout(const config::machine_config& config,
                                                                const run_point& point,
                                                                const sw::kernel_entry& kernel,
                                                                comm::rank_set set);

// --algorithm auto: the algorithm of a point, and the user's rules for it.

/// ccl.algorithm_rules, then the rows of the table ccl.tuner. Throws user_error with everything that is
/// wrong: malformed rules, a table that cannot be read, algorithms that do not exist.
[[nodiscard]] std::vector<cost::algorithm_rule> user_rules(const config::ccl_block& ccl,
                                                           const app::registries& tables);

/// The name that requests a choice.
inline constexpr const char* automatic_algorithm = "auto";

}  // namespace diecast::platforms
