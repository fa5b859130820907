// SPDX-License-Identifier: Apache-2.0
// Trees over ranks 0 to n-1, and who meets whom in the algorithms with log2(n) partners. Patterns wire
// them and kernels walk them, so both ask here.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/config/machine_config.hpp"

namespace diecast::comm {

/// A rank's place in a tree; children in the order in which their contributions are added.
struct tree_node {
  std::optional<std::uint32_t> parent;
  std::vector<std::uint32_t> children;
};

/// Parent (r-1)/2, children 2r+1 and 2r+2.
[[nodiscard]] tree_node binary_tree(std::uint32_t rank, std::uint32_t ranks);

/// In-order binary tree: rank 0 at the root with one child, odd ranks leaves, the others inner nodes whose
/// subtrees are ranges of ranks. Depth ceil(log2 n).
[[nodiscard]] tree_node in_order_tree(std::uint32_t rank, std::uint32_t ranks);
/// The same tree with other ranks at its nodes, so that no rank is an inner node of both: mirrored for
/// an even number of ranks, moved on by one for an odd. (Sanders, Speck, Traeff, "Two-tree algorithms for
/// full bandwidth broadcast, reduction and scan", Parallel Computing 35, 2009.)
[[nodiscard]] tree_node complementary_tree(std::uint32_t rank, std::uint32_t ranks);

/// Binomial tree: rank r has the children r + 2^k for all k below its trailing zeros. Pairwise summation
/// in the order of ranks.
[[nodiscard]] tree_node binomial_tree(std::uint32_t rank, std::uint32_t ranks);
/// Number k of the edge between two ranks of the binomial tree: their numbers differ by 2^k.
[[nodiscard]] std::uint32_t binomial_edge(std::uint32_t a, std::uint32_t b);

/// Greatest number of edges between the root and a rank, for the trees above.
[[nodiscard]] std::uint32_t depth_of_binary(std::uint32_t ranks);
[[nodiscard]] std::uint32_t depth_of_binomial(std::uint32_t ranks);

/// Chunks of a vector of `bytes` on a pipeline of `depth` messages in a row: ccl.chunks, or by itself the
/// number that ends soonest when a message costs a fixed time and a time per byte. At least 1, and no more
/// than `elements` unless that is 0.
[[nodiscard]] std::uint64_t chunks_on_pipeline(const config::machine_config& c, std::uint64_t bytes,
                                               std::uint64_t elements, std::uint32_t depth);

/// Ranks that take part in the steps of an algorithm of partners; the others ("folded") first give their
/// vector to a partner and get the result from it at the end.
struct fold {
  std::uint32_t active{};  ///< ranks 0 to active-1 take the steps
  std::uint32_t steps{};

  [[nodiscard]] bool is_folded(std::uint32_t rank) const { return rank >= active; }
  /// The rank a folded rank gives its vector to, and the other way round.
  [[nodiscard]] std::uint32_t holder_of(std::uint32_t folded) const { return folded - active; }
  [[nodiscard]] std::optional<std::uint32_t> folded_into(std::uint32_t rank, std::uint32_t ranks) const {
    if (is_folded(rank) || rank + active >= ranks) return std::nullopt;
    return rank + active;
  }
};
/// The largest power of two takes part: recursive doubling, Rabenseifner.
[[nodiscard]] fold fold_to_power_of_two(std::uint32_t ranks);
/// All take part when their number is even, all but the last when it is odd: swing.
[[nodiscard]] fold fold_to_even(std::uint32_t ranks);

/// Whom a rank meets in step s of swing over an even number of ranks: r + rho(s) for even r, r - rho(s) for
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
/// For a power of two: whether `rank` keeps the upper half in step s. With these halves the parts a rank
/// passes on in one step are one range.
[[nodiscard]] bool swing_keeps_upper(std::uint32_t rank, std::uint32_t step, std::uint32_t ranks);

}  // namespace diecast::comm
