// SPDX-License-Identifier: Apache-2.0
#include "models/comm/packed_trees.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "models/comm/fitted_trees.hpp"
#include "models/comm/pe_trees.hpp"
#include "models/comm/peer_patterns.hpp"
#include "models/comm/tree_memory.hpp"
#include "models/config/placement.hpp"
#include "models/fabric/link_settings.hpp"
#include "models/fabric/sip_graph.hpp"

namespace diecast::comm {
namespace {

/// Queue pairs of an edge. With four slots each they cover an edge of four steps within a SIP, and most of a
/// way across two SIPs.
constexpr std::uint32_t widest_within = 2;
constexpr std::uint32_t widest_crossing = 4;
/// The search costs about members squared per attempt. Between SIPs what is shallow within one counts for
/// less, and as much is not spent on it.
std::uint64_t attempts_for(std::uint64_t members, bool alone) {
  const std::uint64_t most = alone ? 4096 : 512;
  return std::clamp<std::uint64_t>(256 * most / (members * members), 8, most);
}
/// What an edge costs, in steps from cube to cube: about 400 ns and 95 ns for each.
constexpr std::uint32_t edge_cost = 4;

/// Both trees within one SIP. Members are numbered from 0.
struct sip_trees {
  struct tree {
    std::uint32_t top{};                      ///< where the tree enters the SIP, or the root
    std::uint32_t feeder{};                   ///< who sends to the next SIP
    std::vector<std::uint32_t> above, depth;  ///< by member; above: the parent
  };
  /// What is better is smaller: sends and links beyond their limits, then the depth, the ways to the
  /// gateways, the sum of the depths.
  using score = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

  std::array<tree, packed_trees::trees> tree_of;
  score worth;
};

/// What a SIP's part of the trees has to do.
struct sip_task {
  packed_trees::flow to{};
  std::vector<pe_coord> members;
  std::optional<std::uint32_t> root;  ///< number of the root, when it is here
  /// By tree: the gateway towards the SIP that follows, and the one towards the SIP before.
  std::array<std::optional<cube_id>, packed_trees::trees> exit{}, entrance{};

  /// The trees go to no other SIP.
  [[nodiscard]] bool alone() const { return root && !exit[0] && !exit[1]; }
};

/// One attempt at trees: level by level, every member that may send takes the best of those that are left.
class attempt {
 public:
  attempt(const pattern_context& c, const sip_task& task, std::uint64_t number)
      : shape_(c.shape),
        task_(task),
        free_(task.alone() && number % 2 != 0),
        random_(search_seed + number),
        sends_(size(), packed_trees::trees) {
    steps_.assign(std::size_t{shape_.cubes_per_sip()} * ways, 0);
    const std::uint64_t per_cube =
        std::max<std::uint64_t>(1, task.members.size() / std::max(1U, shape_.cubes_per_sip()));
    const std::uint64_t lanes =
        std::min(config::lanes_of_edge(c.config, true).size(), config::lanes_of_edge(c.config, false).size());
    lanes_ = static_cast<std::uint32_t>(std::min(per_cube, lanes));
    for (sip_trees::tree& t : found_.tree_of) {
      t.above.assign(size(), nobody);
      t.depth.assign(size(), nobody);
    }
  }

  sip_trees run() {
    plant();
    for (std::uint32_t level = 1; !complete(); ++level) {
      bool grown = false;
      while (grow(level)) grown = true;
      if (!grown && level > deepest()) force();
    }
    rate();
    return std::move(found_);
  }

 private:
  static constexpr std::uint32_t ways = 4;  ///< sides of a cube

  struct choice {
    std::tuple<std::uint32_t, bool, std::size_t, std::uint32_t, std::uint64_t> rank;
    std::uint32_t child{};
  };

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(task_.members.size()); }
  [[nodiscard]] bool covers(std::uint32_t t, std::uint32_t m) const {
    return found_.tree_of[t].depth[m] != nobody;
  }
  [[nodiscard]] bool complete(std::uint32_t t) const { return in_tree_[t].size() == size(); }
  [[nodiscard]] bool complete() const { return complete(0) && complete(1); }
  [[nodiscard]] std::uint32_t deepest() const {
    std::uint32_t most = 0;
    for (std::uint32_t t = 0; t < packed_trees::trees; ++t) {
      for (const std::uint32_t m : in_tree_[t]) most = std::max(most, found_.tree_of[t].depth[m]);
    }
    return most;
  }

