// SPDX-License-Identifier: Apache-2.0
#include "models/cost/choice.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace diecast::cost {

void sort_by_time(std::vector<candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const candidate& a, const candidate& b) { return a.ns < b.ns; });
}

std::string reason_for(const std::vector<candidate>& sorted, std::size_t i) {
  std::string text =
      fmt::format("auto: {} expected to take {:.0f} ns by the cost model", sorted[i].name, sorted[i].ns);
  if (i + 1 < sorted.size()) text += fmt::format(", {} {:.0f} ns", sorted[i + 1].name, sorted[i + 1].ns);
  return text;
}

}  // namespace diecast::cost
