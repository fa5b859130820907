// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "models/config/placement.hpp"
#include "models/fabric/link_settings.hpp"
#include "models/fabric/sip_graph.hpp"
#include "models/types/error.hpp"
#include "sw/collectives/trees/packed_trees.hpp"

namespace diecast::comm {
namespace {

using rank_list = std::vector<std::uint32_t>;

void join(std::vector<tree_node>& tree, std::uint32_t above, std::uint32_t below) {
  tree[below].parent = above;
  tree[above].children.push_back(below);
}

/// The task of a SIP's part of the trees.
struct sip_task {
  rank_list members;
  std::optional<std::uint32_t> root;  ///< the root, when it is here
  /// By tree: the gateway towards the SIP that follows, and the one towards the SIP before.
  std::array<std::optional<cube_id>, trees_of_pair> exit{}, entrance{};
};

/// Grows both trees within one SIP.
class sip_trees {
 public:
  sip_trees(const pattern_context& c, bool up, const sip_task& task, tree_pair& found)
      : shape_(c.shape),
        pes_(c.members.members),
        task_(task),
        up_(up),
        found_(found),
        sends_(pes_.size(), trees_of_pair) {
    steps_.assign(std::size_t{shape_.cubes_per_sip()} * sides, 0);
    for (auto& depth : depth_) depth.assign(pes_.size(), nobody);
    plant();
    for (std::uint32_t level = 1; !complete(0) || !complete(1); ++level) {
      bool grown = false;
      while (grow(level)) grown = true;
      if (!grown && level > deepest()) force();
    }
  }
  /// Where a tree enters the SIP, or the root.
  [[nodiscard]] std::uint32_t top(std::uint32_t t) const { return in_tree_[t].front(); }
  /// The member that sends to the next SIP.
  [[nodiscard]] std::uint32_t feeder(std::uint32_t t) const { return feeder_[t]; }

 private:
  static constexpr std::uint32_t sides = 4;  ///< sides of a cube

  [[nodiscard]] std::size_t size() const { return task_.members.size(); }
  [[nodiscard]] bool complete(std::uint32_t t) const { return in_tree_[t].size() == size(); }
  [[nodiscard]] std::uint32_t deepest() const {
    std::uint32_t most = 0;
    for (std::uint32_t t = 0; t < trees_of_pair; ++t)
      for (const std::uint32_t m : in_tree_[t]) most = std::max(most, depth_[t][m]);
    return most;
  }

  /// Steps of the vector from cube to cube between two members, along x first, as routes are.
  [[nodiscard]] std::vector<std::size_t> path_between(cube_id above, cube_id below) const {
    const cube_id a = up_ ? below : above, b = up_ ? above : below;
    std::uint32_t x = shape_.cube_x(a), y = shape_.cube_y(a);
    std::vector<std::size_t> steps;
    const auto step = [&](std::size_t direction) {
      steps.push_back(std::size_t{shape_.cube_at(x, y).value} * sides + direction);
    };
    for (; x < shape_.cube_x(b); ++x) step(0);
    for (; x > shape_.cube_x(b); --x) step(1);
    for (; y < shape_.cube_y(b); ++y) step(2);
    for (; y > shape_.cube_y(b); --y) step(3);
    return steps;
  }
  void use_path(cube_id above, cube_id below) {
    for (const std::size_t s : path_between(above, below)) ++steps_[s];
  }

