// SPDX-License-Identifier: Apache-2.0
#include "models/comm/pe_annealing.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "models/abi/address.hpp"
#include "models/abi/wire.hpp"
#include "models/comm/annealing.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::comm {
namespace {

/// Time of a member for a message: event and arming for the next.
constexpr double firmware_ns = 100;

/// What trees are worth, less is better: ns that a slot needs from the root to the farthest member, and for
/// a sender beyond the first on a link: each holds up the other, and what waits behind it,
constexpr double per_shared = 300;
/// a half of the vector that a member passes on beyond two, which slows down the whole tree,
constexpr double per_beyond = 3000;
/// parts of the ways to the farthest member of each tree, and of the mean ways.
constexpr double share_of_each = 0.2, share_of_mean = 0.5;

/// By how much a state may be worse than the one before it, ns, in the first moves and in the last.
constexpr double hottest = 300, coldest = 3;
/// Moves for each member, and a bound on moves x members.
constexpr std::uint64_t moves_each = 800, most_work = 30'000'000;
/// Any will do.

/// The way of messages from one member to another.
struct way {
  double ns{};  ///< idle latency of a packet
  std::vector<std::uint32_t> links;
};

/// Ways that have been asked for.
class way_table {
 public:
  way_table(const config::machine_config& c, const std::vector<pe_coord>& members, bool up)
      : c_(c), topology_(c), up_(up), members_(members.size()) {
    for (const pe_coord& p : members) {
      at_.push_back(topology_.locate(abi::encode({p.sip, p.cube, abi::region::tcm, p.pe.value, 0})));
    }
    flits_ = abi::flits_of(static_cast<std::uint32_t>(c.noc.max_packet_bytes),
                           static_cast<std::uint32_t>(c.noc.flit_bytes));
  }
  [[nodiscard]] const fabric::topology& topology() const { return topology_; }
  [[nodiscard]] const way& between(std::uint32_t above, std::uint32_t below) {
    const auto [at, is_new] = ways_.try_emplace(std::uint64_t{above} * members_ + below);
    if (is_new) at->second = find(up_ ? below : above, up_ ? above : below);
    return at->second;
  }

 private:
  [[nodiscard]] way find(std::uint32_t from, std::uint32_t to) const {
    way w;
    for (const fabric::route_hop& h : topology_.trace(at_[from], at_[to])) {
      const fabric::link_kind kind = topology_.links()[h.link].kind;
      if (kind != fabric::link_kind::inject && kind != fabric::link_kind::eject) w.links.push_back(h.link);
    }
    w.ns = fabric::idle_latency(topology_, c_, at_[from], at_[to], abi::traffic_class::comm, flits_).ns();
    return w;
  }

  const config::machine_config& c_;
  fabric::topology topology_;
  bool up_;
  std::uint64_t members_;
  std::uint32_t flits_;
  std::vector<abi::node_address> at_;
  std::map<std::uint64_t, way> ways_;
};

/// Who sends over which links.
class link_users {
 public:
  explicit link_users(std::size_t links) : senders_(links) {}
  void add(const way& w, std::uint32_t sender) {
    for (const std::uint32_t l : w.links) {
      shared_ -= shared_on(l);
      senders_[l].push_back(sender);
      shared_ += shared_on(l);
    }
  }
  void remove(const way& w, std::uint32_t sender) {
    for (const std::uint32_t l : w.links) {
      shared_ -= shared_on(l);
      auto& s = senders_[l];
      *std::find(s.begin(), s.end(), sender) = s.back();
      s.pop_back();
      shared_ += shared_on(l);
    }
  }
  /// Senders beyond the first, of all links; flows beyond two of a sender count like one.
  [[nodiscard]] std::uint32_t shared() const { return shared_; }

 private:
  [[nodiscard]] std::uint32_t shared_on(std::uint32_t link) const {
    const auto& s = senders_[link];
    std::uint32_t others = 0;
    for (std::size_t i = 1; i < s.size(); ++i) {
      others += std::find(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(i), s[i]) ==
                        s.begin() + static_cast<std::ptrdiff_t>(i)
                    ? 1
                    : 0;
    }
    return others;
  }

  std::vector<std::vector<std::uint32_t>> senders_;
  std::uint32_t shared_{};
};

class pe_annealing {
 public:
  pe_annealing(const config::machine_config& c, const std::vector<pe_coord>& members, std::uint32_t root,
               bool up, pe_tree_pair& found)
      : n_(static_cast<std::uint32_t>(members.size())),
        root_(root),
        up_(up),
        found_(found),
        ways_(c, members, up),
        users_(ways_.topology().links().size()),
        dice_(search_seed),
        slot_ns_(static_cast<double>(c.ipcq.slot_bytes) /
                 (static_cast<double>(c.noc.flit_bytes) * c.noc.clock_ghz)),
        height_(n_),
        sum_(n_),
        size_(n_) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> cubes;
    for (std::uint32_t m = 0; m < n_; ++m) cubes[{members[m].sip.value, members[m].cube.value}].push_back(m);
    cube_of_.resize(n_);
    for (auto& [where, in] : cubes) {
      for (const std::uint32_t m : in) cube_of_[m] = static_cast<std::uint32_t>(cubes_.size());
      cubes_.push_back(std::move(in));
    }
    for (auto& ns : ns_) ns.resize(n_);
  }

