// SPDX-License-Identifier: Apache-2.0
// What --algorithm auto and a workload's "auto" compare: the algorithms of a collective by the time the cost
// model expects of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace diecast::cost {

struct candidate {
  std::string name;
  double ns{};  ///< expected
};

/// The cheapest first; equal ones stay in their order.
void sort_by_time(std::vector<candidate>& candidates);

/// Why candidate `i` of a sorted list is taken: "auto: A expected to take 12 ns by the cost model, B 15 ns".
[[nodiscard]] std::string reason_for(const std::vector<candidate>& sorted, std::size_t i);

}  // namespace diecast::cost
