// SPDX-License-Identifier: Apache-2.0
// The least load of the busiest link for which a search succeeds.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <utility>

namespace diecast::comm {

/// More trees, or more parts of blocks, must be better by so much.
inline constexpr double stop_threshold = 1.02;

/// The least limit from `least` (1 or more) on for which search(limit) holds something, and what it holds: by
/// doubling steps, then by halves. A search that is no exact one may miss a lower limit. Throws
/// std::logic_error when none is wide enough.
template <class Search>
[[nodiscard]] auto smallest_feasible(const Search& search, std::uint32_t least) {
  std::uint32_t failed = least - 1, limit = least;
  auto found = search(limit);
  for (std::uint32_t step = 2; !found; step *= 2) {
    if (step > (1U << 30)) throw std::logic_error("links between neighbors: no limit is wide enough");
    failed = limit;
    limit += step;
    found = search(limit);
  }
  while (failed + 1 < limit) {
    const std::uint32_t middle = failed + (limit - failed) / 2;
    if (auto closer = search(middle)) {
      found = std::move(closer);
      limit = middle;
    } else {
      failed = middle;
    }
  }
  return std::pair{std::move(found), limit};
}

}  // namespace diecast::comm
