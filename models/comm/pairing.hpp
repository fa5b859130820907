// SPDX-License-Identifier: Apache-2.0
// First step of an install plan: which direction at the peer each edge of a pattern pairs with.
#pragma once

#include <vector>

#include "models/comm/install_plan.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {

/// One half of a queue pair: `owner` sends (tx) or receives in direction `dir`, and the other half
/// is the peer's direction `peer_dir`.
struct queue_pair_half {
  pe_coord owner;
  direction dir{};
  bool rx{};
  pe_coord peer;
  direction peer_dir{};
};

/// Every edge as its two halves, ordered by owner, direction, tx before rx. Appends to `problems`
/// self-loops, directions used twice, declared bidirectional edges without a reciprocal, and queue
/// pairs whose halves lead to different peers.
[[nodiscard]] std::vector<queue_pair_half> pair_directions(const std::vector<edge>& edges,
                                                           std::vector<problem>& problems);

}  // namespace diecast::comm
