// SPDX-License-Identifier: Apache-2.0
#include "models/comm/pe_trees.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "models/comm/packed_trees.hpp"
#include "models/comm/pe_annealing.hpp"

namespace diecast::comm {
namespace {

/// Members of each cube, in the order of ranks; the root is the first of its cube.
std::vector<std::vector<std::uint32_t>> ranks_by_cube(const group& g, std::uint32_t root) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> cube_of;
  std::vector<std::vector<std::uint32_t>> cubes;
  for (std::uint32_t r = 0; r < g.members.size(); ++r) {
    const auto [at, is_new] =
        cube_of.try_emplace({g.members[r].sip.value, g.members[r].cube.value}, cubes.size());
    if (is_new) cubes.emplace_back();
    cubes[at->second].push_back(r);
  }
  for (auto& in : cubes) {
    const auto at = std::find(in.begin(), in.end(), root);
    if (at != in.end()) std::rotate(in.begin(), at, at + 1);
  }
  return cubes;
}

/// Trees of members made of trees of cubes: a tree enters a cube at one member, and those who pass on there
/// what they get are others in the second tree than in the first, as far as can be.
class planting {
 public:
  planting(std::vector<std::vector<std::uint32_t>> cubes, const packed_trees& plan, std::uint32_t root,
           std::size_t members)
      : cubes_(std::move(cubes)),
        plan_(plan),
        root_(root),
        found_(members),
        left_(members, pe_tree_pair::trees) {}

  pe_tree_pair run() {
    left_[root_] = 0;  // but for its first children
    for (std::uint32_t t = 0; t < pe_tree_pair::trees; ++t) {
      for (std::uint32_t cube = 0; cube < cubes_.size(); ++cube) {
        if (!plan_.node(t, cube).parent) plant(t, cube, nobody);
      }
    }
    return std::move(found_);
  }

 private:
  /// Of the members that a tree has in a cube so far, who passes on next: its own ones in the order in which
  /// they came, the others when these have all that they may.
  [[nodiscard]] std::uint32_t giver(std::uint32_t t, const std::vector<std::uint32_t>& in) const {
    if (in.size() == 1) return in.front();
    const auto worth = [&](std::uint32_t m) { return std::pair(left_[m] > 0, is_own(t, m)); };
    std::uint32_t best = in[in.front() == root_ ? 1 : 0];
    for (const std::uint32_t m : in) {
      if (m != root_ && worth(m) > worth(best)) best = m;
    }
    return best;
  }
  [[nodiscard]] bool is_own(std::uint32_t t, std::uint32_t m) const {
    return number_.at(m) % pe_tree_pair::trees == t;
  }

  void join(std::uint32_t t, std::uint32_t above, std::uint32_t below) {
    found_.tree_of[t].above[below] = above;
    found_.tree_of[t].below[above].push_back(below);
    if (left_[above] > 0) --left_[above];
  }

  void plant(std::uint32_t t, std::uint32_t cube, std::uint32_t above) {
    const std::vector<std::uint32_t>& members = cubes_[cube];
    for (std::uint32_t i = 0; i < members.size(); ++i) number_[members[i]] = i;
    // Own members first: they pass on.
    std::vector<std::uint32_t> order = members;
    std::stable_partition(order.begin(), order.end(),
                          [&](std::uint32_t m) { return m == root_ || (is_own(t, m) && left_[m] > 0); });
    std::stable_partition(order.begin(), order.end(), [&](std::uint32_t m) { return m == root_; });
    std::vector<std::uint32_t> in{order.front()};
    if (above != nobody) join(t, above, order.front());
    std::vector<std::uint32_t> cubes_below = plan_.node(t, cube).children;
    const bool is_root = order.front() == root_;
    std::size_t next = 1;
    // The root has one child: here, if there is anyone.
    if (is_root && next < order.size()) {
      join(t, root_, order[next]);
      in.push_back(order[next++]);
    }
    std::vector<std::pair<std::uint32_t, std::uint32_t>> fed;  // cubes and who feeds them
    for (const std::uint32_t b : cubes_below) {
      const std::uint32_t from = giver(t, in);
      fed.emplace_back(b, from);
      if (left_[from] > 0) --left_[from];
      if (next < order.size()) {
        const std::uint32_t also = giver(t, in);
        join(t, also, order[next]);
        in.push_back(order[next++]);
      }
    }
    while (next < order.size()) {
      join(t, giver(t, in), order[next]);
      in.push_back(order[next++]);
    }
    for (const auto& [b, from] : fed) {
      ++left_[from];
      plant(t, b, from);
    }
  }

  std::vector<std::vector<std::uint32_t>> cubes_;
  const packed_trees& plan_;
  std::uint32_t root_;
  pe_tree_pair found_;
  std::vector<std::uint32_t> left_;                ///< halves that a member may pass on
  std::map<std::uint32_t, std::uint32_t> number_;  ///< number of a member in its cube
};

}  // namespace

bool shares_cubes(const group& g) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> cubes;
  for (const pe_coord& m : g.members) cubes.insert({m.sip.value, m.cube.value});
  return cubes.size() < g.members.size();
}

std::array<std::vector<tree_node>, 2> trees_over_pes(const pattern_context& c, bool up) {
  const std::vector<pe_coord>& m = c.members.members;
  const std::uint32_t root = root_of(c);
  const std::vector<std::vector<std::uint32_t>> cubes = ranks_by_cube(c.members, root);
  group leaders{rank_set::cube, {}};
  std::uint32_t root_cube = 0;
  for (std::uint32_t i = 0; i < cubes.size(); ++i) {
    leaders.members.push_back(m[cubes[i].front()]);
    if (cubes[i].front() == root) root_cube = i;
  }
  const packed_trees plan({c.config, c.shape, leaders, root_cube, true},
                          up ? packed_trees::flow::up : packed_trees::flow::down);
  pe_tree_pair found = planting(cubes, plan, root, m.size()).run();
  anneal_pes(c.config, m, root, up, found);

  std::array<std::vector<tree_node>, pe_tree_pair::trees> nodes;
  for (std::uint32_t t = 0; t < pe_tree_pair::trees; ++t) {
    nodes[t].resize(m.size());
    for (std::uint32_t r = 0; r < m.size(); ++r) {
      const std::uint32_t above = found.tree_of[t].above[r];
      if (above != nobody) nodes[t][r].parent = above;
      nodes[t][r].children = found.tree_of[t].below[r];
      // The way to another SIP is the longer one.
      std::stable_partition(nodes[t][r].children.begin(), nodes[t][r].children.end(),
                            [&](std::uint32_t child) { return m[child].sip != m[r].sip; });
    }
  }
  return nodes;
}

}  // namespace diecast::comm
