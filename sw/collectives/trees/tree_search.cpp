// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "models/abi/address.hpp"
#include "models/abi/wire.hpp"
#include "models/fabric/topology.hpp"
#include "sw/collectives/trees/packed_trees.hpp"

namespace diecast::comm {
namespace {

/// Halves of the vector that a member passes on at most.
constexpr std::size_t most_sends = 2;

/// Cost of a second sender on a link, ns: more than two edges, so that few paths are that much shorter. On
/// the only link to another SIP, which two halves of a vector fill, it is the highest.
constexpr std::uint32_t second_sender_ns = 700, second_feeder_ns = 1000;
/// Cost of a link that two flows of one sender share. Their slots leave one after the other, but a delay of
/// one delays the other.
constexpr std::uint32_t second_flow_ns = 20;
/// Additional cost of a link that both flows of the root use: a delay of the root delays all members.
constexpr std::uint32_t second_flow_of_root_ns = 70;
/// A half of the vector that a member passes on beyond two slows down the whole tree.
constexpr double beyond_ns = 10'000;
/// Weight of the mean path to a member, in addition to the longest one.
constexpr double mean_weight = 0.5;

/// By how much a state may be worse than the previous one, ns, in the first moves and in the last.
constexpr double hottest_ns = 300, coldest_ns = 5;
/// Moves for each member, and a bound on moves x members.
constexpr std::uint64_t moves_each = 16'000, most_moves = 400'000, most_work = 12'000'000;

/// From a slot at a member to its first packet on the way to a child, without the DMA's start and the read of
/// the memory: an interrupt, the call, and the register accesses to learn of a message and to forward it.
constexpr std::uint64_t registers_to_pass_on = 2;

/// A link of the machine, as messages use it, and the members that send over it.
struct used_link {
  std::uint32_t fit{1};  ///< flows that it carries side by side at full speed
  bool between_sips{};   ///< every path to another SIP takes it
  bool narrow{};         ///< slower than a sender: two flows of one sender alternate as those of two do
  std::vector<std::uint32_t> senders;
  std::uint32_t price_ns{};
};

/// The path of messages from one member to another.
struct route {
  double ns{};  ///< time from a slot at one member to the slot at the other, on an idle machine
  /// Links of the path without those at its ends, which are as busy as the inner ones. Where a member
  /// receives from another SIP its link counts: so the two trees enter a SIP at two members.
  std::vector<std::uint32_t> links;
};

/// The links of a machine, and the paths that have been requested.
class path_table {
 public:
  path_table(const pattern_context& c, bool up)
      : c_(c.config), topology_(c.config), up_(up), n_(c.members.members.size()) {
    for (const pe_coord& p : c.members.members)
      at_.push_back(topology_.locate(abi::encode({p.sip, p.cube, abi::region::tcm, p.pe.value, 0})));
    const auto& noc = c_.noc;
    const std::uint64_t packet = std::min<std::uint64_t>(noc.max_packet_bytes, c_.ipcq.slot_bytes);
    flits_ = abi::flits_of(static_cast<std::uint32_t>(packet), static_cast<std::uint32_t>(noc.flit_bytes));
    const std::uint64_t packets = (c_.ipcq.slot_bytes + packet - 1) / packet;
    slot_ns_ = static_cast<double>(packets * flits_) / noc.clock_ghz;
    const std::uint64_t cycles = c_.pe.dma_startup_cycles + c_.pe.tcm_read_cycles + c_.pe.interrupt_cycles +
                                 c_.ccl.kernel_call_cycles + registers_to_pass_on * c_.pe.register_cycles;
    // The last packet of a slot ends the path; the others are in front of it.
    beside_ns_ = (static_cast<double>(cycles) - flits_) / noc.clock_ghz + slot_ns_;
    const double interface = static_cast<double>(noc.flit_bytes) * noc.clock_ghz;
    for (const fabric::link& l : topology_.links())
      links_.push_back({std::max(1U, static_cast<std::uint32_t>(l.gbytes_s / interface)),
                        leads_to_sips(l),
                        l.gbytes_s < interface,
                        {}});
  }

  [[nodiscard]] double slot_ns() const { return slot_ns_; }
  [[nodiscard]] std::vector<used_link>& links() { return links_; }
  [[nodiscard]] const route& between(std::uint32_t above, std::uint32_t below) {
    const auto [at, is_new] = paths_.try_emplace(std::uint64_t{above} * n_ + below);
    if (is_new && up_) at->second = find(at_[below], at_[above], false);
    if (is_new && !up_) at->second = find(at_[above], at_[below], at_[above].sip != at_[below].sip);
    return at->second;
  }

