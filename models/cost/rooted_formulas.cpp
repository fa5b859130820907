// SPDX-License-Identifier: Apache-2.0
// One to all, all to one; trees of messages, and trees in the network.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "models/comm/network_tree.hpp"
#include "models/comm/packed_trees.hpp"
#include "models/comm/pe_trees.hpp"
#include "models/comm/root_trees.hpp"
#include "models/cost/formula_base.hpp"
#include "models/cost/tree_cost.hpp"
#include "models/cost/tree_walk.hpp"

namespace diecast::cost {
namespace {

using comm::collective;

class rooted : public formula_base {
 public:
  using formula_base::formula_base;

  [[nodiscard]] estimate chain() const {
    const exchange e{n_ / 2, r_.what == collective::reduce, 2};
    const double slot = std::min(e.bytes, step_.slot_bytes());
    const double hop = mean_on_ring({slot, e.reduces, 2});
    return {(p_ - 1) * hop + step_.more_slots_of(e.bytes) * slowest_on_ring(e) + end_ns(),
            std::max(interface_ns(n_), laps_ns({comm::ring_order(t_.shape(), r_.ranks)}, n_ / 2, true))};
  }
  /// Slot by slot along the binomial tree; the root of broadcast sends every slot to all its children, that
  /// of reduce adds up theirs.
  [[nodiscard]] estimate binomial() const {
    const bool reduces = r_.what == collective::reduce;
    const std::vector<comm::tree_node> nodes = binomial_nodes(!reduces);
    const tree_walk walk(step_, r_.ranks, nodes);
    const double slot = std::min(n_, step_.slot_bytes());
    const double children = std::bit_width(p_ - 1U);
    return {(reduces ? walk.sums_up(n_, interface_ns(slot)) : slots_down(walk, children)) +
                step_.first_use_ns(half_registers) + end_ns(),
            interface_ns(n_ * children)};
  }

  /// Gather and scatter along the binomial tree: over each edge the blocks of those beyond it.
  [[nodiscard]] estimate binomial_blocks() const {
    const bool gathers = r_.what == collective::gather;
    const std::vector<comm::tree_node> nodes = binomial_nodes(!gathers);
    const tree_walk walk(step_, r_.ranks, nodes);
    const auto beyond = [this](std::uint32_t r) {
      const std::uint32_t v = from_root(r);
      return std::min(v & (~v + 1), p_ - v) * part(d(p_));
    };
    double wires = 0;
    for (std::uint32_t far = 1; far < p_; far *= 2) {
      const auto peer = [this, far](std::uint32_t r) -> std::optional<std::uint32_t> {
        const std::uint32_t v = from_root(r);
        if (v % (2 * far) != 0 || v + far >= p_) return std::nullopt;
        return (r + far) % p_;
      };
      wires += peers_ns(peer, std::min(far, p_ - far) * part(d(p_)));
    }
    return {(gathers ? walk.up(beyond, false) : walk.down(beyond)) + step_.first_use_ns(half_registers) +
                end_ns(),
            std::max(interface_ns(n_), wires)};
  }
  /// The root with all others, block after block.
  [[nodiscard]] estimate linear() const {
    const double own = part(d(p_));
    const double slot = std::min(own, step_.slot_bytes());
    const double slots = step_.slots_of(own);
    const double far =
        dearest([this](std::uint32_t r) { return std::optional((r + p_ / 2) % p_); }, {own, false, 1, false});
    const double at_root = r_.what == collective::gather ? step_.take_ns(slot, false) + step_.wake_ns()
                                                         : step_.send_ns() + step_.register_ns();
    std::vector<way> ways;
    for (std::uint32_t r = 0; r < p_; ++r) {
      ways.push_back(r_.what == collective::gather ? way{r, r_.root} : way{r_.root, r});
    }
    return {step_.first_use_ns(half_registers * (p_ - 1)) + far + (p_ - 2.0) * slots * at_root + end_ns(),
            std::max(interface_ns(own * (p_ - 1.0)), ways_ns(ways, own))};
  }