  void run() {
    for (std::uint32_t t = 0; t < pe_tree_pair::trees; ++t) {
      for (std::uint32_t m = 0; m < n_; ++m) {
        const std::uint32_t above = found_.tree_of[t].above[m];
        if (above != nobody) use(t, above, m);
      }
      latency_[t] = latency_of(t);
    }
    anneal(*this, {hottest, coldest, std::min(moves_each * n_, most_work / n_)}, dice_);
    for (std::uint32_t t = 0; t < pe_tree_pair::trees; ++t) order_children(t);
  }

  bool change() {
    draw_changes();
    if (changes_.empty()) return false;
    latency_before_ = latency_;
    for (const edge_change& c : changes_) part(c.tree, c.child);
    for (const edge_change& c : changes_) join(c.tree, c.to, c.child);
    for (std::uint32_t t = 0; t < pe_tree_pair::trees; ++t) {
      if (std::any_of(changes_.begin(), changes_.end(), [t](const edge_change& c) { return c.tree == t; })) {
        latency_[t] = latency_of(t);
      }
    }
    return true;
  }
  [[nodiscard]] double cost() const {
    std::size_t beyond = 0;
    for (std::uint32_t m = 0; m < n_; ++m)
      beyond += std::max<std::size_t>(pe_tree_pair::trees, found_.sends(m)) - pe_tree_pair::trees;
    return per_beyond * static_cast<double>(beyond) + per_shared * users_.shared() +
           std::max(latency_[0].most, latency_[1].most) +
           share_of_each * (latency_[0].most + latency_[1].most) +
           share_of_mean * (latency_[0].mean + latency_[1].mean);
  }
  void undo() {
    for (const edge_change& c : changes_) part(c.tree, c.child);
    for (const edge_change& c : changes_) join(c.tree, c.from, c.child);
    latency_ = latency_before_;
  }
  void keep(double /*cost*/) {}

 private:
  /// From the root to a member, ns.
  struct latency {
    double most{}, mean{};
  };
  /// A child of a tree from one parent to another. Those of a move leave trees trees.
  struct edge_change {
    std::uint32_t tree{}, child{}, from{}, to{};
  };

  [[nodiscard]] std::uint32_t above(std::uint32_t t, std::uint32_t m) const {
    return found_.tree_of[t].above[m];
  }
  [[nodiscard]] const std::vector<std::uint32_t>& below(std::uint32_t t, std::uint32_t m) const {
    return found_.tree_of[t].below[m];
  }
  [[nodiscard]] std::uint32_t sender(std::uint32_t upper, std::uint32_t lower) const {
    return up_ ? lower : upper;
  }
  [[nodiscard]] bool is_above(std::uint32_t t, std::uint32_t a, std::uint32_t m) const {
    for (; m != nobody; m = above(t, m)) {
      if (m == a) return true;
    }
    return false;
  }
  void join(std::uint32_t t, std::uint32_t upper, std::uint32_t lower) {
    found_.tree_of[t].above[lower] = upper;
    found_.tree_of[t].below[upper].push_back(lower);
    use(t, upper, lower);
  }
  void use(std::uint32_t t, std::uint32_t upper, std::uint32_t lower) {
    const way& w = ways_.between(upper, lower);
    ns_[t][lower] = w.ns;
    users_.add(w, sender(upper, lower));
  }
  void part(std::uint32_t t, std::uint32_t lower) {
    const std::uint32_t upper = above(t, lower);
    auto& b = found_.tree_of[t].below[upper];
    b.erase(std::find(b.begin(), b.end(), lower));
    found_.tree_of[t].above[lower] = nobody;
    users_.remove(ways_.between(upper, lower), sender(upper, lower));
  }