  /// Steps from cube to cube that the vector takes between a member and one below it.
  [[nodiscard]] std::vector<std::size_t> way_between(std::uint32_t above, std::uint32_t below) const {
    return way_between(task_.members[above].cube, task_.members[below].cube);
  }
  [[nodiscard]] std::vector<std::size_t> way_between(cube_id above, cube_id below) const {
    return task_.to == packed_trees::flow::down ? way(above, below) : way(below, above);
  }
  /// Along x first, as packets go.
  [[nodiscard]] std::vector<std::size_t> way(cube_id a, cube_id b) const {
    std::uint32_t x = shape_.cube_x(a), y = shape_.cube_y(a);
    std::vector<std::size_t> steps;
    const auto step = [&](std::size_t direction) {
      steps.push_back(std::size_t{shape_.cube_at(x, y).value} * ways + direction);
    };
    for (; x < shape_.cube_x(b); ++x) step(0);
    for (; x > shape_.cube_x(b); --x) step(1);
    for (; y < shape_.cube_y(b); ++y) step(2);
    for (; y > shape_.cube_y(b); --y) step(3);
    return steps;
  }

  /// The best new child of `giver`; none when every way is full, unless `forced`.
  std::optional<choice> best_child(std::uint32_t t, std::uint32_t giver, bool forced) {
    std::optional<choice> best;
    for (std::uint32_t m = 0; m < size(); ++m) {
      if (covers(t, m)) continue;
      const std::vector<std::size_t> way = way_between(giver, m);
      std::uint32_t busiest = 0;
      for (const std::size_t s : way) busiest = std::max(busiest, steps_[s]);
      const std::uint32_t beyond = busiest < lanes_ ? 0 : busiest + 1 - lanes_;
      if (beyond > 0 && !forced) continue;
      const std::size_t far = free_ && way.size() <= 2 ? 1 : way.size();
      const choice found{{beyond, sends_[m] == 0, far, busiest, random_()}, m};
      if (!best || found.rank < best->rank) best = found;
    }
    return best;
  }

  void add_top(std::uint32_t t, std::uint32_t m) {
    found_.tree_of[t].top = found_.tree_of[t].feeder = m;
    found_.tree_of[t].depth[m] = 0;
    in_tree_[t].push_back(m);
  }
  void adopt(std::uint32_t t, std::uint32_t giver, std::uint32_t child) {
    sip_trees::tree& tree = found_.tree_of[t];
    tree.above[child] = giver;
    tree.depth[child] = tree.depth[giver] + 1;
    in_tree_[t].push_back(child);
    use_send(giver);
    for (const std::size_t s : way_between(giver, child)) ++steps_[s];
  }
  void use_send(std::uint32_t m) {
    if (sends_[m] > 0) {
      --sends_[m];
    } else {
      ++sends_beyond_;
    }
  }

  /// The root has a child in each tree; elsewhere the trees enter at two members next to the gateway: a way
  /// between SIPs is long, and on a shorter one the slots of a queue pair carry more. These feed the next
  /// SIP.
  void plant() {
    for (std::uint32_t t = 0; t < packed_trees::trees; ++t) {
      add_top(t, task_.root ? *task_.root : nearest(*task_.entrance[t], t));
      if (task_.root && size() > 1) {
        const std::uint32_t first = first_child(t);
        adopt(t, *task_.root, first);
        found_.tree_of[t].feeder = first;
      }
      if (task_.exit[t]) {
        const cube_id feeder = task_.members[found_.tree_of[t].feeder].cube;
        use_send(found_.tree_of[t].feeder);
        if (task_.root) {
          for (const std::size_t s : way_between(feeder, *task_.exit[t])) ++steps_[s];
        }
        fed_ += apart(found_.tree_of[t].feeder, *task_.exit[t]);
      }
    }
  }
  /// The root's child; where the tree goes to another SIP, one next to the gateway, another in each tree when
  /// there are enough: what goes on from there shares no lanes with the trees of this SIP.
  std::uint32_t first_child(std::uint32_t t) {
    if (task_.exit[t]) {
      for (std::uint32_t place = 0; place < size(); ++place) {
        const std::uint32_t m = nearest(*task_.exit[t], place);
        const bool taken = t > 0 && size() > packed_trees::trees && m == found_.tree_of[0].feeder;
        if (m != *task_.root && !taken) return m;
      }
    }
    return best_child(t, *task_.root, true)->child;
  }
  /// Steps between a member and a cube.
  [[nodiscard]] std::uint32_t apart(std::uint32_t member, cube_id cube) const {
    const auto distance = [](std::uint32_t a, std::uint32_t b) { return a < b ? b - a : a - b; };
    const cube_id at = task_.members[member].cube;
    return distance(shape_.cube_x(at), shape_.cube_x(cube)) +
           distance(shape_.cube_y(at), shape_.cube_y(cube));
  }
  /// The member in place `number` by distance from a cube, or the last one.
  [[nodiscard]] std::uint32_t nearest(cube_id cube, std::uint32_t number) const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> order;
    for (std::uint32_t m = 0; m < size(); ++m) order.emplace_back(apart(m, cube), m);
    std::sort(order.begin(), order.end());
    return order[std::min(number, size() - 1)].second;
  }