  /// Half of the vector down each of two trees, slot by slot.
  [[nodiscard]] estimate broadcast_trees() const {
    const double slot = std::min(n_ / 2, step_.slot_bytes());
    const double busy = 2 * (step_.take_ns(slot, false) + step_.send_ns() + step_.register_ns());
    const node_pair trees = nodes_of(
        [this](std::uint32_t which, std::uint32_t r) { return comm::root_tree(r, p_, r_.root, which); });
    const std::vector<way> ways = ways_down(trees);
    return {first_down(trees, slot, false) + met_ns(trees, slot) +
                step_.more_slots_of(n_ / 2) * std::max(busy, ways_ns(ways, slot)) +
                step_.first_use_ns(4 * half_registers) + end_ns(),
            ways_ns(ways, n_ / 2)};
  }

  /// The same down shallow trees fitted to the links. A slot goes whole from rank to rank, unless it is the
  /// only one, which goes in halves; over PEs it meets others at every hop. The core is faster than the wire.
  [[nodiscard]] estimate packed_trees() const {
    const comm::packed_trees plan({c_, t_.shape(), r_.ranks, r_.root});
    const node_pair trees =
        nodes_of([&plan](std::uint32_t which, std::uint32_t r) { return plan.node(which, r); });
    const double more = step_.more_slots_of(n_ / 2);
    const double slot = std::min(n_ / 2, step_.slot_bytes());
    const double busy = 2 * (step_.hold_ns(slot) + step_.send_ns() + step_.register_ns());
    const bool in_halves = more < 1 && slot > step_.slot_bytes() / 2;
    const double piece = in_halves ? slot / 2 : slot;
    // An edge uses as many of its queue pairs as it has slots to fill.
    const double used = std::max(1.0, std::floor((more + 1) / d(c_.ipcq.n_slots)));
    const std::uint32_t directions =
        plan.most_directions(static_cast<std::uint32_t>(std::min(used, d(c_.ipcq.queue_pairs))));
    return {first_down(trees, piece, c_.ipcq.rings == config::buffer_kind::tcm) + met_ns(trees, piece) +
                (more + (in_halves ? 0.5 : 0)) * std::max(busy, two_slots_ns(slot)) +
                step_.first_use_ns(half_registers * directions) + end_ns(),
            interface_ns(n_)};
  }

  /// Half of the vector up each of two such trees.
  [[nodiscard]] estimate packed_reduce() const {
    const comm::packed_trees plan({c_, t_.shape(), r_.ranks, r_.root}, comm::packed_trees::flow::up);
    const node_pair trees =
        nodes_of([&plan](std::uint32_t which, std::uint32_t r) { return plan.node(which, r); });
    const double slot = std::min(n_ / 2, step_.slot_bytes());
    const double busy =
        std::max(2 * (step_.take_ns(slot, true) + step_.send_ns() + step_.register_ns()), two_slots_ns(slot));
    return {first_up(trees, slot) + step_.more_slots_of(n_ / 2) * busy +
                step_.first_use_ns(4 * half_registers) + end_ns(),
            interface_ns(n_)};
  }

  [[nodiscard]] estimate multicast() const { return tree_cost(t_, c_, r_, r_.root).multicast(); }
  [[nodiscard]] estimate reduction() const { return tree_cost(t_, c_, r_, r_.root).reduction(); }
  [[nodiscard]] estimate up_and_down() const {
    return tree_cost(t_, c_, r_, comm::central_rank(t_.shape(), r_.ranks)).both();
  }

