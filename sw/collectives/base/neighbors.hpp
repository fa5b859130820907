// SPDX-License-Identifier: Apache-2.0
// Ranks one link apart, for algorithms that relay data from cube to cube and so choose the links themselves.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "models/comm/patterns.hpp"

namespace diecast::comm {

/// Tolerance of quotients of rates.
inline constexpr double rate_rounding = 1e-9;

/// Seed of the first attempt of a search; any number will do.
inline constexpr std::uint64_t search_seed = 1;

/// Ranks, at most one per cube, joined by the links between their cubes. A cube without a rank counts with
/// the nearest one that has one, in its SIP if there is one: ranks are neighbors, too, with nothing but such
/// cubes between them.
class neighbor_graph {
 public:
  /// Links come in pairs: link ^ 1 is the reverse direction.
  struct link {
    std::uint32_t from{}, to{};  ///< ranks
    double gbytes_s{};           ///< payload rate, at most that of a rank's network interface
  };

  /// Links that are missing are left out; of several between two ranks the fastest is kept. Throws user_error
  /// when a cube has two ranks.
  explicit neighbor_graph(const pattern_context& c);

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(leaving_.size()); }
  [[nodiscard]] const std::vector<link>& links() const { return links_; }
  /// Links out of a rank; its directions in the pattern "neighbors" are the places in this list.
  [[nodiscard]] const std::vector<std::uint32_t>& leaving(std::uint32_t rank) const { return leaving_[rank]; }
  /// Place of a link among those that leave the same rank.
  [[nodiscard]] std::uint32_t place_of(std::uint32_t number) const { return places_[number]; }
  /// Rate of the fastest link; 0 when there is none.
  [[nodiscard]] double fastest() const { return fastest_; }
  /// Messages that a link carries while the fastest carries `messages`, rounded down.
  [[nodiscard]] std::uint32_t share(std::uint32_t number, std::uint32_t messages) const;

 private:
  void join(std::uint32_t a, std::uint32_t b, double gbytes_s);

  std::vector<link> links_;
  std::vector<std::vector<std::uint32_t>> leaving_;
  std::vector<std::uint32_t> places_;
  double fastest_{};
};

/// Every rank with its neighbors, in both directions; queue pairs are places in neighbor_graph::leaving.
[[nodiscard]] std::vector<edge> neighbor_edges(const pattern_context& c);

// The least load of the busiest link for which a search succeeds.

/// Factor by which more trees, or more parts of blocks, must be better.
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
