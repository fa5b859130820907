// SPDX-License-Identifier: Apache-2.0
// Two trees below one root, fitted to the machine: half of a vector down each, and no member sends more than
// the vector (over PEs of several SIPs one may send three halves). Grown from member to member
// (grown_trees.hpp), then made better by a search (tree_search.hpp). (Edmonds, "Edge-disjoint branchings",
// 1973, says when such trees exist; Zhao et al., "ForestColl: Throughput-Optimal Collective Communications on
// Heterogeneous Network Fabrics", 2024, builds schedules of them.)
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "models/comm/tree_search.hpp"

namespace diecast::comm {

/// Equal machines and members have equal trees; the last ones are remembered.
class packed_trees {
 public:
  static constexpr std::uint32_t trees = 2;
  /// The direction of the vector: packets do not come back on the path they went, so trees that fit one of
  /// them need not fit the other.
  enum class flow : std::uint8_t { down, up };

  explicit packed_trees(const pattern_context& c, flow to = flow::down);

  [[nodiscard]] const tree_node& node(std::uint32_t tree, std::uint32_t rank) const {
    return nodes_[tree][rank];
  }
  /// Queue pairs of an edge, side by side: the slots of one do not cover the path of a large message. Fewer
  /// where directions or ipcq.queue_pairs do not suffice, down to one; one where patterns share queue pairs.
  [[nodiscard]] std::uint32_t width(std::uint32_t above, std::uint32_t below) const {
    return crosses(above, below) ? crossing_ : within_;
  }
  /// Its ends are in two SIPs.
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
/// Its children's, those of the first tree before those of the second.
[[nodiscard]] constexpr direction packed_child(std::uint32_t index) {
  return static_cast<direction>(packed_trees::trees + index);
}

/// The latest trees. A run needs the same trees for wiring, arguments and estimates, and a sweep needs them
/// for each size; a search takes up to seconds. Not for several threads at a time.
class tree_memory {
 public:
  using search_fn = std::function<tree_pair(const pattern_context&, bool up)>;

  /// What the search finds for this machine, members and root; asked only when it is not known. Everything
  /// that a search can depend on is compared, every key of the machine's configuration included, so that who
  /// asked before cannot matter.
  [[nodiscard]] tree_pair trees_of(const pattern_context& c, bool up, const search_fn& search);
  [[nodiscard]] std::uint64_t searches() const { return searches_; }

  /// The memory of the process. Searches are pure functions: there is nothing to share it out by.
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
    question asked;
    tree_pair found;
  };
  static constexpr std::size_t most_known = 16;

  std::deque<known> last_;
  std::uint64_t searches_{};
};

}  // namespace diecast::comm