 private:
  /// The first slot to all, then the others as the root sends them.
  [[nodiscard]] double slots_down(const tree_walk& walk, double children) const {
    const double slot = std::min(n_, step_.slot_bytes());
    const double busy = children * (step_.send_ns() + step_.register_ns());
    const double more = step_.more_slots_of(n_);
    return walk.down([slot](std::uint32_t) { return slot; }) +
           more * std::max(busy, interface_ns(children * slot));
  }
  /// Two trees, nodes by rank.
  using node_pair = std::array<std::vector<comm::tree_node>, 2>;
  template <class NodeOf>
  [[nodiscard]] node_pair nodes_of(const NodeOf& node_of) const {
    node_pair trees;
    for (std::uint32_t which = 0; which < trees.size(); ++which) {
      for (std::uint32_t r = 0; r < p_; ++r) trees[which].push_back(node_of(which, r));
    }
    return trees;
  }
  [[nodiscard]] std::vector<way> ways_down(const node_pair& trees) const {
    std::vector<way> ways;
    for (const auto& nodes : trees) {
      for (std::uint32_t r = 0; r < p_; ++r) {
        for (const std::uint32_t child : nodes[r].children) ways.emplace_back(r, child);
      }
    }
    return ways;
  }
  /// Until the last rank has the first bytes of both trees.
  [[nodiscard]] double first_down(const node_pair& trees, double bytes, bool is_handed_on) const {
    const auto all = [bytes](std::uint32_t) { return bytes; };
    double last = 0;
    for (const auto& nodes : trees) {
      const tree_walk walk(step_, r_.ranks, nodes);
      last = std::max(last, is_handed_on ? walk.handed_down(all) : walk.down(all));
    }
    return last;
  }
  /// Until the root has the sums of the first bytes of both trees.
  [[nodiscard]] double first_up(const node_pair& trees, double bytes) const {
    const auto all = [bytes](std::uint32_t) { return bytes; };
    double last = 0;
    for (const auto& nodes : trees) last = std::max(last, tree_walk(step_, r_.ranks, nodes).up(all, true));
    return last;
  }
  /// Between two pairs of slots where every rank gets one from each of two senders and sends two. On its own
  /// a slot takes d, and two that meet at a receiver share it, so that both senders lose by what they
  /// overlap. Trees over cubes are fitted so that none meet; over PEs slots come at any time of a period P:
  /// with probability 2 d / P another is there, and half of d is lost on average. A sender's two take P = 2
  /// (d + d^2 / P), so P = (1 + sqrt 3) d.
  [[nodiscard]] double two_slots_ns(double slot) const {
    return interface_ns(slot) * (comm::shares_cubes(r_.ranks) ? 1 + std::sqrt(3.0) : 2);
  }
  /// What slots on their way to the last rank lose to others that they meet, hop by hop.
  [[nodiscard]] double met_ns(const node_pair& trees, double slot) const {
    const std::uint32_t depth = std::max(comm::depth_of(trees[0]), comm::depth_of(trees[1]));
    return depth * (two_slots_ns(slot) / 2 - interface_ns(slot));
  }
  [[nodiscard]] std::uint32_t from_root(std::uint32_t rank) const { return (rank + p_ - r_.root) % p_; }
  /// The binomial tree of the root; the deepest subtree first where messages go down it.
  [[nodiscard]] std::vector<comm::tree_node> binomial_nodes(bool deepest_first) const {
    std::vector<comm::tree_node> nodes(p_);
    const auto rank = [this](std::uint32_t v) { return (v + r_.root) % p_; };
    for (std::uint32_t v = 0; v < p_; ++v) {
      comm::tree_node node = comm::binomial_tree(v, p_);
      if (node.parent) node.parent = rank(*node.parent);
      for (std::uint32_t& child : node.children) child = rank(child);
      if (deepest_first) std::reverse(node.children.begin(), node.children.end());
      nodes[rank(v)] = std::move(node);
    }
    return nodes;
  }
};

}  // namespace

std::vector<formula_row> rooted_formulas() {
  using f = rooted;
  return {
      {collective::broadcast, "ring_1d", formula_of(&f::chain)},
      {collective::broadcast, "binomial", formula_of(&f::binomial)},
      {collective::broadcast, "double_binary_tree", formula_of(&f::broadcast_trees)},
      {collective::broadcast, "packed_trees", formula_of(&f::packed_trees)},
      {collective::broadcast, "multicast", formula_of(&f::multicast)},
      {collective::reduce, "ring_1d", formula_of(&f::chain)},
      {collective::reduce, "packed_trees", formula_of(&f::packed_reduce)},
      {collective::gather, "binomial", formula_of(&f::binomial_blocks)},
      {collective::scatter, "binomial", formula_of(&f::binomial_blocks)},
      {collective::gather, "linear", formula_of(&f::linear)},
      {collective::scatter, "linear", formula_of(&f::linear)},
      {collective::reduce, "binomial", formula_of(&f::binomial)},
      {collective::reduce, "in_network", formula_of(&f::reduction)},
      {collective::all_reduce, "in_network", formula_of(&f::up_and_down)},
  };
}

}  // namespace diecast::cost