 private:
  [[nodiscard]] route find(const abi::node_address& from, const abi::node_address& to,
                           bool enters_sip) const {
    route w;
    const std::vector<fabric::route_hop> hops = topology_.trace(from, to);
    for (std::size_t i = 1; i + (enters_sip ? 0 : 1) < hops.size(); ++i) w.links.push_back(hops[i].link);
    w.ns = beside_ns_ + fabric::idle_latency(topology_, c_, from, to, abi::traffic_class::comm, flits_).ns();
    return w;
  }
  /// A SIP link, or the port at either end of it.
  [[nodiscard]] bool leads_to_sips(const fabric::link& l) const {
    if (l.kind == fabric::link_kind::sip) return true;
    if (l.kind != fabric::link_kind::inject && l.kind != fabric::link_kind::eject) return false;
    const auto& all = topology_.layout(sip_id{l.sip}, cube_id{l.cube}).terminals;
    return all[l.kind == fabric::link_kind::inject ? l.from : l.port].kind == fabric::terminal_kind::sip_port;
  }

  const config::machine_config& c_;
  fabric::topology topology_;
  bool up_;
  std::uint64_t n_;
  std::uint32_t flits_{};
  double slot_ns_{}, beside_ns_{};
  std::vector<abi::node_address> at_;
  std::vector<used_link> links_;
  std::unordered_map<std::uint64_t, route> paths_;
};

class tree_improver {
 public:
  tree_improver(const pattern_context& c, bool up, tree_pair& found)
      : members_(c.members.members),
        n_(static_cast<std::uint32_t>(members_.size())),
        root_(root_of(c)),
        up_(up),
        found_(found),
        paths_(c, up),
        random_(search_seed),
        height_(n_),
        sum_(n_),
        size_(n_) {
    gather_mates();
    for (std::uint32_t t = 0; t < trees_of_pair; ++t) {
      path_[t].resize(n_);
      for (std::uint32_t m = 0; m < n_; ++m)
        if (found_[t][m].parent) use(t, m);
      latency_[t] = latency_of(t);
    }
  }

  void run() {
    const std::uint64_t moves = std::min({moves_each * n_, most_moves, most_work / n_});
    const double cooling = std::pow(coldest_ns / hottest_ns, 1.0 / static_cast<double>(moves));
    double least = cost(), heat = hottest_ns;
    for (std::uint64_t i = 0; i < moves; ++i, heat *= cooling) {
      draw_changes();
      if (changes_.empty()) continue;
      const auto before = latency_;
      apply(&edge_change::to);
      const double now = cost();
      if (now <= least || chance() < std::exp((least - now) / heat)) {
        least = now;
      } else {
        apply(&edge_change::from);
        latency_ = before;
      }
    }
    for (std::uint32_t t = 0; t < trees_of_pair; ++t) {
      (void)latency_of(t);
      for (tree_node& node : found_[t])
        std::ranges::sort(node.children,
                          [&](std::uint32_t a, std::uint32_t b) { return is_before(t, a, b); });
    }
  }

 private:
  /// Time from the root to a member, ns.
  struct latency {
    double most{}, mean{};
  };
  /// A child of a tree moves from one parent to another. After all changes of a move both are still trees.
  struct edge_change {
    std::uint32_t tree{}, child{}, from{}, to{};
  };

  /// Finds the mates of each member: those that may take its place.
  void gather_mates() {
    std::map<std::pair<sip_id, cube_id>, std::vector<std::uint32_t>> cubes;
    std::map<sip_id, std::vector<std::uint32_t>> sips;
    for (std::uint32_t m = 0; m < n_; ++m) {
      cubes[{members_[m].sip, members_[m].cube}].push_back(m);
      sips[members_[m].sip].push_back(m);
    }
    mates_.resize(n_);
    for (std::uint32_t m = 0; m < n_; ++m)
      mates_[m] = cubes.size() < n_ ? cubes[{members_[m].sip, members_[m].cube}] : sips[members_[m].sip];
  }

