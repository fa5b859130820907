// SPDX-License-Identifier: Apache-2.0
// Two trees below one root, fitted to the machine: half of a vector down each, and no member sends more than
// the vector (over PEs of several SIPs one may send three halves). Grown from member to member
// (grown_trees.cpp), then improved by a search (tree_search.cpp). (Edmonds, "Edge-disjoint branchings",
// 1973, proves when such trees exist; Zhao et al., "ForestColl: Throughput-Optimal Collective Communications
// on Heterogeneous Network Fabrics", 2024, builds schedules of them.)
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "models/comm/patterns.hpp"
#include "sw/collectives/base/neighbors.hpp"
#include "sw/collectives/trees/trees.hpp"

namespace diecast::comm {

// Improves two trees below one root by simulated annealing (Kirkpatrick, Gelatt, Vecchi, "Optimization
// by simulated annealing", Science 220, 1983) over the links of whole routes.

/// Nodes by tree and rank. A member's children are in the order in which slots are sent to them.
inline constexpr std::uint32_t trees_of_pair = 2;
using tree_pair = std::array<std::vector<tree_node>, trees_of_pair>;

/// Exchanges places of members so that paths share few links and trees are shallow: of members of one cube
/// where several share it, else of one SIP. Edges between SIPs, and between cubes where several members share
/// one, are kept; the root keeps its one child in each tree; trees enter another SIP at two members. No
/// member forwards more than two halves of the vector, as far as the trees allow. A child in another SIP is
/// the first, the others are in the best order of sending. `up`: messages go towards the root.
///
/// A slot that waits for another one delays its sender's other messages, and a sender that is always busy
/// never catches up: shared links cost more than any path. Numbers of moves and seeds are fixed: equal
/// machines and members, equal trees.
void improve_trees(const pattern_context& c, bool up, tree_pair& trees);

// Trees to begin a search with (tree_search.cpp), for any machine: level by level every member that may send
// takes the nearest of those that are left.

/// SIPs follow each other along each tree, in one direction in the first and in the opposite one in the
/// second, so that each tree enters a SIP once. Where members share cubes a tree enters each cube once, too,
/// and its forwarding members differ between the two trees, as far as possible. `up`: messages go towards the
/// root.
[[nodiscard]] tree_pair grown_trees(const pattern_context& c, bool up);

/// Equal machines and members have equal trees; the last ones are remembered.
class packed_trees {
 public:
  static constexpr std::uint32_t trees = 2;
  /// The direction of the vector: routes differ between the two directions, so trees that fit one need not
  /// fit the other.
  enum class flow : std::uint8_t { down, up };

  explicit packed_trees(const pattern_context& c, flow to = flow::down);

  [[nodiscard]] const tree_node& node(std::uint32_t tree, std::uint32_t rank) const {
    return nodes_[tree][rank];
  }
  /// Queue pairs of an edge, used together: the slots of one do not cover the round trip of a path. Fewer
  /// where directions or ipcq.queue_pairs do not suffice, down to one; one where patterns share queue pairs.
  [[nodiscard]] std::uint32_t width(std::uint32_t above, std::uint32_t below) const {
    return crosses(above, below) ? crossing_ : within_;
  }
  /// Whether the ends of the edge are in two SIPs.
  [[nodiscard]] bool crosses(std::uint32_t above, std::uint32_t below) const {
    return sips_[above] != sips_[below];
  }

 private:
  [[nodiscard]] std::uint32_t child_directions(std::uint32_t rank, std::uint32_t used) const;
  [[nodiscard]] std::uint32_t most_child_directions() const;

