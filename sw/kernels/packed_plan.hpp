// SPDX-License-Identifier: Apache-2.0
// The trees that the kernels named packed_trees go down and up.
#pragma once

#include "models/comm/packed_trees.hpp"
#include "sw/kernels/kernel_table.hpp"

namespace diecast::sw {

/// Those of the launch, searched for once. Throws user_error (ccl.root_rank) when the group has no such rank.
[[nodiscard]] const comm::packed_trees& packed_trees_of(const argument_context& c,
                                                        comm::packed_trees::flow to);

}  // namespace diecast::sw