  [[nodiscard]] std::uint32_t above(std::uint32_t t, std::uint32_t m) const {
    return found_[t][m].parent.value_or(nobody);
  }
  [[nodiscard]] std::vector<std::uint32_t>& below(std::uint32_t t, std::uint32_t m) const {
    return found_[t][m].children;
  }
  [[nodiscard]] std::size_t sends(std::uint32_t m) const { return below(0, m).size() + below(1, m).size(); }
  [[nodiscard]] bool crosses(std::uint32_t t, std::uint32_t m) const {
    const std::uint32_t a = above(t, m);
    return a != nobody && members_[a].sip != members_[m].sip;
  }
  [[nodiscard]] bool is_above(std::uint32_t t, std::uint32_t a, std::uint32_t m) const {
    for (; m != nobody; m = above(t, m))
      if (m == a) return true;
    return false;
  }

  [[nodiscard]] std::uint32_t price_of(const used_link& l) const {
    const auto flows = static_cast<std::uint32_t>(l.senders.size());
    if (flows < 2) return 0;
    std::uint32_t senders = 0;
    for (auto s = l.senders.begin(); s != l.senders.end(); ++s)
      senders += std::find(l.senders.begin(), s, *s) == s;
    const bool of_root = std::ranges::count(l.senders, root_) > 1;
    if (l.narrow) senders = flows;
    const std::uint32_t others = senders > l.fit ? senders - l.fit : 0;
    const std::uint32_t own = flows - std::min(flows, std::max(senders, l.fit));
    return (l.between_sips ? others * second_feeder_ns : others * second_sender_ns + own * second_flow_ns) +
           (of_root ? second_flow_of_root_ns : 0);
  }
  template <class Change>
  void change_links(std::uint32_t t, std::uint32_t lower, const Change& change) {
    const std::uint32_t sender = up_ ? lower : above(t, lower);
    for (const std::uint32_t number : path_[t][lower]->links) {
      used_link& l = paths_.links()[number];
      change(l.senders, sender);
      shared_ns_ -= std::exchange(l.price_ns, price_of(l));
      shared_ns_ += l.price_ns;
    }
  }
  void use(std::uint32_t t, std::uint32_t lower) {
    path_[t][lower] = &paths_.between(above(t, lower), lower);
    if (sends(above(t, lower)) > most_sends) ++beyond_;
    change_links(t, lower, [](auto& senders, std::uint32_t s) { senders.push_back(s); });
  }
  void part(std::uint32_t t, std::uint32_t lower) {
    if (sends(above(t, lower)) > most_sends) --beyond_;
    std::erase(below(t, above(t, lower)), lower);
    change_links(t, lower, [](auto& senders, std::uint32_t s) {
      *std::ranges::find(senders, s) = senders.back();
      senders.pop_back();
    });
  }
  void apply(std::uint32_t edge_change::*end) {
    for (const edge_change& c : changes_) part(c.tree, c.child);
    for (const edge_change& c : changes_) {
      found_[c.tree][c.child].parent = c.*end;
      below(c.tree, c.*end).push_back(c.child);
      use(c.tree, c.child);
    }
    for (std::uint32_t t = 0; t < trees_of_pair; ++t) {
      const auto is_in = [t](const edge_change& c) { return c.tree == t; };
      if (end == &edge_change::to && std::ranges::any_of(changes_, is_in)) latency_[t] = latency_of(t);
    }
  }

  [[nodiscard]] double cost() const {
    return beyond_ns * beyond_ + static_cast<double>(shared_ns_) +
           std::max(latency_[0].most, latency_[1].most + paths_.slot_ns()) +
           mean_weight / trees_of_pair * (latency_[0].mean + latency_[1].mean);
  }
  [[nodiscard]] latency latency_of(std::uint32_t t) {
    order_.assign(1, root_);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto& children = below(t, order_[i]);
      order_.insert(order_.end(), children.begin(), children.end());
    }
    for (std::size_t i = order_.size(); i-- > 0;) {
      const std::uint32_t m = order_[i];
      height_[m] = sum_[m] = 0;
      size_[m] = 1;
      const auto& children = below(t, m);
      for (const std::uint32_t child : children) {
        double ns = path_[t][child]->ns;
        if (children.size() > 1)
          for (const std::uint32_t other : children) ns += is_before(t, other, child) ? paths_.slot_ns() : 0;
        height_[m] = std::max(height_[m], ns + height_[child]);
        sum_[m] += sum_[child] + size_[child] * ns;
        size_[m] += size_[child];
      }
    }
    return {height_[root_], sum_[root_] / size_[root_]};
  }
  /// Order of two children: those in another SIP first, then those with more below them. Precondition: their
  /// heights are known.
  [[nodiscard]] bool is_before(std::uint32_t t, std::uint32_t a, std::uint32_t b) const {
    if (a == b) return false;
    const auto key = [&](std::uint32_t m) {
      return std::tuple(!crosses(t, m), -path_[t][m]->ns - height_[m], m);
    };
    return key(a) < key(b);
  }