  tree_pair nodes_;
  std::vector<sip_id> sips_;               ///< by rank
  std::uint32_t within_{1}, crossing_{1};  ///< width of edges within a SIP and between two
};

/// Child directions of a member at most, where edges have several queue pairs. Where all have one, further
/// children of a member have the numbers, and in reports the names, of further queue pairs to a parent.
inline constexpr std::uint32_t named_children = 8;

/// Direction in which a member's parent in `tree` is; `index`: of an edge with several queue pairs.
[[nodiscard]] constexpr direction packed_parent(std::uint32_t tree, std::uint32_t index = 0) {
  const std::uint32_t further =
      packed_trees::trees + named_children + (index - 1) * packed_trees::trees + tree;
  return static_cast<direction>(index == 0 ? tree : further);
}
/// Directions of a member's children, those of the first tree before those of the second.
[[nodiscard]] constexpr direction packed_child(std::uint32_t index) {
  return static_cast<direction>(packed_trees::trees + index);
}

/// The latest trees. A run needs the same trees for wiring, arguments and estimates, and a sweep needs them
/// for each size; a search takes up to seconds. Not for several threads at a time.
class tree_memory {
 public:
  using search_fn = std::function<tree_pair(const pattern_context&, bool up)>;

  /// The trees of this machine, members and root; `search` is called only when they are not known. Everything
  /// that a search can depend on is compared, every key of the machine's configuration included, so results
  /// do not depend on earlier calls.
  [[nodiscard]] tree_pair trees_of(const pattern_context& c, bool up, const search_fn& search);
  [[nodiscard]] std::uint64_t searches() const { return searches_; }

  /// The only such object of a process. Searches are pure functions, so all runs can share it.
  [[nodiscard]] static tree_memory& of_process();

 private:
  struct question {
    question(const pattern_context& c, bool up);
    bool operator==(const question&) const = default;

    std::string values;  ///< values of all keys, as a written configuration has them
    std::vector<config::instance_override> overrides;
    machine_shape shape;
    std::vector<pe_coord> members;
    std::uint32_t root{};
    bool shares_queue_pairs{}, up{};
  };
  struct known {
    question key;
    tree_pair found;
  };
  static constexpr std::size_t most_known = 16;

  std::deque<known> last_;
  std::uint64_t searches_{};
};

// Spanning trees of neighbors for an all-reduce: an equal share of the vector up each tree and down again. An
// edge of a tree carries as much in one direction as in the other, so trees that together use every pair of
// neighbors alike use all links at once, in both directions.

/// One to four trees, as many as make the busiest link the least busy; found exactly, by augmenting paths of
/// the matroid union (Edmonds, "Matroid partition", 1968; Roskind and Tarjan, "A note on finding
/// minimum-cost edge-disjoint spanning trees", 1985). Of several packings a shallow one: a fixed number of
/// attempts in orders of a fixed seed. Each tree has its root in its middle.
class spanning_trees {
 public:
  static constexpr std::uint32_t most_trees = 4;
  /// Packings that are searched for a shallow one: 1 to 64. `members`: 1 to 2^20.
  [[nodiscard]] static std::uint64_t attempts_for(std::uint64_t members);

  /// Throws the exceptions of neighbor_graph.
  explicit spanning_trees(const pattern_context& c);

  [[nodiscard]] std::uint32_t trees() const { return static_cast<std::uint32_t>(nodes_.size()); }
  [[nodiscard]] const std::vector<tree_node>& tree(std::uint32_t number) const { return nodes_[number]; }
  /// Load of the busiest link in each direction, as a share of the vector on the fastest link.
  [[nodiscard]] double busiest() const { return busiest_; }
  /// Edges from the root of a tree to its farthest member, at most.
  [[nodiscard]] std::uint32_t depth() const { return depth_; }

 private:
  std::vector<std::vector<tree_node>> nodes_;
  double busiest_{};
  std::uint32_t depth_{};
};

// Queue pairs of trees whose edges have one in each direction; the patterns made of them are in
// peer_patterns.hpp.

/// Directions of a rank over a list of trees, each given by its nodes: those of the first tree before those
/// of the second; of a tree the parent, where there is one, before the children.
class tree_directions {
 public:
  explicit tree_directions(const std::vector<const tree_node*>& places);
  [[nodiscard]] direction parent(std::uint32_t tree) const { return first_[tree]; }
  [[nodiscard]] direction child(std::uint32_t tree, std::uint32_t index) const;

 private:
  std::vector<direction> first_;
  std::vector<bool> has_parent_;
};

}  // namespace diecast::comm