  [[nodiscard]] latency latency_of(std::uint32_t t) {
    order_.assign(1, root_);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      for (const std::uint32_t child : below(t, order_[i])) order_.push_back(child);
    }
    for (std::size_t i = order_.size(); i-- > 0;) {
      const std::uint32_t m = order_[i];
      height_[m] = sum_[m] = 0;
      size_[m] = 1;
      const auto& children = below(t, m);
      for (const std::uint32_t child : children) {
        // Sent to before this one: those with more below them.
        double place = 1;
        for (const std::uint32_t other : children) place += is_before(t, other, child) ? 1 : 0;
        const double ns = firmware_ns + place * slot_ns_ + ns_[t][child];
        height_[m] = std::max(height_[m], ns + height_[child]);
        sum_[m] += sum_[child] + size_[child] * ns;
        size_[m] += size_[child];
      }
    }
    return {height_[root_], sum_[root_] / size_[root_]};
  }
  /// Order of two children. Precondition: their heights are known.
  [[nodiscard]] bool is_before(std::uint32_t t, std::uint32_t a, std::uint32_t b) const {
    if (a == b) return false;
    const double first = ns_[t][a] + height_[a], second = ns_[t][b] + height_[b];
    return first != second ? first > second : a < b;
  }
  void order_children(std::uint32_t t) {
    (void)latency_of(t);
    for (std::uint32_t m = 0; m < n_; ++m) {
      auto& children = found_.tree_of[t].below[m];
      std::sort(children.begin(), children.end(),
                [&](std::uint32_t a, std::uint32_t b) { return is_before(t, a, b); });
    }
  }

  [[nodiscard]] std::uint32_t draw(std::size_t end) { return dice_.below(end); }
  [[nodiscard]] std::uint32_t mate_of(std::uint32_t m) {
    const auto& cube = cubes_[cube_of_[m]];
    return cube[draw(cube.size())];
  }

  void draw_changes() {
    changes_.clear();
    switch (draw(5)) {
      case 0: return exchange_parents();
      case 1: return exchange_members(0, pe_tree_pair::trees);
      case 2: {
        const std::uint32_t t = draw(pe_tree_pair::trees);
        return exchange_members(t, t + 1);
      }
      case 3: return give_away();
      default: return trade_children();
    }
  }

  /// Two of a cube get each other's parents.
  void exchange_parents() {
    const std::uint32_t t = draw(pe_tree_pair::trees), a = draw(n_), b = mate_of(a);
    const std::uint32_t to_a = above(t, b), to_b = above(t, a);
    if (to_a == to_b || to_a == nobody || to_b == nobody || is_above(t, a, b) || is_above(t, b, a)) return;
    changes_ = {{t, a, to_b, to_a}, {t, b, to_a, to_b}};
  }
  /// Two of a cube are each other in some trees.
  void exchange_members(std::uint32_t first, std::uint32_t end) {
    const std::uint32_t a = draw(n_), b = mate_of(a);
    if (a == b || a == root_ || b == root_) return;
    if (end - first < pe_tree_pair::trees) {
      const std::uint32_t other = 1 - first;
      if (below(first, b).size() + below(other, a).size() > pe_tree_pair::trees) return;
      if (below(first, a).size() + below(other, b).size() > pe_tree_pair::trees) return;
    }
    const auto other = [a, b](std::uint32_t m) { return m == a ? b : m == b ? a : m; };
    for (std::uint32_t t = first; t < end; ++t) {
      std::vector<std::uint32_t> children{a, b};
      for (const std::uint32_t m : {a, b}) {
        for (const std::uint32_t child : below(t, m)) {
          if (child != a && child != b) children.push_back(child);
        }
      }
      // The edge from above(child) to child becomes one between the others of both.
      for (const std::uint32_t child : children) {
        changes_.push_back({t, other(child), above(t, other(child)), other(above(t, child))});
      }
    }
  }
  /// A child goes to another of its parent's cube, who has room.
  void give_away() {
    const std::uint32_t t = draw(pe_tree_pair::trees), child = draw(n_), from = above(t, child);
    if (from == nobody || from == root_) return;
    const std::uint32_t to = mate_of(from);
    if (to == from || to == root_ || found_.sends(to) >= pe_tree_pair::trees || is_above(t, child, to))
      return;
    changes_ = {{t, child, from, to}};
  }
  /// Two of a cube: a child of one tree for one of the other.
  void trade_children() {
    const std::uint32_t t = draw(pe_tree_pair::trees), child = draw(n_), from = above(t, child);
    if (from == nobody || from == root_) return;
    const std::uint32_t to = mate_of(from);
    if (to == from || to == root_ || below(1 - t, to).empty()) return;
    const std::uint32_t back = below(1 - t, to)[draw(below(1 - t, to).size())];
    if (is_above(t, child, to) || is_above(1 - t, back, from)) return;
    changes_ = {{t, child, from, to}, {1 - t, back, to, from}};
  }

  std::uint32_t n_, root_;
  bool up_;
  pe_tree_pair& found_;
  way_table ways_;
  link_users users_;
  annealing_random dice_;
  double slot_ns_;
  std::vector<std::vector<std::uint32_t>> cubes_;  ///< members
  std::vector<std::uint32_t> cube_of_;
  std::array<latency, pe_tree_pair::trees> latency_, latency_before_;
  std::array<std::vector<double>, pe_tree_pair::trees>
      ns_;  ///< by member: of a packet between it and who is above
  std::vector<std::uint32_t> order_;
  std::vector<double> height_, sum_, size_;  ///< below a member: farthest, sum of the ways, members
  std::vector<edge_change> changes_;
};

}  // namespace

void anneal_pes(const config::machine_config& c, const std::vector<pe_coord>& members, std::uint32_t root,
                bool up, pe_tree_pair& found) {
  pe_annealing(c, members, root, up, found).run();
}

}  // namespace diecast::comm
