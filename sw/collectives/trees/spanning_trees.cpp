// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <random>
#include <tuple>
#include <utility>

#include "sw/collectives/trees/packed_trees.hpp"
#include "sw/collectives/trees/trees.hpp"

namespace diecast::comm {
namespace {

/// Forests of the pairs of neighbors, of which each has a number of copies; no copy is in two forests.
class forest_union {
 public:
  forest_union(const neighbor_graph& g, std::uint32_t forests)
      : g_(g), forests_(forests), at_(forests, std::vector<std::vector<std::uint32_t>>(g.ranks())) {}

  /// Adds a copy of a pair, moving others from forest to forest if need be; false when there is no room.
  bool add(std::uint32_t pair) {
    pair_.push_back(pair);
    home_.push_back(nobody);
    const auto fresh = static_cast<std::uint32_t>(home_.size() - 1);
    std::vector<std::uint32_t> came(home_.size(), nobody), queue{fresh};
    came[fresh] = fresh;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (std::uint32_t f = 0; f < forests_; ++f) {
        if (f == home_[queue[i]]) continue;
        const auto path = path_between(f, ends(queue[i]));
        if (!path) {
          augment(queue[i], f, came);
          return true;
        }
        for (const std::uint32_t member : *path) {
          if (came[member] != nobody) continue;
          came[member] = queue[i];
          queue.push_back(member);
        }
      }
    }
    pair_.pop_back();
    home_.pop_back();
    return false;
  }

  /// Neighbors of every rank in a forest.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> neighbors_in(std::uint32_t forest) const {
    std::vector<std::vector<std::uint32_t>> near(g_.ranks());
    for (std::uint32_t e = 0; e < home_.size(); ++e) {
      if (home_[e] != forest) continue;
      const neighbor_graph::link& l = ends(e);
      near[l.from].push_back(l.to);
      near[l.to].push_back(l.from);
    }
    for (auto& list : near) std::ranges::sort(list);
    return near;
  }

 private:
  /// The members of a forest between the ends of a link; empty where it joins two trees.
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> path_between(std::uint32_t forest,
                                                                       const neighbor_graph::link& l) const {
    std::vector<std::uint32_t> came(g_.ranks(), nobody), queue{l.from};
    for (std::size_t i = 0; i < queue.size() && came[l.to] == nobody; ++i) {
      for (const std::uint32_t e : at_[forest][queue[i]]) {
        const std::uint32_t next = other_end(e, queue[i]);
        if (next == l.from || came[next] != nobody) continue;
        came[next] = e;
        queue.push_back(next);
      }
    }
    if (came[l.to] == nobody) return std::nullopt;
    std::vector<std::uint32_t> path;
    for (std::uint32_t rank = l.to; rank != l.from; rank = other_end(path.back(), rank))
      path.push_back(came[rank]);
    return path;
  }

  [[nodiscard]] const neighbor_graph::link& ends(std::uint32_t member) const {
    return g_.links()[std::size_t{2} * pair_[member]];
  }
  [[nodiscard]] std::uint32_t other_end(std::uint32_t member, std::uint32_t rank) const {
    return ends(member).from == rank ? ends(member).to : ends(member).from;
  }
  void drop(std::uint32_t member, std::uint32_t forest) {
    for (const std::uint32_t rank : {ends(member).from, ends(member).to}) {
      std::vector<std::uint32_t>& list = at_[forest][rank];
      list.erase(std::ranges::find(list, member));
    }
  }

  /// Moves each copy to the place of the one that it replaces, back to the one without a place.
  void augment(std::uint32_t member, std::uint32_t forest, const std::vector<std::uint32_t>& came) {
    for (;; member = came[member]) {
      if (home_[member] != nobody) drop(member, home_[member]);
      for (const std::uint32_t rank : {ends(member).from, ends(member).to})
        at_[forest][rank].push_back(member);
      forest = std::exchange(home_[member], forest);
      if (came[member] == member) return;
    }
  }

