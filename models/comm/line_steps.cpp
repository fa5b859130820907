// SPDX-License-Identifier: Apache-2.0
#include "models/comm/line_steps.hpp"

#include <algorithm>

namespace diecast::comm {
namespace {

constexpr std::uint32_t nobody = ~0U;
/// Choices tried before a limit of the flows over a cut is given up for the next higher one.
constexpr std::uint32_t patience = 50'000;

using steps = std::vector<std::vector<std::uint32_t>>;

/// Backtracking over the targets, step by step and place by place.
class step_search {
 public:
  step_search(std::uint32_t places, std::uint32_t beyond) : n_(places), met_(places, row(places)) {
    for (std::uint32_t c = 0; c < n_; ++c) limit_.push_back((c * (n_ - c) + n_ - 1) / n_ + beyond);
    found_.assign(n_, std::vector<std::uint32_t>(n_, nobody));
  }

  [[nodiscard]] bool succeeds() { return fill(0); }
  [[nodiscard]] const steps& found() const { return found_; }

 private:
  using row = std::vector<bool>;
  /// Flows over each cut in one step, by way.
  struct crossings {
    std::vector<std::uint32_t> up, down;
  };

  bool fill(std::uint32_t step) {
    if (step == n_) return true;
    crossings over{std::vector<std::uint32_t>(n_), std::vector<std::uint32_t>(n_)};
    row taken(n_);
    return place(step, 0, taken, over);
  }

  bool place(std::uint32_t step, std::uint32_t x, row& taken, crossings& over) {
    if (x == n_) return fill(step + 1);
    for (std::uint32_t i = 0; i < n_; ++i) {
      const std::uint32_t to = (x + step + i) % n_;
      if (++tried_ > patience) return false;
      if (taken[to] || met_[x][to] || !fits(x, to, over)) continue;
      count(x, to, over, 1);
      taken[to] = met_[x][to] = true;
      found_[step][x] = to;
      if (place(step, x + 1, taken, over)) return true;
      taken[to] = met_[x][to] = false;
      count(x, to, over, ~0U);
    }
    return false;
  }

  [[nodiscard]] bool fits(std::uint32_t x, std::uint32_t to, const crossings& over) const {
    const auto& flows = to > x ? over.up : over.down;
    for (std::uint32_t c = std::min(x, to) + 1; c <= std::max(x, to); ++c) {
      if (flows[c] >= limit_[c]) return false;
    }
    return true;
  }
  static void count(std::uint32_t x, std::uint32_t to, crossings& over, std::uint32_t by) {
    auto& flows = to > x ? over.up : over.down;
    for (std::uint32_t c = std::min(x, to) + 1; c <= std::max(x, to); ++c) flows[c] += by;
  }

  std::uint32_t n_;
  std::vector<row> met_;
  std::vector<std::uint32_t> limit_;  ///< flows that may cross before place c, each way
  std::uint32_t tried_{};
  steps found_;
};

steps by_distance(std::uint32_t places) {
  steps all(places, std::vector<std::uint32_t>(places));
  for (std::uint32_t s = 0; s < places; ++s) {
    for (std::uint32_t x = 0; x < places; ++x) all[s][x] = (x + s) % places;
  }
  return all;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> line_steps(std::uint32_t places) {
  if (places > most_searched) return by_distance(places);
  // By distance no cut is crossed by more than half of the places: the search ends there at the latest.
  for (std::uint32_t beyond = 0; beyond < places; ++beyond) {
    step_search search(places, beyond);
    if (search.succeeds()) return search.found();
  }
  return by_distance(places);
}

std::vector<step_partners> grid_steps(const rank_grid& g, std::uint32_t rank) {
  const steps along_x = line_steps(g.columns()), along_y = line_steps(g.rows());
  const auto sender_to = [](const std::vector<std::uint32_t>& step, std::uint32_t place) {
    return static_cast<std::uint32_t>(std::find(step.begin(), step.end(), place) - step.begin());
  };
  const std::uint32_t x = g.x(rank), y = g.y(rank);
  std::vector<step_partners> partners;
  for (const auto& across : along_x) {
    for (const auto& up : along_y) {
      partners.push_back({g.rank_at(across[x], up[y]), g.rank_at(sender_to(across, x), sender_to(up, y))});
    }
  }
  return partners;
}

}  // namespace diecast::comm
