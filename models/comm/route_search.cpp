// SPDX-License-Identifier: Apache-2.0
#include "models/comm/route_search.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <tuple>

#include "models/comm/smallest_feasible.hpp"
#include "models/comm/trees.hpp"

namespace diecast::comm {
namespace {

/// Parts on the busiest link that a search aims at, in parts on the fastest link.
using load_limit = std::uint32_t;
/// The search with blocks in so many parts; empty when nothing comes of that limit.
using search_fn = std::function<std::optional<std::vector<part_tree>>(std::uint32_t parts, load_limit)>;

/// Blocks are cut into as few parts as bring the busiest link near to what more of them would.
route_set best_parts(const search_fn& search, const std::vector<std::uint32_t>& choices,
                     const std::function<load_limit(std::uint32_t)>& least) {
  std::optional<route_set> best;
  for (const std::uint32_t parts : choices) {
    auto [trees, limit] =
        smallest_feasible([&](load_limit at_most) { return search(parts, at_most); }, least(parts));
    const double busiest = static_cast<double>(limit) / parts;
    if (best && busiest * stop_threshold >= best->busiest) continue;
    best = route_set{std::move(*trees), parts, busiest};
  }
  return std::move(*best);
}

/// Paths from a root: a flow of least length (successive shortest paths), unit by unit.
class path_search {
 public:
  path_search(const neighbor_graph& g, std::uint32_t root, std::uint32_t parts, load_limit limit)
      : g_(g), root_(root), parts_(parts), flow_(g.links().size()) {
    for (std::uint32_t l = 0; l < g.links().size(); ++l) room_.push_back(g.share(l, limit));
  }

  std::optional<std::vector<part_tree>> run() {
    for (std::uint32_t part = 0; part < parts_; ++part) {
      for (std::uint32_t r = 0; r < g_.ranks(); ++r) {
        if (r != root_ && !send_unit(r)) return std::nullopt;
      }
    }
    std::vector<part_tree> trees;
    for (std::uint32_t part = 0; part < parts_; ++part) {
      for (std::uint32_t r = 0; r < g_.ranks(); ++r) {
        if (r != root_) trees.push_back({r, part, path_to(r)});
      }
    }
    return trees;
  }

 private:
  /// A step back over a link takes a unit of flow off it.
  struct step {
    std::uint32_t link{nobody};
    bool back{};
  };

  bool send_unit(std::uint32_t to) {
    constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max() / 2;
    std::vector<std::int64_t> length(g_.ranks(), far);
    std::vector<step> came(g_.ranks());
    length[root_] = 0;
    const auto relax = [&](std::uint32_t from, std::uint32_t next, std::int64_t cost, step s) {
      if (length[from] + cost >= length[next]) return false;
      length[next] = length[from] + cost;
      came[next] = s;
      return true;
    };
    // Bellman and Ford, by ranks whose length has changed: steps back have negative lengths.
    std::vector<char> waits(g_.ranks());
    std::queue<std::uint32_t> changed;
    changed.push(root_);
    while (!changed.empty()) {
      const std::uint32_t rank = changed.front();
      changed.pop();
      waits[rank] = 0;
      for (const std::uint32_t out : g_.leaving(rank)) {
        const std::uint32_t other = g_.links()[out].to, in = out ^ 1U;
        bool nearer = flow_[out] < room_[out] && relax(rank, other, 1, {out, false});
        if (flow_[in] > 0) nearer |= relax(rank, other, -1, {in, true});
        if (!nearer || waits[other]) continue;
        waits[other] = 1;
        changed.push(other);
      }
    }
    if (length[to] >= far) return false;
    for (std::uint32_t at = to; at != root_;) {
      const step s = came[at];
      flow_[s.link] += s.back ? -1U : 1U;
      at = s.back ? g_.links()[s.link].to : g_.links()[s.link].from;
    }
    return true;
  }

  /// Takes a path of the flow, from its end: what comes to a rank is what it wants and passes on.
  std::vector<std::uint32_t> path_to(std::uint32_t to) {
    std::vector<std::uint32_t> path;
    for (std::uint32_t at = to; at != root_; at = g_.links()[path.back()].from) {
      for (const std::uint32_t out : g_.leaving(at)) {
        if (flow_[out ^ 1U] == 0) continue;
        --flow_[out ^ 1U];
        path.push_back(out ^ 1U);
        break;
      }
    }
    std::reverse(path.begin(), path.end());
    return path;
  }

  const neighbor_graph& g_;
  std::uint32_t root_, parts_;
  std::vector<std::uint32_t> room_, flow_;  ///< by link
};

/// Trees of all ranks: each grown over the links with most room, then, while some link has too much, each
/// taken out and grown again beside the others.
class tree_search {
 public:
  tree_search(const neighbor_graph& g, std::uint32_t parts, load_limit limit)
      : g_(g), load_(g.links().size()) {
    for (std::uint32_t l = 0; l < load_.size(); ++l) room_.push_back(g.share(l, limit));
    for (std::uint32_t part = 0; part < parts; ++part) {
      for (std::uint32_t r = 0; r < g.ranks(); ++r) trees_.push_back({r, part, {}});
    }
  }

  std::optional<std::vector<part_tree>> run() {
    constexpr int passes = 24;
    for (int pass = 0; pass < passes; ++pass) {
      for (part_tree& t : trees_) regrow(t);
      if (overload() == 0) return std::move(trees_);
    }
    return std::nullopt;
  }

