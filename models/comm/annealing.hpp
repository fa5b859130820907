// SPDX-License-Identifier: Apache-2.0
// Simulated annealing (Kirkpatrick, Gelatt, Vecchi, "Optimization by simulated annealing", Science 220,
// 1983): the loop of all tree searches. The numbers of moves and the seeds are fixed, so equal tasks have
// equal results.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace diecast::comm {

/// By how much a state may be worse than the one before it, in units of its cost, in the first moves and in
/// the last; it falls by the same factor with every move.
struct annealing_schedule {
  double hottest{}, coldest{};
  std::uint64_t moves{};
};

class annealing_random {
 public:
  explicit annealing_random(std::uint64_t seed) : random_(seed) {}
  /// 0 to end - 1. Precondition: end > 0.
  [[nodiscard]] std::uint32_t below(std::uint64_t end) { return static_cast<std::uint32_t>(random_() % end); }
  /// 0 to less than 1.
  [[nodiscard]] double chance() { return static_cast<double>(random_() >> 11U) * 0x1p-53; }

 private:
  std::mt19937_64 random_;
};

/// Changes `state` move by move. It has
///   bool change()         makes a move, drawn from the same dice; false: none, and nothing has changed
///   double cost()         of the state as it is now; less is better
///   void undo()           of the last move
///   void keep(double)     the last move stays, and this is the cost now
template <class State>
void anneal(State& state, const annealing_schedule& schedule, annealing_random& dice) {
  const double cooling =
      std::pow(schedule.coldest / schedule.hottest, 1.0 / static_cast<double>(schedule.moves));
  double cost = state.cost(), heat = schedule.hottest;
  for (std::uint64_t i = 0; i < schedule.moves; ++i, heat *= cooling) {
    if (!state.change()) continue;
    const double found = state.cost();
    if (found > cost && dice.chance() >= std::exp((cost - found) / heat)) {
      state.undo();
      continue;
    }
    cost = found;
    state.keep(cost);
  }
}

}  // namespace diecast::comm