  const neighbor_graph& g_;
  std::uint32_t forests_;
  std::vector<std::uint32_t> pair_, home_;                   ///< by copy
  std::vector<std::vector<std::vector<std::uint32_t>>> at_;  ///< copies by forest and rank
};

using near_lists = std::vector<std::vector<std::uint32_t>>;

std::vector<std::uint32_t> depths_from(const near_lists& near, std::uint32_t root) {
  std::vector<std::uint32_t> depth(near.size(), nobody), queue{root};
  depth[root] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const std::uint32_t next : near[queue[i]]) {
      if (depth[next] != nobody) continue;
      depth[next] = depth[queue[i]] + 1;
      queue.push_back(next);
    }
  }
  return depth;
}
std::uint32_t deepest(const near_lists& near, std::uint32_t root) {
  const std::vector<std::uint32_t> depth = depths_from(near, root);
  return *std::ranges::max_element(depth);
}
std::uint32_t middle_of(const near_lists& near) {
  std::uint32_t best = 0, least = nobody;
  for (std::uint32_t r = 0; r < near.size(); ++r) {
    const std::uint32_t depth = deepest(near, r);
    if (depth < least) best = r, least = depth;
  }
  return best;
}

std::vector<tree_node> rooted(const near_lists& near, std::uint32_t root) {
  const std::vector<std::uint32_t> depth = depths_from(near, root);
  std::vector<tree_node> nodes(near.size());
  for (std::uint32_t r = 0; r < near.size(); ++r) {
    for (const std::uint32_t other : near[r]) {
      if (depth[other] < depth[r]) {
        nodes[r].parent = other;
      } else {
        nodes[r].children.push_back(other);
      }
    }
  }
  return nodes;
}

/// A packing of trees that overloads no link.
struct packing {
  std::vector<near_lists> trees;
  std::uint32_t depth{nobody};
};

std::optional<packing> pack(const neighbor_graph& g, std::uint32_t trees, std::uint32_t limit,
                            std::uint64_t attempt) {
  std::vector<std::uint32_t> copies;
  for (std::uint32_t pair = 0; std::size_t{2} * pair < g.links().size(); ++pair)
    copies.insert(copies.end(), std::min(trees, g.share(2 * pair, limit)), pair);
  // From the middle outwards, for shallow trees, or in random order, which may give shallower ones.
  near_lists near(g.ranks());
  for (const neighbor_graph::link& l : g.links()) near[l.from].push_back(l.to);
  const std::vector<std::uint32_t> away = depths_from(near, middle_of(near));
  std::mt19937_64 random(search_seed + attempt);
  std::vector<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>> order;
  for (const std::uint32_t pair : copies) {
    const neighbor_graph::link& l = g.links()[std::size_t{2} * pair];
    order.emplace_back(attempt % 2 == 0 ? std::min(away[l.from], away[l.to]) : 0, random(), pair);
  }
  std::ranges::sort(order);

  forest_union forests(g, trees);
  std::uint32_t missing = trees * (g.ranks() - 1);
  for (auto next = order.begin(); missing > 0 && next != order.end(); ++next)
    if (forests.add(std::get<2>(*next))) --missing;
  if (missing > 0) return std::nullopt;
  packing found;
  found.depth = 0;
  for (std::uint32_t t = 0; t < trees; ++t) {
    found.trees.push_back(forests.neighbors_in(t));
    found.depth = std::max(found.depth, deepest(found.trees[t], middle_of(found.trees[t])));
  }
  return found;
}

/// Least load of each link with so many trees, if a packing exists: every tree has one link less than there
/// are ranks.
std::uint32_t least_limit(const neighbor_graph& g, std::uint32_t trees) {
  const auto room = [&](std::uint32_t limit) {
    std::uint32_t sum = 0;
    for (std::uint32_t l = 0; l < g.links().size(); l += 2) sum += std::min(trees, g.share(l, limit));
    return sum;
  };
  return smallest_feasible([&](std::uint32_t limit) { return room(limit) >= trees * (g.ranks() - 1); }, 1)
      .second;
}

}  // namespace

