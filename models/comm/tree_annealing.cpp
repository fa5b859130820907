// SPDX-License-Identifier: Apache-2.0
#include "models/comm/tree_annealing.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "models/comm/annealing.hpp"

namespace diecast::comm {
namespace {

constexpr std::uint32_t paired = 2;
constexpr std::uint32_t most_children = 2;  ///< most children of a member, in both trees together
constexpr std::uint8_t no_child = tree_task::none;

/// What a second sender on a link costs, ns: more than two edges, so that hardly any way is worth it. On the
/// one way to another SIP, which two halves of a vector fill, it is the worst.
constexpr std::uint32_t second_sender_ns = 1000, second_feeder_ns = 1500;
/// What a link costs that two flows of one sender share. Their slots leave one after the other, but one that
/// is held up holds up the other.
constexpr std::uint32_t second_flow_ns = 30;
/// And beside that, whatever it carries, a link that both of the root's take: what the root is late by,
/// everybody is.
constexpr std::uint32_t second_flow_of_root_ns = 100;
/// More than any tree's links and ways.
constexpr double forbidden_ns = 1e5;
/// Weight of the mean route to a member, beside the longest one.
constexpr double mean_weight = 0.3;

/// Uphill moves of so many ns are likely at first, and at the end.
constexpr double first_temperature = 600, last_temperature = 10;
constexpr std::uint32_t attempts = 4;
/// Moves of an attempt. A move costs about 25 ns for each member.
std::uint64_t moves_for(std::uint64_t members) {
  return std::min<std::uint64_t>(16'000 * members, 1'200 * members * members);
}

/// Who is where. Small, for a move is undone by copying it back.
struct placement {
  std::array<std::array<std::uint8_t, most_annealed>, paired> parent{};
  std::array<std::array<std::array<std::uint8_t, most_children>, most_annealed>, paired> child{};
};

/// A placement and what it costs.
class rated_trees {
 public:
  explicit rated_trees(const tree_task& task)
      : task_(task), used_(task.link_of.size()), from_(used_.size() * task.members) {
    for (std::uint32_t t = 0; t < paired; ++t) {
      at_.parent[t].fill(no_child);
      for (auto& c : at_.child[t]) c.fill(no_child);
    }
    rated_ = at_.parent;
  }

  [[nodiscard]] const placement& at() const { return at_; }
  placement& change() { return at_; }
  [[nodiscard]] std::uint32_t children(std::uint32_t t, std::uint32_t m) const {
    const auto& c = at_.child[t][m];
    return (c[0] != no_child ? 1U : 0U) + (c[1] != no_child ? 1U : 0U);
  }
  [[nodiscard]] std::uint32_t sends(std::uint32_t m) const { return children(0, m) + children(1, m); }

  /// Cost of the present trees; puts the leaf before other children, as the way beyond it is long.
  tree_cost cost() {
    follow_changes();
    farthest_ = sum_ = 0;
    for (std::uint32_t t = 0; t < paired; ++t) time_tree(t);
    const double mean = sum_ / (paired * (task_.members - 1.0));
    const auto top = [this](std::uint32_t t) { return at_.child[t][task_.root][0]; };
    const double forbidden = task_.tops_differ && top(0) == top(1) ? forbidden_ns : 0.0;
    const auto shared_ns = static_cast<double>(shared_ns_);
    return {forbidden + shared_ns + farthest_ + mean_weight * mean, farthest_, shared_ns};
  }

 private:
  struct use {
    std::uint32_t flows{}, senders{};
    std::int64_t shared_ns{};
  };

  [[nodiscard]] std::size_t edge(std::uint32_t above, std::uint32_t below) const {
    return std::size_t{above} * task_.members + below;
  }

  /// Two flows of one member to another SIP are one: their whole ways are the same.
  [[nodiscard]] std::uint8_t counted_parent(std::uint32_t t, std::uint32_t m) const {
    const std::uint8_t above = at_.parent[t][m];
    return t == 1 && m == task_.leaf && above == at_.parent[0][m] ? no_child : above;
  }
  /// Counts the flows of edges that have changed since the last time.
  void follow_changes() {
    for (std::uint32_t t = 0; t < paired; ++t) {
      for (std::uint32_t m = 0; m < task_.members; ++m) {
        const std::uint8_t before = rated_[t][m], now = counted_parent(t, m);
        if (before == now) continue;
        if (before != no_child) {
          for (const std::uint16_t l : task_.links[edge(before, m)]) remove(l, before);
        }
        if (now != no_child) {
          for (const std::uint16_t l : task_.links[edge(now, m)]) add(l, now);
        }
        rated_[t][m] = now;
      }
    }
  }
  void remove(std::uint16_t l, std::uint32_t sender) {
    --used_[l].flows;
    if (--from_[std::size_t{l} * task_.members + sender] == 0) --used_[l].senders;
    price(l);
  }
  void add(std::uint16_t l, std::uint32_t sender) {
    ++used_[l].flows;
    if (from_[std::size_t{l} * task_.members + sender]++ == 0) ++used_[l].senders;
    price(l);
  }
  /// After a flow has come or gone.
  void price(std::uint16_t l) {
    const auto& [fit, between_sips, narrow, alike] = task_.link_of[l];
    use& u = used_[l];
    const std::uint32_t senders = narrow ? u.flows : u.senders;
    const std::uint32_t others = senders > fit ? senders - fit : 0;
    const std::uint32_t own = u.flows - std::min(u.flows, std::max(senders, fit));
    const bool of_root = from_[std::size_t{l} * task_.members + task_.root] > 1;
    const std::uint32_t each =
        (between_sips ? others * second_feeder_ns : others * second_sender_ns + own * second_flow_ns) +
        (of_root ? second_flow_of_root_ns : 0);
    shared_ns_ += std::int64_t{alike} * each - u.shared_ns;
    u.shared_ns = std::int64_t{alike} * each;
  }