  /// Gives one member of each tree a child above `level`; false when nobody can have one.
  bool grow(std::uint32_t level) {
    bool grown = false;
    for (std::uint32_t t = 0; t < packed_trees::trees; ++t) {
      for (std::size_t i = 0; i < in_tree_[t].size() && !complete(t); ++i) {
        const std::uint32_t m = in_tree_[t][i];
        if (sends_[m] == 0 || found_.tree_of[t].depth[m] >= level) continue;
        const auto child = best_child(t, m, false);
        if (!child) continue;
        adopt(t, m, child->child);
        grown = true;
        break;
      }
    }
    return grown;
  }

  /// One more member of a tree, beyond a limit.
  void force() {
    const std::uint32_t t = complete(0) ? 1 : 0;
    const auto& m = in_tree_[t];
    const auto before = [this](std::uint32_t a, std::uint32_t b) { return sends_[a] > sends_[b]; };
    // Not the root while there are others: it feeds the first child with all that it can send.
    const auto first = m.begin() + (task_.root && m.size() > 1 ? 1 : 0);
    const std::uint32_t giver = *std::min_element(first, m.end(), before);
    adopt(t, giver, best_child(t, giver, true)->child);
  }

  /// The dearest way to a member: edges and the steps they take.
  [[nodiscard]] std::uint32_t farthest() const {
    std::uint32_t most = 0;
    for (const sip_trees::tree& t : found_.tree_of) {
      for (std::uint32_t m = 0; m < size(); ++m) {
        std::uint32_t cost = 0;
        for (std::uint32_t at = m; t.above[at] != nobody; at = t.above[at]) {
          cost += edge_cost + static_cast<std::uint32_t>(way_between(t.above[at], at).size());
        }
        most = std::max(most, cost);
      }
    }
    return most;
  }

  void rate() {
    std::uint32_t overloaded = 0, sum = 0;
    for (const std::uint32_t s : steps_) overloaded = std::max(overloaded, s > lanes_ ? s - lanes_ : 0);
    for (const sip_trees::tree& t : found_.tree_of) {
      for (const std::uint32_t d : t.depth) sum += d;
    }
    found_.worth = {sends_beyond_, overloaded, task_.alone() ? farthest() : deepest(), fed_, sum};
  }

  const machine_shape& shape_;
  const sip_task& task_;
  bool free_{};  ///< children two steps away are as good as neighbors: trees that are less deep
  std::mt19937_64 random_;
  std::vector<std::uint32_t> sends_;  ///< what each member may still send, in halves of the vector
  std::vector<std::uint32_t> steps_;  ///< halves that cross from a cube, by cube and way
  /// Flows that a step takes. One per rank of a cube: two that share a lane, though it can carry both, hold
  /// up each other's senders (measured on 4 x 4 cubes at 1 MiB: 30.8 us when shared, 22.3 us when not).
  std::uint32_t lanes_{};
  std::uint32_t sends_beyond_{};
  std::uint32_t fed_{};  ///< steps from those who feed other SIPs to the gateways
  std::array<std::vector<std::uint32_t>, packed_trees::trees> in_tree_;  ///< in the order in which they came
  sip_trees found_;
};