  /// The best new child of `giver`: over the least loaded steps, one that may still send, the nearest; none
  /// when every path is used, unless `forced`.
  [[nodiscard]] std::optional<std::uint32_t> best_child(std::uint32_t t, std::uint32_t giver,
                                                        bool forced) const {
    std::optional<std::tuple<std::uint32_t, bool, std::size_t, std::uint32_t>> best;
    for (const std::uint32_t m : task_.members) {
      if (depth_[t][m] != nobody) continue;
      const std::vector<std::size_t> path = path_between(pes_[giver].cube, pes_[m].cube);
      std::uint32_t busiest = 0;
      for (const std::size_t s : path) busiest = std::max(busiest, steps_[s]);
      if (busiest > 0 && !forced) continue;
      const std::tuple found{busiest, sends_[m] == 0, path.size(), m};
      if (!best || found < *best) best = found;
    }
    return best ? std::optional(std::get<3>(*best)) : std::nullopt;
  }
  void adopt(std::uint32_t t, std::uint32_t giver, std::uint32_t child) {
    join(found_[t], giver, child);
    depth_[t][child] = depth_[t][giver] + 1;
    in_tree_[t].push_back(child);
    use_send(giver);
    use_path(pes_[giver].cube, pes_[child].cube);
  }
  void use_send(std::uint32_t m) {
    if (sends_[m] > 0) --sends_[m];
  }

  /// The root has a child in each tree; other SIPs are entered at two members next to the gateway, because a
  /// path between SIPs is long and the rate of a queue pair is higher on a shorter one. These members send to
  /// the next SIP.
  void plant() {
    for (std::uint32_t t = 0; t < trees_of_pair; ++t) {
      feeder_[t] =
          task_.root ? *task_.root : by_distance(*task_.entrance[t])[std::min<std::size_t>(t, size() - 1)];
      depth_[t][feeder_[t]] = 0;
      in_tree_[t].push_back(feeder_[t]);
      if (task_.root && size() > 1) {
        const std::uint32_t first = first_child(t);
        adopt(t, *task_.root, first);
        feeder_[t] = first;
      }
      if (!task_.exit[t]) continue;
      use_send(feeder_[t]);
      if (task_.root) use_path(pes_[feeder_[t]].cube, *task_.exit[t]);
    }
  }
  /// The root's child; where the tree goes to another SIP, one next to the gateway, if possible another one
  /// in each tree, so that its messages to the next SIP share no ports with the trees of this SIP.
  [[nodiscard]] std::uint32_t first_child(std::uint32_t t) const {
    if (task_.exit[t]) {
      for (const std::uint32_t m : by_distance(*task_.exit[t])) {
        const bool taken = t > 0 && size() > trees_of_pair && m == feeder_[0];
        if (m != *task_.root && !taken) return m;
      }
    }
    return *best_child(t, *task_.root, true);
  }
  [[nodiscard]] rank_list by_distance(cube_id cube) const {
    rank_list order = task_.members;
    std::ranges::stable_sort(order, {},
                             [&](std::uint32_t pe) { return path_between(pes_[pe].cube, cube).size(); });
    return order;
  }

  /// Gives one member of each tree a child above `level`; false when no member can have one.
  bool grow(std::uint32_t level) {
    bool grown = false;
    for (std::uint32_t t = 0; t < trees_of_pair; ++t) {
      for (std::size_t i = 0; i < in_tree_[t].size() && !complete(t); ++i) {
        const std::uint32_t m = in_tree_[t][i];
        if (sends_[m] == 0 || depth_[t][m] >= level) continue;
        const auto child = best_child(t, m, false);
        if (!child) continue;
        adopt(t, m, *child);
        grown = true;
        break;
      }
    }
    return grown;
  }
  /// One more member of a tree, beyond a limit.
  void force() {
    const std::uint32_t t = complete(0) ? 1 : 0;
    // The root gets a further child only when no other member can: its first child uses its whole rate.
    const auto first = in_tree_[t].begin() + (task_.root && in_tree_[t].size() > 1 ? 1 : 0);
    const std::uint32_t giver = *std::max_element(
        first, in_tree_[t].end(), [this](std::uint32_t a, std::uint32_t b) { return sends_[a] < sends_[b]; });
    adopt(t, giver, *best_child(t, giver, true));
  }