  /// A member sends a slot to one child after the other, the root those of both trees in turn.
  void time_tree(std::uint32_t t) {
    std::array<std::uint8_t, most_annealed> reached{};
    std::array<double, most_annealed> when{};
    std::uint32_t known = 1;
    reached[0] = static_cast<std::uint8_t>(task_.root);
    when[0] = t * task_.slot_ns;
    for (std::uint32_t i = 0; i < known; ++i) {
      const std::uint8_t m = reached[i];
      auto& children = at_.child[t][m];
      if (children[1] != no_child && children[1] == task_.leaf) std::swap(children[0], children[1]);
      double leaves = when[i];
      for (const std::uint8_t below : children) {
        if (below == no_child) continue;
        const double there = leaves + task_.edge_ns[edge(m, below)];
        leaves += task_.slot_ns;
        reached[known] = below;
        when[known++] = there;
        farthest_ = std::max(farthest_, there + (below == task_.leaf ? task_.beyond_ns : 0));
        sum_ += there;
      }
    }
  }

  const tree_task& task_;
  placement at_;
  std::array<std::array<std::uint8_t, most_annealed>, paired> rated_;  ///< parents whose flows are counted
  std::vector<use> used_;                                              ///< by link
  std::vector<std::uint8_t> from_;                                     ///< flows by link and sender
  std::int64_t shared_ns_{};                                           ///< sum over all links
  double farthest_{}, sum_{};
};

/// One attempt.
class tree_annealing {
 public:
  tree_annealing(const tree_task& task, std::uint64_t seed) : task_(task), dice_(seed), now_(task) {}

  tree_pair run() {
    plant();
    keep(cost());
    anneal(*this, {first_temperature, last_temperature, moves_for(task_.members)}, dice_);
    return nodes_of(best_);
  }

  bool change() {
    before_ = now_.at();
    return move();
  }
  double cost() { return now_.cost().total_ns; }
  void undo() { now_.change() = before_; }
  void keep(double cost) {
    if (cost >= least_) return;
    least_ = cost;
    best_ = now_.at();
  }

 private:
  std::uint32_t below(std::uint32_t end) { return dice_.below(end); }
  std::uint32_t any_but_root() {
    const std::uint32_t m = below(task_.members - 1);
    return m < task_.root ? m : m + 1;
  }

  /// Binary trees, level by level: who comes late in the one comes early in the other, so that half of the
  /// members are inner nodes of each. The leaf comes last in both.
  void plant() {
    std::vector<std::uint32_t> members;
    for (std::uint32_t m = 0; m < task_.members; ++m) {
      if (m != task_.root && m != task_.leaf) members.push_back(m);
    }
    for (std::uint32_t t = 0; t < paired; ++t) {
      std::vector<std::uint32_t> senders{task_.root};
      std::size_t sender = 0;
      const auto place = [&](std::uint32_t m) {
        while (now_.children(t, senders[sender]) == (sender == 0 ? 1 : most_children)) ++sender;
        add(t, senders[sender], m);
        senders.push_back(m);
      };
      for (const std::uint32_t m : members) place(m);
      if (task_.leaf != tree_task::none) place(task_.leaf);
      std::reverse(members.begin(), members.end());
    }
  }

  [[nodiscard]] bool is_below(std::uint32_t t, std::uint32_t top, std::uint32_t m) const {
    for (std::uint32_t at = m; at != no_child; at = now_.at().parent[t][at]) {
      if (at == top) return true;
    }
    return false;
  }
  void add(std::uint32_t t, std::uint32_t above, std::uint32_t m) {
    placement& p = now_.change();
    auto& children = p.child[t][above];
    children[children[0] == no_child ? 0 : 1] = static_cast<std::uint8_t>(m);
    p.parent[t][m] = static_cast<std::uint8_t>(above);
  }

  /// False when the move drawn is none; then nothing has changed.
  bool move() {
    const std::uint32_t t = below(paired), a = any_but_root(), b = any_but_root();
    if (a == b) return false;
    switch (below(5)) {
      case 0: return give_to(t, a, b);
      case 1: return exchange_subtrees(t, a, b);
      case 2: return exchange_in_both(a, b);
      case 3: return may_exchange(t, a, b) && exchange_places(t, a, b);
      default: return turn(t, a);
    }
  }