sip_trees search(const pattern_context& c, const sip_task& task) {
  std::optional<sip_trees> best;
  for (std::uint64_t i = 0; i < attempts_for(task.members.size(), task.alone()); ++i) {
    sip_trees found = attempt(c, task, i).run();
    if (!best || found.worth < best->worth) best = std::move(found);
  }
  return *best;
}

/// Where packets leave a SIP for another; those from there arrive at the same place, or near it.
class gateways {
 public:
  explicit gateways(const config::machine_config& c) {
    std::vector<problem> problems;  // problems of the pod; reported when its topology was made
    graph_ = fabric::join_sips(c, problems);
    std::vector<bool> off;  // packets go around these
    for (const auto& link : fabric::resolve_links(c, graph_, problems).sip_links)
      off.push_back(!link.enabled);
    fabric::route_sips(graph_, c, off, problems);
  }
  [[nodiscard]] cube_id towards(std::uint32_t from, std::uint32_t to) const {
    const std::uint16_t link = graph_.next_link(from, to);
    if (link == fabric::no_link)
      throw std::logic_error(fmt::format("broadcast trees: no route from SIP {} to SIP {}", from, to));
    return graph_.links[link].leaves.cube;
  }

 private:
  fabric::sip_graph graph_;
};

/// Ranks of each SIP, in the order in which SIPs first occur.
std::vector<std::vector<std::uint32_t>> ranks_by_sip(const group& g) {
  std::vector<std::vector<std::uint32_t>> sips;
  for (std::uint32_t r = 0; r < g.members.size(); ++r) {
    const auto same = [&](const std::vector<std::uint32_t>& s) {
      return g.members[s.front()].sip == g.members[r].sip;
    };
    const auto at = std::find_if(sips.begin(), sips.end(), same);
    if (at == sips.end()) {
      sips.push_back({r});
    } else {
      at->push_back(r);
    }
  }
  return sips;
}

/// Greedy trees, SIP by SIP: for any machine.
tree_pair grown_trees(const pattern_context& c, packed_trees::flow to) {
  tree_pair grown;
  const auto n = static_cast<std::uint32_t>(c.members.members.size());
  const std::uint32_t root = root_of(c);
  for (auto& nodes : grown) nodes.resize(n);
  std::vector<std::vector<std::uint32_t>> sips = ranks_by_sip(c.members);
  const auto has_root = [&](const auto& s) { return std::find(s.begin(), s.end(), root) != s.end(); };
  std::rotate(sips.begin(), std::find_if(sips.begin(), sips.end(), has_root), sips.end());

  // The first tree visits SIPs 0, 1, 2, ..., the second 0, n - 1, n - 2, ...
  const std::size_t last = sips.size() - 1;
  const auto sip_of = [&](std::size_t s) { return c.members.members[sips[s].front()].sip.value; };
  const gateways between(c.config);
  std::vector<sip_trees> found;
  for (std::size_t s = 0; s <= last; ++s) {
    sip_task task;
    task.to = to;
    for (const std::uint32_t r : sips[s]) task.members.push_back(c.members.members[r]);
    if (s == 0) {
      task.root =
          static_cast<std::uint32_t>(std::find(sips[0].begin(), sips[0].end(), root) - sips[0].begin());
    }
    const std::size_t n_sips = last + 1;
    const std::array<std::size_t, packed_trees::trees> after{(s + 1) % n_sips, (s + last) % n_sips};
    for (std::uint32_t t = 0; t < packed_trees::trees; ++t) {
      if (after[t] != 0) task.exit[t] = between.towards(sip_of(s), sip_of(after[t]));
      if (s != 0) task.entrance[t] = between.towards(sip_of(s), sip_of(after[1 - t]));
    }
    found.push_back(search(c, task));
  }

  const auto join = [&grown](std::uint32_t t, std::uint32_t above, std::uint32_t below) {
    grown[t][below].parent = above;
    grown[t][above].children.push_back(below);
  };
  for (std::uint32_t t = 0; t < packed_trees::trees; ++t) {
    // A SIP's feeder sends there first: the way beyond is the longer one.
    for (std::size_t s = 1; s <= last; ++s) {
      const std::size_t before = t == 0 ? s - 1 : (s + 1) % (last + 1);
      join(t, sips[before][found[before].tree_of[t].feeder], sips[s][found[s].tree_of[t].top]);
    }
    for (std::size_t s = 0; s <= last; ++s) {
      const std::vector<std::uint32_t>& above = found[s].tree_of[t].above;
      for (std::uint32_t m = 0; m < above.size(); ++m) {
        if (above[m] != nobody) join(t, sips[s][above[m]], sips[s][m]);
      }
    }
  }
  return grown;
}

