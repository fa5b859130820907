// SPDX-License-Identifier: Apache-2.0
// Bytes x links that a collective cannot avoid, over all links between cubes and over all between SIPs.
//
// Take each cube (or SIP) with ranks as one node. Reducing an element takes at least nodes - 1 messages
// between nodes, spreading it as many, and both together 2 (nodes - 1) one-way messages (Harary and
// Schwenk, 1974). What has one source and one destination crosses at least the shortest path between them:
// parts of gather, scatter and all_to_all, and the vector that send_recv takes to the next rank.
// Where messages between SIPs are staged, host memory is one link between any two SIPs.
#pragma once

#include "models/cost/lower_bound.hpp"

namespace diecast::cost {

struct link_work {
  double between_cubes{};  ///< bytes of payload x links
  double between_sips{};
};
[[nodiscard]] link_work link_work_of(const fabric::topology& t, const config::machine_config& c,
                                     const bound_request& r);

}  // namespace diecast::cost
