// SPDX-License-Identifier: Apache-2.0
// Trees over ranks 0 to n-1, and who meets whom in the algorithms with log2(n) partners. Patterns wire
// them and kernels walk them, so both ask here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "models/comm/patterns.hpp"
#include "models/config/machine_config.hpp"

namespace diecast::comm {

inline constexpr std::uint32_t nobody = ~0U;  ///< number of no member
inline constexpr std::uint64_t search_seed =
    1;  ///< seed of the first attempt of a search; any number will do

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
/// in_order_tree() with its ranks exchanged, so that no rank is an inner node of both trees: mirrored for
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
/// Depth of any tree, nodes by rank; 0 without nodes.
[[nodiscard]] std::uint32_t depth_of(const std::vector<tree_node>& nodes);

/// Chunks of a vector of `bytes` on a pipeline of `depth` messages in a row: ccl.chunks, or by itself the
/// number that ends soonest when a message costs a fixed time and a time per byte on the slowest kind of link
/// between the members. At least 1, and no more than `elements` unless that is 0.
[[nodiscard]] std::uint64_t chunks_on_pipeline(const config::machine_config& c, const group& members,
                                               std::uint64_t bytes, std::uint64_t elements,
                                               std::uint32_t depth);

/// Ranks that take part in the steps of an algorithm of partners; the others ("folded") first give their
/// vector to a neighbor and get the result from it at the end. Neighbors, because all folds happen at once:
/// over a longer distance they would all meet in the narrowest part of the machine. (Thakur, Rabenseifner,
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
/// By step: the parts that `rank` passes on then, in order. `ranks` is even.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> swing_parts(std::uint32_t rank, std::uint32_t ranks);
/// For a power of two: whether `rank` keeps the upper half in step s. With these halves the parts a rank
/// passes on in one step are one range.
[[nodiscard]] bool swing_keeps_upper(std::uint32_t rank, std::uint32_t step, std::uint32_t ranks);

// Two binary trees below one root, so that no other rank is an inner node of both: half of a vector down each
// uses what every rank can send.

struct tree_node;  // models/comm/trees.hpp

/// Place of a rank in the first (which = 0) or second tree. Counted from the root, the first is the in-order
/// tree, the second the same with ranks 1 to n-1 mirrored (n odd) or moved on by one (n even); leaves of the
/// first are odd, those of the second even. (Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth
/// broadcast, reduction and scan", Parallel Computing 35, 2009.)
[[nodiscard]] tree_node root_tree(std::uint32_t rank, std::uint32_t ranks, std::uint32_t root,
                                  std::uint32_t which);

/// Directions of tree `which`; its children follow its parent.
[[nodiscard]] constexpr direction root_tree_parent(std::uint32_t which) {
  return static_cast<direction>(3 * which);
}
/// One way, from the root down both trees.
[[nodiscard]] std::vector<edge> root_trees(const pattern_context& c);
[[nodiscard]] std::vector<std::string> root_tree_names();

// Patterns of the tree in the network: noc.multicast and noc.reduce.

/// Directions of the members' queue pairs.
inline constexpr direction tree_multicast = 0;
inline constexpr direction tree_reduction = 1;

/// From the root to every other rank at once. Throws user_error where the machine's routers copy nothing
/// (noc.multicast), or something on the way would have to read each packet alone (staging, checksums).
[[nodiscard]] std::vector<edge> multicast_tree(const pattern_context& c);
/// From every other rank to the root, which adds its own: its network interface then has the result alone to
/// send on. Throws user_error as multicast_tree does, for noc.reduce.
[[nodiscard]] std::vector<edge> reduction_tree(const pattern_context& c);
/// Both, over central_rank.
[[nodiscard]] std::vector<edge> in_network(const pattern_context& c);

/// Some of these edges are carried by the tree, of which a run has one.
[[nodiscard]] bool uses_tree(const std::vector<edge>& edges);

/// The rank whose cube is nearest to the middle of the pod's SIPs and of its own SIP; the first of several.
/// An all-reduce turns round there.
[[nodiscard]] std::uint32_t central_rank(const machine_shape& shape, const group& members);

/// Names of the directions, for pattern_entry.
[[nodiscard]] std::vector<std::string> tree_direction_names();

// The arithmetic of a router that combines packets.

/// The sum of the contributions that meet in one router, in the order in which they are added. Rounded to the
/// type of the packets after each addition, or once in result() (tree_arithmetic::in_f32).
class tree_sum {
 public:
  explicit tree_sum(const tree_arithmetic& how) : how_(how) {}
  /// Contributions of one packet have one size; other sizes: std::invalid_argument.
  void add(std::span<const std::byte> contribution);
  [[nodiscard]] std::vector<std::byte> result() const;

 private:
  tree_arithmetic how_;
  std::vector<std::byte> sum_;
  bool begun_{};
};

}  // namespace diecast::comm
