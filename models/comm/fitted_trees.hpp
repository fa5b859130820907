// SPDX-License-Identifier: Apache-2.0
// Tasks for tree_annealing.hpp, made of a machine: one for the root's SIP, one for the other.
#pragma once

#include <optional>

#include "models/comm/patterns.hpp"
#include "models/comm/tree_annealing.hpp"

namespace diecast::comm {

/// Trees from the root of the pattern down, by rank. None where this search has no answer:
/// members that share a cube, more than two SIPs, too few or too many members in one of them, messages
/// between SIPs through host memory, or queue pairs shared with other patterns.
///
/// For two SIPs the trees of the other one come first. Trees enter it at two members, and the root's SIP sees
/// it as one more member that sends nothing.
[[nodiscard]] std::optional<tree_pair> fitted_trees(const pattern_context& c);

/// The whole machine as one task, to compare such trees with others. Precondition: fitted_trees has an
/// answer.
[[nodiscard]] tree_task task_of_all(const pattern_context& c);

}  // namespace diecast::comm