 private:
  /// The best is least: beyond the link's room, links from the root, part of its room in use.
  using rank_of_link = std::tuple<std::uint32_t, std::uint32_t, double, std::uint32_t>;

  [[nodiscard]] std::uint32_t beyond(std::uint32_t l) const {
    return load_[l] < room_[l] ? 0 : load_[l] + 1 - room_[l];
  }
  [[nodiscard]] std::uint32_t overload() const {
    std::uint32_t sum = 0;
    for (std::uint32_t l = 0; l < load_.size(); ++l) sum += load_[l] > room_[l] ? load_[l] - room_[l] : 0;
    return sum;
  }

  void regrow(part_tree& t) {
    for (const std::uint32_t l : t.links) --load_[l];
    t.links.clear();
    std::vector<std::uint32_t> depth(g_.ranks(), nobody);
    std::priority_queue<rank_of_link, std::vector<rank_of_link>, std::greater<>> frontier;
    const auto add = [&](std::uint32_t rank) {
      for (const std::uint32_t l : g_.leaving(rank)) {
        if (depth[g_.links()[l].to] != nobody) continue;
        const double used = (load_[l] + 1.0) / std::max(0.5, static_cast<double>(room_[l]));
        frontier.emplace(beyond(l), depth[rank] + 1, used, l);
      }
    };
    depth[t.block] = 0;
    add(t.block);
    while (!frontier.empty()) {
      const std::uint32_t l = std::get<3>(frontier.top());
      frontier.pop();
      const neighbor_graph::link& link = g_.links()[l];
      if (depth[link.to] != nobody) continue;
      depth[link.to] = depth[link.from] + 1;
      t.links.push_back(l);
      ++load_[l];
      add(link.to);
    }
  }

  const neighbor_graph& g_;
  std::vector<std::uint32_t> room_, load_;  ///< by link
  std::vector<part_tree> trees_;
};

load_limit at_least_one(double limit) {
  return static_cast<load_limit>(std::max(1.0, std::ceil(limit - rate_rounding)));
}
/// Sum of the rates of the links out of a rank (those into it are equal), in fastest links.
double width_of(const neighbor_graph& g, std::uint32_t rank) {
  double sum = 0;
  for (const std::uint32_t l : g.leaving(rank)) sum += g.links()[l].gbytes_s;
  return sum / g.fastest();
}

}  // namespace

route_set routes_from(const neighbor_graph& g, std::uint32_t root) {
  if (g.ranks() < 2) return {};
  const auto search = [&](std::uint32_t parts, load_limit limit) {
    return path_search(g, root, parts, limit).run();
  };
  return best_parts(search, {1, 2, 3, 4, 6, 8}, [&](std::uint32_t parts) {
    return at_least_one(parts * (g.ranks() - 1.0) / width_of(g, root));
  });
}

namespace {

route_set trees_to_all(const neighbor_graph& g, const std::vector<std::uint32_t>& choices) {
  if (g.ranks() < 2) return {};
  double narrowest = std::numeric_limits<double>::max();
  for (std::uint32_t r = 0; r < g.ranks(); ++r) narrowest = std::min(narrowest, width_of(g, r));
  const auto search = [&](std::uint32_t parts, load_limit limit) {
    return tree_search(g, parts, limit).run();
  };
  return best_parts(search, choices,
                    [&](std::uint32_t parts) { return at_least_one(parts * (g.ranks() - 1.0) / narrowest); });
}

/// The links from `root` to all others, the first of them out of place `first`; fewer where there is no ring.
std::vector<std::uint32_t> links_round(const neighbor_graph& g, std::uint32_t root, std::size_t first) {
  std::vector<std::uint32_t> links;
  for (std::uint32_t at = root; g.leaving(at).size() == 2 && links.size() + 1 < g.ranks();) {
    const std::vector<std::uint32_t>& out = g.leaving(at);
    links.push_back(links.empty() ? out[first] : out[out[0] == (links.back() ^ 1U) ? 1 : 0]);
    at = g.links()[links.back()].to;
    if (at == root) break;
  }
  return links;
}

}  // namespace

route_set routes_to_all(const neighbor_graph& g) { return trees_to_all(g, {1, 2, 4}); }
route_set whole_routes_to_all(const neighbor_graph& g) { return trees_to_all(g, {1}); }

route_set routes_round(const neighbor_graph& g) {
  const std::uint32_t ranks = g.ranks();
  const bool is_ring = ranks > 2 && g.links().size() == 2 * ranks && links_round(g, 0, 0).size() + 1 == ranks;
  if (!is_ring) return whole_routes_to_all(g);
  // The part of a block is the way that it goes: places of links differ from rank to rank, ways do not.
  const std::vector<std::uint32_t> forth = links_round(g, 0, 0), back = links_round(g, 0, 1);
  route_set found{{}, 2, (ranks - 1.0) / 2};
  for (std::uint32_t part = 0; part < 2; ++part) {
    std::vector<std::uint32_t> round = part == 0 ? forth : back;
    const std::vector<std::uint32_t>& out = g.leaving(g.links()[round.back()].to);
    round.push_back(out[out[0] == (round.back() ^ 1U) ? 1 : 0]);  // home again
    for (std::size_t k = 0; k < round.size(); ++k) {
      std::rotate(round.begin(), round.begin() + 1, round.end());
      found.trees.push_back({g.links()[round.front()].from, part, {round.begin(), round.end() - 1}});
    }
  }
  return found;
}

}  // namespace diecast::comm