  /// `m`, and what is below it, becomes a child of `above`.
  bool give_to(std::uint32_t t, std::uint32_t m, std::uint32_t above) {
    if (above == task_.leaf || now_.sends(above) == most_children || is_below(t, m, above)) return false;
    placement& p = now_.change();
    auto& children = p.child[t][p.parent[t][m]];
    if (children[0] == m) children[0] = children[1];
    children[1] = no_child;
    add(t, above, m);
    if (below(2) != 0) turn(t, above);
    return true;
  }
  bool exchange_subtrees(std::uint32_t t, std::uint32_t a, std::uint32_t b) {
    if (is_below(t, a, b) || is_below(t, b, a)) return false;
    placement& p = now_.change();
    auto& above_a = p.parent[t][a];
    auto& above_b = p.parent[t][b];
    if (above_a == above_b) return turn(t, above_a);
    const auto put = [&](std::uint32_t above, std::uint32_t old, std::uint32_t now) {
      auto& children = p.child[t][above];
      children[children[0] == old ? 0 : 1] = static_cast<std::uint8_t>(now);
    };
    put(above_a, a, b);
    put(above_b, b, a);
    std::swap(above_a, above_b);
    return true;
  }
  bool exchange_in_both(std::uint32_t a, std::uint32_t b) {
    if (a == task_.leaf || b == task_.leaf) return false;
    return exchange_places(0, a, b) && exchange_places(1, a, b);
  }
  /// Nobody would send more than it may.
  [[nodiscard]] bool may_exchange(std::uint32_t t, std::uint32_t a, std::uint32_t b) const {
    const std::uint32_t of_a = now_.children(t, a), of_b = now_.children(t, b);
    if ((a == task_.leaf && of_b > 0) || (b == task_.leaf && of_a > 0)) return false;
    return now_.sends(a) - of_a + of_b <= most_children && now_.sends(b) - of_b + of_a <= most_children;
  }
  bool exchange_places(std::uint32_t t, std::uint32_t a, std::uint32_t b) {
    placement& p = now_.change();
    const auto other = [&](std::uint8_t m) {
      return m == a ? static_cast<std::uint8_t>(b) : m == b ? static_cast<std::uint8_t>(a) : m;
    };
    const std::uint8_t above_a = p.parent[t][a], above_b = p.parent[t][b];
    for (std::uint8_t& c : p.child[t][above_a]) c = other(c);
    if (above_b != above_a) {
      for (std::uint8_t& c : p.child[t][above_b]) c = other(c);
    }
    std::swap(p.child[t][a], p.child[t][b]);
    p.parent[t][a] = other(above_b);
    p.parent[t][b] = other(above_a);
    for (const std::uint32_t m : {a, b}) {
      for (const std::uint8_t c : p.child[t][m]) {
        if (c != no_child) p.parent[t][c] = static_cast<std::uint8_t>(m);
      }
    }
    return true;
  }
  /// The other child first.
  bool turn(std::uint32_t t, std::uint32_t m) {
    auto& children = now_.change().child[t][m];
    if (children[1] == no_child) return false;
    std::swap(children[0], children[1]);
    return true;
  }

  [[nodiscard]] tree_pair nodes_of(const placement& p) const {
    tree_pair found;
    for (std::uint32_t t = 0; t < paired; ++t) {
      found[t].resize(task_.members);
      for (std::uint32_t m = 0; m < task_.members; ++m) {
        if (m != task_.root) found[t][m].parent = p.parent[t][m];
        for (const std::uint8_t c : p.child[t][m]) {
          if (c != no_child) found[t][m].children.push_back(c);
        }
      }
    }
    return found;
  }

  const tree_task& task_;
  annealing_random dice_;
  rated_trees now_;
  placement before_, best_;
  double least_{std::numeric_limits<double>::infinity()};
};

}  // namespace

tree_cost cost_of(const tree_task& task, const tree_pair& pair) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  rated_trees rated(task);
  placement& p = rated.change();
  for (std::uint32_t m = 0; m < task.members; ++m) {
    if (pair[0][m].children.size() + pair[1][m].children.size() > most_children)
      return {infinite, infinite, 0};
    for (std::uint32_t t = 0; t < paired; ++t) {
      const tree_node& node = pair[t][m];
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        p.child[t][m][i] = static_cast<std::uint8_t>(node.children[i]);
      }
      if (node.parent) p.parent[t][m] = static_cast<std::uint8_t>(*node.parent);
    }
  }
  return rated.cost();
}

tree_pair anneal_trees(const tree_task& task) {
  tree_pair best;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t i = 0; i < attempts; ++i) {
    tree_pair found = tree_annealing(task, i + 1).run();
    const double cost = cost_of(task, found).total_ns;
    if (cost < least) {
      least = cost;
      best = std::move(found);
    }
  }
  return best;
}

}  // namespace diecast::comm
