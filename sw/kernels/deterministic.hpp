// SPDX-License-Identifier: Apache-2.0
// What comm.deterministic_reduction stands for.
#pragma once

namespace diecast::sw {

/// Replaces every all_reduce while the key is set: its sums have the order of the ranks, whatever arrives
/// first.
inline constexpr const char* deterministic_all_reduce = "p2p_tree";

}  // namespace diecast::sw
