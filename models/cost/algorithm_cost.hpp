// SPDX-License-Identifier: Apache-2.0
// What each algorithm is expected to take: its steps at their alpha-beta-gamma cost (step_cost.hpp), and no
// less than the wires it loads allow. Messages of one step are in each other's way, those of different
// steps are not; --algorithm auto compares the larger of the two.
#pragma once

#include <optional>
#include <string>

#include "models/cost/lower_bound.hpp"

namespace diecast::cost {

/// Steps of an algorithm, without contention but for the messages of one step, and the time its bytes take on
/// the wires it loads, the ends of the first and the last message included. ns.
struct estimate {
  double steps_ns{};
  double wires_ns{};
  /// No rank sends messages where its result must be written, and none receives them where its input must be
  /// read: with tensors in HBM, copies and messages use the network interface in different directions.
  bool copies_apart{};
  [[nodiscard]] double ns() const { return steps_ns > wires_ns ? steps_ns : wires_ns; }
};

/// Empty for an algorithm nothing is known of. Precondition: members form what the algorithm needs.
[[nodiscard]] std::optional<estimate> estimate_of(const fabric::topology& t, const config::machine_config& c,
                                                  const bound_request& r, const std::string& algorithm);

}  // namespace diecast::cost