/// The time of augmenting grows with about members cubed.
std::uint64_t spanning_trees::attempts_for(std::uint64_t members) {
  return std::clamp<std::uint64_t>((1U << 16) / (members * members * members), 1, 64);
}

spanning_trees::spanning_trees(const pattern_context& c) {
  const neighbor_graph g(c);
  if (g.ranks() < 2) {
    nodes_.assign(1, std::vector<tree_node>(g.ranks()));
    return;
  }
  std::uint32_t best_trees = 0, best_limit = 0;
  for (std::uint32_t trees = 1; trees <= most_trees; ++trees) {
    const std::uint32_t limit =
        smallest_feasible([&](std::uint32_t at_most) { return pack(g, trees, at_most, 0); },
                          least_limit(g, trees))
            .second;
    const double busiest = static_cast<double>(limit) / trees;
    if (trees > 1 && busiest * stop_threshold >= busiest_) continue;
    best_trees = trees, best_limit = limit, busiest_ = busiest;
  }
  packing best;
  for (std::uint64_t i = 0; i < attempts_for(g.ranks()); ++i) {
    packing found = *pack(g, best_trees, best_limit, i);
    if (found.depth < best.depth) best = std::move(found);
  }
  depth_ = best.depth;
  for (const near_lists& near : best.trees) nodes_.push_back(rooted(near, middle_of(near)));
}

tree_directions::tree_directions(const std::vector<const tree_node*>& places) {
  direction next = 0;
  for (const tree_node* place : places) {
    first_.push_back(next);
    has_parent_.push_back(place->parent.has_value());
    next = static_cast<direction>(next + (place->parent ? 1 : 0) + place->children.size());
  }
}

direction tree_directions::child(std::uint32_t tree, std::uint32_t index) const {
  return static_cast<direction>(first_[tree] + (has_parent_[tree] ? 1 : 0) + index);
}

namespace {

/// Edges of trees given by their nodes, from children to parents, and back if `reversed`.
std::vector<edge> edges_of(const group& g, const std::vector<std::vector<tree_node>>& trees, bool reversed) {
  std::vector<tree_directions> directions;
  directions.reserve(g.members.size());
  for (std::uint32_t r = 0; r < g.members.size(); ++r) {
    std::vector<const tree_node*> places;
    places.reserve(trees.size());
    for (const auto& tree : trees) places.push_back(&tree[r]);
    directions.emplace_back(places);
  }
  std::vector<edge> edges;
  for (std::uint32_t t = 0; t < trees.size(); ++t) {
    for (std::uint32_t r = 0; r < g.members.size(); ++r) {
      for (std::uint32_t i = 0; i < trees[t][r].children.size(); ++i) {
        const std::uint32_t below = trees[t][r].children[i];
        const direction down = directions[r].child(t, i), up = directions[below].parent(t);
        edges.push_back({g.members[below], up, g.members[r], reversed, down});
        if (reversed) edges.push_back({g.members[r], down, g.members[below], true, up});
      }
    }
  }
  return edges;
}

}  // namespace

std::vector<edge> spanning_tree_edges(const pattern_context& c) {
  const spanning_trees plan(c);
  std::vector<std::vector<tree_node>> trees;
  for (std::uint32_t t = 0; t < plan.trees(); ++t) trees.push_back(plan.tree(t));
  return edges_of(c.members, trees, true);
}

std::vector<edge> packed_tree_edges_up(const pattern_context& c) {
  const packed_trees plan(c, packed_trees::flow::up);
  std::vector<std::vector<tree_node>> trees(packed_trees::trees);
  for (std::uint32_t t = 0; t < packed_trees::trees; ++t)
    for (std::uint32_t r = 0; r < c.members.members.size(); ++r) trees[t].push_back(plan.node(t, r));
  return edges_of(c.members, trees, false);
}

}  // namespace diecast::comm
