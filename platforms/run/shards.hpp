// SPDX-License-Identifier: Apache-2.0
// Shard-wise collectives (models/comm/mappers.hpp) run as streams: one for every shard, all at once.
#pragma once

#include <optional>
#include <vector>

#include "models/comm/mappers.hpp"
#include "models/comm/workload.hpp"
#include "platforms/run/run_point.hpp"
#include "sw/kernels/kernel_table.hpp"

namespace diecast::platforms {

struct prepared_run;

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