  const machine_shape& shape_;
  const std::vector<pe_coord>& pes_;
  const sip_task& task_;
  bool up_;
  tree_pair& found_;
  rank_list sends_;  ///< halves of the vector that each member may still send
  rank_list steps_;  ///< halves that cross from a cube, by cube and direction
  std::array<rank_list, trees_of_pair> depth_;
  std::array<rank_list, trees_of_pair> in_tree_;  ///< in the order in which they were added
  std::array<std::uint32_t, trees_of_pair> feeder_{};
};

/// Place where packets leave a SIP for another; packets from there arrive at the same place, or near it.
class gateways {
 public:
  explicit gateways(const config::machine_config& c) {
    std::vector<problem> problems;  // problems of the pod; reported when its topology was made
    graph_ = fabric::join_sips(c, problems);
    std::vector<bool> off;  // routes avoid these links
    for (const auto& link : fabric::resolve_links(c, graph_, problems).sip_links)
      off.push_back(!link.enabled);
    fabric::route_sips(graph_, c, off, problems);
  }
  [[nodiscard]] cube_id towards(sip_id from, sip_id to) const {
    const std::uint16_t link = graph_.next_link(from.value, to.value);
    if (link == fabric::no_link)
      throw formatted<std::logic_error>("packed trees: no route from SIP {} to SIP {}", from.value, to.value);
    return graph_.links[link].leaves.cube;
  }

 private:
  fabric::sip_graph graph_;
};

/// Members grouped by key, in the order in which keys first occur. The root's key comes first, and the root
/// is the first of its group.
template <class Key>
std::vector<rank_list> members_by(const group& g, std::uint32_t root, const Key& key) {
  std::map<decltype(key(g.members[root])), std::size_t> number;
  std::vector<rank_list> lists;
  for (std::uint32_t r = 0; r < g.members.size(); ++r) {
    const auto [at, is_new] = number.try_emplace(key(g.members[r]), lists.size());
    if (is_new) lists.emplace_back();
    lists[at->second].push_back(r);
  }
  rank_list& own = lists[number.at(key(g.members[root]))];
  const auto at = std::ranges::find(own, root);
  std::rotate(own.begin(), at, at + 1);
  return lists;
}

/// Two trees over members that are alone on their cubes.
tree_pair trees_of_cubes(const pattern_context& c, bool up) {
  tree_pair found;
  for (auto& nodes : found) nodes.resize(c.members.members.size());
  const std::uint32_t root = root_of(c);
  std::vector<rank_list> sips = members_by(c.members, root, [](const pe_coord& p) { return p.sip; });
  const auto own = std::ranges::find_if(sips, [root](const rank_list& s) { return s[0] == root; });
  std::rotate(sips.begin(), own, sips.end());

  // The first tree visits SIPs 0, 1, 2, ..., the second 0, n - 1, n - 2, ...
  const std::size_t n = sips.size();
  const auto sip_of = [&](std::size_t s) { return c.members.members[sips[s].front()].sip; };
  const gateways between(c.config);
  std::vector<sip_trees> parts;
  std::vector<sip_task> tasks(n);
  for (std::size_t s = 0; s < n; ++s) {
    sip_task& task = tasks[s];
    task.members = sips[s];
    if (s == 0) task.root = root;
    const std::array<std::size_t, trees_of_pair> after{(s + 1) % n, (s + n - 1) % n};
    for (std::uint32_t t = 0; t < trees_of_pair; ++t) {
      if (after[t] != 0) task.exit[t] = between.towards(sip_of(s), sip_of(after[t]));
      if (s != 0) task.entrance[t] = between.towards(sip_of(s), sip_of(after[1 - t]));
    }
    parts.emplace_back(c, up, task, found);
  }
  for (std::size_t s = 1; s < n; ++s) {
    join(found[0], parts[s - 1].feeder(0), parts[s].top(0));
    join(found[1], parts[(s + 1) % n].feeder(1), parts[s].top(1));
  }
  return found;
}

/// Trees of members made of trees of cubes.
class planting {
 public:
  planting(const std::vector<rank_list>& cubes, const tree_pair& plan, std::uint32_t root,
           std::size_t members)
      : cubes_(cubes), plan_(plan), root_(root), left_(members, trees_of_pair), number_(members) {
    left_[root_] = 0;  // but for its first children
    for (const rank_list& members_of_cube : cubes_)
      for (std::uint32_t i = 0; i < members_of_cube.size(); ++i) number_[members_of_cube[i]] = i;
    for (std::uint32_t t = 0; t < trees_of_pair; ++t) {
      found_[t].resize(members);
      for (std::uint32_t cube = 0; cube < cubes_.size(); ++cube)
        if (!plan_[t][cube].parent) plant(t, cube, nobody);
    }
  }
  [[nodiscard]] const tree_pair& found() const { return found_; }

