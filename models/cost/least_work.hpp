// SPDX-License-Identifier: Apache-2.0
// What an algorithm cannot do without: messages in a row, messages of one rank, bytes at its interface. With
// the least times of these on this machine that is a lower bound of its time, cheap enough to compute for
// every candidate of --algorithm auto before any estimate.
#pragma once

#include <string>

#include "models/cost/lower_bound.hpp"

namespace diecast::cost {

struct least_work {
  double rounds{};    ///< messages of which each waits for the one before
  double messages{};  ///< that one rank sends or takes
  double bytes{};     ///< payload through the network interface of one rank, one way
  /// How often a byte is sent that some algorithm sends once, on a square of ranks: a forecast, no bound.
  double copies{1};
};

/// The least work of an algorithm for `p` ranks (two or more) and `n` bytes (as --bytes); all zero for an
/// algorithm that is not built in.
[[nodiscard]] least_work least_work_of(comm::collective what, const std::string& algorithm, double p,
                                       double n);

/// ns of that work on a machine.
struct algorithm_bound {
  double ns{};    ///< no run takes less: the largest of its terms and of lower_bound()
  double sent{};  ///< bytes that all ranks together send, about
  /// Rounds and bytes one after the other: orders candidates, is no bound where slots overlap.
  double in_row{};
};
/// `any`: the bound of the collective, whatever the algorithm.
[[nodiscard]] algorithm_bound bound_of(const fabric::topology& t, const config::machine_config& c,
                                       const bound_request& r, const bound& any,
                                       const std::string& algorithm);

}  // namespace diecast::cost