/// Fitted ones, unless links are shared in them and grown ones are better. On the way up an edge has one
/// queue pair, and fitted ones are no faster (measured).
tree_pair best_trees(const pattern_context& c, packed_trees::flow to) {
  if (to == packed_trees::flow::up) return grown_trees(c, to);
  std::optional<tree_pair> fitted = fitted_trees(c);
  if (!fitted) return grown_trees(c, to);
  const tree_task machine = task_of_all(c);
  const tree_cost cost = cost_of(machine, *fitted);
  if (cost.shared_ns == 0) return *fitted;
  tree_pair grown = grown_trees(c, to);
  return cost_of(machine, grown).total_ns < cost.total_ns ? grown : *fitted;
}

}  // namespace

packed_trees::packed_trees(const pattern_context& c, flow to) {
  const auto search = [](const pattern_context& asked, bool up) {
    return shares_cubes(asked.members) ? trees_over_pes(asked, up)
                                       : best_trees(asked, up ? flow::up : flow::down);
  };
  nodes_ = tree_memory::of_process().trees_of(c, to == flow::up, search);
  for (const pe_coord& m : c.members.members) sips_.push_back(m.sip);
  const auto fits = [&] {
    return packed_parent(packed_trees::trees - 1, std::max(within_, crossing_) - 1) <
               c.config.ipcq.queue_pairs &&
           most_child_directions() <= named_children;
  };
  if (c.shares_queue_pairs) return;
  within_ = widest_within;
  const bool one_sip = std::all_of(sips_.begin(), sips_.end(), [&](sip_id s) { return s == sips_.front(); });
  crossing_ = one_sip ? 1 : widest_crossing;
  while (crossing_ > 1 && !fits()) --crossing_;
  while (within_ > 1 && !fits()) --within_;
}

std::uint32_t packed_trees::child_directions(std::uint32_t rank, std::uint32_t used) const {
  std::uint32_t directions = 0;
  for (const auto& nodes : nodes_) {
    for (const std::uint32_t child : nodes[rank].children) directions += std::min(used, width(rank, child));
  }
  return directions;
}

std::uint32_t packed_trees::most_child_directions() const {
  constexpr std::uint32_t all = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t most = 0;
  for (std::uint32_t r = 0; r < sips_.size(); ++r) most = std::max(most, child_directions(r, all));
  return most;
}

std::uint32_t packed_trees::most_directions(std::uint32_t used) const {
  std::uint32_t most = 0;
  for (std::uint32_t r = 0; r < sips_.size(); ++r) {
    std::uint32_t directions = child_directions(r, used);
    for (const auto& nodes : nodes_) {
      if (nodes[r].parent) directions += std::min(used, width(*nodes[r].parent, r));
    }
    most = std::max(most, directions);
  }
  return most;
}

std::vector<edge> packed_tree_edges(const pattern_context& c) {
  const std::vector<pe_coord>& m = c.members.members;
  const packed_trees plan(c);
  std::vector<edge> edges;
  for (std::uint32_t r = 0; r < m.size(); ++r) {
    std::uint32_t index = 0;
    for (std::uint32_t t = 0; t < packed_trees::trees; ++t) {
      for (const std::uint32_t child : plan.node(t, r).children) {
        for (std::uint32_t i = 0; i < plan.width(r, child); ++i) {
          edges.push_back({m[r], packed_child(index++), m[child], false, packed_parent(t, i)});
        }
      }
    }
  }
  return edges;
}

std::vector<std::string> packed_tree_names() {
  std::vector<std::string> names{"parent", "parent2"};
  for (std::uint32_t i = 0; i < named_children; ++i) names.push_back(fmt::format("child{}", i));
  for (std::uint32_t i = 1; i < widest_crossing; ++i) {
    for (const char* tree : {"parent", "parent2"}) names.push_back(fmt::format("{}_{}", tree, i));
  }
  return names;
}

}  // namespace diecast::comm
