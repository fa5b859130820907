// SPDX-License-Identifier: Apache-2.0
// The least time a collective can take on a machine with any algorithm: what must leave and enter every
// rank, cross every cut and occupy all links together, what memories and vector units must do, and how long
// word takes to get round. It depends on (machine, collective, ranks, bytes) alone. Derivations: docs/
// bounds.md; a message carries elements or partial sums of them, and nothing computes in the network but what
// noc.multicast and noc.reduce say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/comm/collective.hpp"
#include "models/comm/patterns.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::cost {

/// One reason why a collective cannot be faster.
struct bound_term {
  std::string kind;  ///< injection, ejection, cube, sip, bisection, links, memory, vector, latency
  double ns{};
  std::string detail;  ///< the rank, cut or pair that the bound is of
};

struct bound {
  double ns{};                    ///< time of the binding term; 0: nothing has to happen (one rank, no bytes)
  std::string kind;               ///< name of the binding term; empty when nothing has to happen
  std::vector<bound_term> terms;  ///< the strongest of each kind, strongest first
};

struct bound_request {
  comm::collective what{comm::collective::all_reduce};
  const comm::group& ranks;
  std::uint64_t bytes{};  ///< size as for --bytes: per rank, or the total (comm::size_meaning_of)
  std::uint32_t root{};   ///< root, where the collective has one
};

/// Time grows with pairs of ranks up to 64 ranks and linearly beyond (farthest pair by double sweep).
[[nodiscard]] bound lower_bound(const fabric::topology& t, const config::machine_config& c,
                                const bound_request& r);

/// Bytes that all ranks together send at least, where routers compute nothing.
[[nodiscard]] double least_sent(comm::collective what, double bytes, double ranks);

/// A goal for the latency of small messages: the larger of one message of one element between the farthest
/// ranks, on an idle machine, and ceil(log2 ranks) of them between the nearest. Not a bound: a rank
/// may send its next message before the first has arrived. ns.
[[nodiscard]] double latency_goal_ns(const fabric::topology& t, const config::machine_config& c,
                                     const comm::group& g);

/// The least work of an algorithm: successive messages, messages of one rank, bytes at its interface. With
/// the least times of these on this machine that is a lower bound of its time, cheap enough to compute for
/// every candidate of --algorithm auto before any estimate.
struct least_work {
  double rounds{};    ///< messages of which each waits for the previous one
  double messages{};  ///< messages that one rank sends or receives
  double bytes{};     ///< payload through the network interface of one rank, in one direction
  /// How often a byte is sent that some algorithm sends once, on a square of ranks: a forecast, no bound.
  double copies{1};
};

/// The least work of an algorithm for `p` ranks (two or more) and `n` bytes (as --bytes); all zero for an
/// algorithm that is not built in.
[[nodiscard]] least_work least_work_of(comm::collective what, const std::string& algorithm, double p,
                                       double n);

/// Time of that work on a machine, ns.
struct algorithm_bound {
  double ns{};    ///< no run takes less: the largest of its terms and of lower_bound()
  double sent{};  ///< bytes that all ranks together send, about
  /// Time of rounds and bytes without overlap: serves to order candidates, and is no bound.
  double in_row{};
};
/// `any`: the bound of the collective for any algorithm.
[[nodiscard]] algorithm_bound bound_of(const fabric::topology& t, const config::machine_config& c,
                                       const bound_request& r, const bound& any,
                                       const std::string& algorithm);

}  // namespace diecast::cost
