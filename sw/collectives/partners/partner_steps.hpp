// SPDX-License-Identifier: Apache-2.0
// Partners of each step of the algorithms with log2(n) steps: recursive doubling, Rabenseifner, swing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/comm/patterns.hpp"

namespace diecast::comm {

/// Partners by step, so that an algorithm with log2(n) partners has as many queue pairs: fold_partner for a
/// folded rank and its holder, partner(s) for the partners of step s; the same direction at both ends.
inline constexpr direction fold_partner = 0;
[[nodiscard]] constexpr direction partner(std::uint32_t step) { return static_cast<direction>(1 + step); }
[[nodiscard]] std::vector<edge> recursive_doubling(const pattern_context& c);
[[nodiscard]] std::vector<edge> swing(const pattern_context& c);

/// "fold", "step0", "step1", ...
[[nodiscard]] std::vector<std::string> partner_names();

/// Ranks that take part in the steps of an algorithm of partners; the others ("folded") first give their
/// vector to a neighbor and get the result from it at the end. Neighbors, because all folds happen at once:
/// over a longer distance they would all share the narrowest cut of the machine. (Thakur, Rabenseifner,
/// Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA 19(1), 2005.)
struct fold {
  std::uint32_t active{};  ///< ranks that take the steps
  std::uint32_t steps{};
  std::uint32_t pairs{};  ///< ranks first + 2i and first + 2i + 1, i < pairs: the second folds into the first
  std::uint32_t first{};

  [[nodiscard]] bool is_paired(std::uint32_t rank) const { return rank >= first && rank - first < 2 * pairs; }
  [[nodiscard]] bool is_folded(std::uint32_t rank) const {
    return is_paired(rank) && (rank - first) % 2 != 0;
  }
  [[nodiscard]] bool is_holder(std::uint32_t rank) const { return is_paired(rank) && !is_folded(rank); }
  /// The holders of the pairs.
  [[nodiscard]] std::uint32_t holder(std::uint32_t pair) const { return first + 2 * pair; }
  /// Active ranks are numbered 0 to active-1 in the order of ranks; a folded rank has the number of its
  /// holder.
  [[nodiscard]] std::uint32_t number_of(std::uint32_t rank) const {
    if (rank < first) return rank;
    return is_paired(rank) ? first + (rank - first) / 2 : rank - pairs;
  }
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t number) const {
    if (number < first) return number;
    return number - first < pairs ? holder(number - first) : number + pairs;
  }
};
/// The largest power of two takes part, the first ranks pair up: recursive doubling, Rabenseifner.
[[nodiscard]] fold fold_to_power_of_two(std::uint32_t ranks);
/// All take part when their number is even, all but the last, which its neighbor holds, when it is odd:
/// swing.
[[nodiscard]] fold fold_to_even(std::uint32_t ranks);

/// Partner of a rank in step s of swing over an even number of ranks: r + rho(s) for even r, r - rho(s) for
/// odd, rho(s) = (1 - (-2)^(s+1)) / 3. (De Sensi et al., "Swing: Short-cutting Rings for Higher Bandwidth
/// Allreduce", NSDI 2024.)
[[nodiscard]] std::uint32_t swing_peer(std::uint32_t rank, std::uint32_t step, std::uint32_t ranks);

/// By rank (entry 0 unused): the step in which that rank passes on what it has summed of part 0, so that
/// every contribution reaches rank 0 once. `ranks` is even. The tree of any other part follows by
/// symmetry: swing_send_step.
[[nodiscard]] std::vector<std::uint32_t> swing_tree(std::uint32_t ranks);
/// The step in which `rank` passes on part `part` != rank.
[[nodiscard]] std::uint32_t swing_send_step(const std::vector<std::uint32_t>& tree, std::uint32_t rank,
                                            std::uint32_t part);
/// By step: the parts that `rank` passes on then, in order. `ranks` is even.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> swing_parts(std::uint32_t rank, std::uint32_t ranks);
/// For a power of two: whether `rank` keeps the upper half in step s. With these halves the parts a rank
/// passes on in one step are one range.
[[nodiscard]] bool swing_keeps_upper(std::uint32_t rank, std::uint32_t step, std::uint32_t ranks);

}  // namespace diecast::comm
