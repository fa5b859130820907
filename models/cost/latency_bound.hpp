// SPDX-License-Identifier: Apache-2.0
// How long word takes to get round: the latency terms of lower_bound.
//
// Two facts are used. The farthest ranks must hear of each other. And one rank's word reaches all others
// (or all others' word reaches one rank) no faster than over the best tree of messages, where a rank that
// has the word sends a message every `gap` and each takes `hop` (the optimal broadcast of Karp, Sahay,
// Santos and Schauser, SPAA 1993, with LogP's parameters taken from this machine).
#pragma once

#include <cstdint>
#include <string>

#include "models/comm/patterns.hpp"
#include "models/fabric/topology.hpp"
#include "models/types/time.hpp"

namespace diecast::cost {

/// Time until `ranks` have the word when the first has it at 0. Preconditions: hop > 0, gap > 0.
[[nodiscard]] sim_time best_tree(std::uint64_t ranks, sim_time hop, sim_time gap);

struct far_pair {
  /// The least time of one element on an idle fabric, terminal to terminal: in one message, or in several by
  /// way of other ranks, which where links differ may be faster; what those do with it is left out.
  sim_time idle;
  pe_coord from, to;
};
/// The pair with the longest way: exact up to 64 ranks, up to 256 the longest found by going to the farthest
/// rank from the last one found, four times. Of more, nearest_idle() and some pair: a bound of all.
[[nodiscard]] far_pair farthest_pair(const fabric::topology& t, const config::machine_config& c,
                                     const comm::group& g);
/// The farthest partner of one rank, in the direction to it (`inbound`) or away from it; beyond 256 ranks as
/// above. Preconditions: `rank` is one of at least two.
[[nodiscard]] far_pair farthest_from(const fabric::topology& t, const config::machine_config& c,
                                     const comm::group& g, pe_coord rank, bool inbound);

/// A lower bound of the idle latency between any two ranks: exact within cubes, between cubes the least a
/// link adds.
[[nodiscard]] sim_time nearest_idle(const fabric::topology& t, const config::machine_config& c,
                                    const comm::group& g);

}  // namespace diecast::cost