  [[nodiscard]] std::uint32_t draw(std::size_t end) { return static_cast<std::uint32_t>(random_() % end); }
  [[nodiscard]] double chance() { return static_cast<double>(random_() >> 11U) * 0x1p-53; }
  [[nodiscard]] std::uint32_t mate_of(std::uint32_t m) { return mates_[m][draw(mates_[m].size())]; }

  void draw_changes() {
    changes_.clear();
    const std::uint32_t t = draw(trees_of_pair);
    switch (draw(5)) {
      case 0: return exchange_parents(t);
      case 1: return exchange_members(0, trees_of_pair);
      case 2: return exchange_members(t, t + 1);
      case 3: return give_away(t);
      default: return trade_children(t);
    }
  }
  /// Exchanges the parents of two members.
  void exchange_parents(std::uint32_t t) {
    const std::uint32_t a = draw(n_), b = mate_of(a);
    const std::uint32_t to_a = above(t, b), to_b = above(t, a);
    if (to_a == to_b || to_a == nobody || to_b == nobody || is_above(t, a, b) || is_above(t, b, a)) return;
    changes_ = {{t, a, to_b, to_a}, {t, b, to_a, to_b}};
  }
  /// Exchanges the places of two members in some trees.
  void exchange_members(std::uint32_t first, std::uint32_t end) {
    const std::uint32_t a = draw(n_), b = mate_of(a);
    if (a == b || a == root_ || b == root_) return;
    if (end - first < trees_of_pair) {
      const std::uint32_t other = 1 - first;
      if (below(first, b).size() + below(other, a).size() > most_sends) return;
      if (below(first, a).size() + below(other, b).size() > most_sends) return;
    }
    const auto other = [a, b](std::uint32_t m) { return m == a ? b : m == b ? a : m; };
    for (std::uint32_t t = first; t < end; ++t) {
      // The edge from above(child) to child becomes one between the other() of each.
      const auto move = [&](std::uint32_t child) {
        changes_.push_back({t, other(child), above(t, other(child)), other(above(t, child))});
      };
      for (const std::uint32_t m : {a, b}) {
        move(m);
        for (const std::uint32_t child : below(t, m))
          if (child != a && child != b) move(child);
      }
    }
  }
  /// Moves a child to a mate of its parent that has room.
  void give_away(std::uint32_t t) {
    const std::uint32_t child = draw(n_), from = above(t, child);
    if (from == nobody || from == root_) return;
    const std::uint32_t to = mate_of(from);
    if (to == from || to == root_ || sends(to) >= most_sends || is_above(t, child, to)) return;
    changes_ = {{t, child, from, to}};
  }
  /// Two mates exchange a child of one tree for one of the other.
  void trade_children(std::uint32_t t) {
    const std::uint32_t child = draw(n_), from = above(t, child);
    if (from == nobody || from == root_) return;
    const std::uint32_t to = mate_of(from);
    if (to == from || to == root_ || below(1 - t, to).empty()) return;
    const std::uint32_t back = below(1 - t, to)[draw(below(1 - t, to).size())];
    if (is_above(t, child, to) || is_above(1 - t, back, from)) return;
    changes_ = {{t, child, from, to}, {1 - t, back, to, from}};
  }

  const std::vector<pe_coord>& members_;
  std::uint32_t n_, root_;
  bool up_;
  tree_pair& found_;
  path_table paths_;
  std::mt19937_64 random_;
  std::vector<std::vector<std::uint32_t>> mates_;  ///< by member, including itself
  std::int64_t shared_ns_{};                       ///< cost of links that flows share
  std::uint32_t beyond_{};                         ///< halves of the vector that members pass on beyond two
  std::array<latency, trees_of_pair> latency_;
  std::array<std::vector<const route*>, trees_of_pair> path_;  ///< by member: its path to the parent
  std::vector<std::uint32_t> order_;
  std::vector<double> height_, sum_, size_;  ///< below a member: farthest, sum of the paths, members
  std::vector<edge_change> changes_;
};

}  // namespace

void improve_trees(const pattern_context& c, bool up, tree_pair& trees) {
  if (c.members.members.size() > 2) tree_improver(c, up, trees).run();
}

}  // namespace diecast::comm