 private:
  /// The member of a cube in the tree that forwards next: first the tree's own members in the order in which
  /// they were added, then the others.
  [[nodiscard]] std::uint32_t giver(std::uint32_t t, const rank_list& in) const {
    if (in.size() == 1) return in.front();
    const auto worth = [&](std::uint32_t m) { return std::pair(left_[m] > 0, is_own(t, m)); };
    std::uint32_t best = in[in.front() == root_ ? 1 : 0];
    for (const std::uint32_t m : in)
      if (m != root_ && worth(m) > worth(best)) best = m;
    return best;
  }
  [[nodiscard]] bool is_own(std::uint32_t t, std::uint32_t m) const {
    return number_[m] % trees_of_pair == t;
  }
  void pass(std::uint32_t t, std::uint32_t above, std::uint32_t below) {
    join(found_[t], above, below);
    if (left_[above] > 0) --left_[above];
  }

  void plant(std::uint32_t t, std::uint32_t cube, std::uint32_t above) {
    // The tree's own members come first, because they forward.
    rank_list order = cubes_[cube];
    std::stable_partition(order.begin(), order.end(),
                          [&](std::uint32_t m) { return is_own(t, m) && left_[m] > 0; });
    std::stable_partition(order.begin(), order.end(), [&](std::uint32_t m) { return m == root_; });
    rank_list in{order.front()};
    if (above != nobody) pass(t, above, in.front());
    std::size_t next = 1;
    const auto take = [&](std::uint32_t from) {
      pass(t, from, order[next]);
      in.push_back(order[next++]);
    };
    // The root has one child: in its cube, if that has another member.
    if (in.front() == root_ && next < order.size()) take(root_);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> fed;  // cubes and the members that send to them
    for (const std::uint32_t b : plan_[t][cube].children) {
      fed.emplace_back(b, giver(t, in));
      if (left_[fed.back().second] > 0) --left_[fed.back().second];
      if (next < order.size()) take(giver(t, in));
    }
    while (next < order.size()) take(giver(t, in));
    for (const auto& [b, from] : fed) {
      ++left_[from];
      plant(t, b, from);
    }
  }

  const std::vector<rank_list>& cubes_;
  const tree_pair& plan_;
  std::uint32_t root_;
  rank_list left_;    ///< halves that a member may pass on
  rank_list number_;  ///< number of a member in its cube
  tree_pair found_;
};

}  // namespace

tree_pair grown_trees(const pattern_context& c, bool up) {
  const std::uint32_t root = root_of(c);
  const std::vector<rank_list> cubes =
      members_by(c.members, root, [](const pe_coord& p) { return std::pair(p.sip, p.cube); });
  if (cubes.size() == c.members.members.size()) return trees_of_cubes(c, up);
  group leaders{rank_set::cube, {}};
  std::uint32_t root_cube = 0;
  for (std::uint32_t i = 0; i < cubes.size(); ++i) {
    leaders.members.push_back(c.members.members[cubes[i].front()]);
    if (cubes[i].front() == root) root_cube = i;
  }
  const pattern_context of_cubes{c.config, c.shape, leaders, root_cube, true};
  tree_pair plan = trees_of_cubes(of_cubes, up);
  improve_trees(of_cubes, up, plan);
  return planting(cubes, plan, root, c.members.members.size()).found();
}

}  // namespace diecast::comm
