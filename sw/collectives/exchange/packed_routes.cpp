// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/exchange/packed_routes.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "models/types/error.hpp"

namespace diecast::comm {
namespace {

/// The route of a part from the rank that has it to its destinations. A link comes after the previous one.
struct part_tree {
  std::uint32_t block{}, part{};
  std::vector<std::uint32_t> links;
};

struct route_set {
  std::vector<part_tree> trees;
  std::uint32_t parts{1};
  double busiest{};  ///< time of a block on the busiest link, in messages on the fastest link
};

/// Cuts blocks into the fewest parts for which the busiest link has nearly the least load. search(parts,
/// limit): routes with at most `limit` parts on the busiest link; empty when none are found. `narrowest`:
/// least sum of the rates of the links out of a rank, in fastest links.
template <class Search>
route_set best_parts(const neighbor_graph& g, const Search& search, const std::vector<std::uint32_t>& choices,
                     double narrowest) {
  if (g.ranks() < 2) return {};
  std::optional<route_set> best;
  for (const std::uint32_t parts : choices) {
    const double least = std::max(1.0, std::ceil(parts * (g.ranks() - 1.0) / narrowest - rate_rounding));
    auto [trees, limit] = smallest_feasible([&](std::uint32_t at_most) { return search(parts, at_most); },
                                            static_cast<std::uint32_t>(least));
    const double busiest = static_cast<double>(limit) / parts;
    if (best && busiest * stop_threshold >= best->busiest) continue;
    best = route_set{std::move(*trees), parts, busiest};
  }
  return std::move(*best);
}

/// Paths from a root: a flow of least total length (successive shortest paths), unit by unit.
class path_search {
 public:
  path_search(const neighbor_graph& g, std::uint32_t root, std::uint32_t parts, std::uint32_t limit)
      : g_(g), root_(root), parts_(parts), flow_(g.links().size()) {
    for (std::uint32_t l = 0; l < g.links().size(); ++l) room_.push_back(g.share(l, limit));
  }

  std::optional<std::vector<part_tree>> run() {
    for (std::uint32_t part = 0; part < parts_; ++part) {
      for (std::uint32_t r = 0; r < g_.ranks(); ++r)
        if (r != root_ && !send_unit(r)) return std::nullopt;
    }
    std::vector<part_tree> trees;
    for (std::uint32_t part = 0; part < parts_; ++part) {
      for (std::uint32_t r = 0; r < g_.ranks(); ++r)
        if (r != root_) trees.push_back({r, part, path_to(r)});
    }
    return trees;
  }

 private:
  /// A step over a link in the reverse direction removes a unit of flow from it.
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

  /// Removes a path from the flow, from its end: a rank's inflow is its own part and what it forwards.
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
    std::ranges::reverse(path);
    return path;
  }

  const neighbor_graph& g_;
  std::uint32_t root_, parts_;
  std::vector<std::uint32_t> room_, flow_;  ///< by link
};

/// Trees of all ranks: each grown over the links with most room; then, while a link is overloaded, each
/// removed and grown again among the others.
class tree_search {
 public:
  tree_search(const neighbor_graph& g, std::uint32_t parts, std::uint32_t limit)
      : g_(g), load_(g.links().size()) {
    for (std::uint32_t l = 0; l < load_.size(); ++l) room_.push_back(g.share(l, limit));
    for (std::uint32_t part = 0; part < parts; ++part)
      for (std::uint32_t r = 0; r < g.ranks(); ++r) trees_.push_back({r, part, {}});
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
  /// The smaller, the better: load beyond the link's room, links from the root, used part of the room.
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

/// Sum of the rates of the links out of a rank (those into it are equal), in fastest links.
double width_of(const neighbor_graph& g, std::uint32_t rank) {
  double sum = 0;
  for (const std::uint32_t l : g.leaving(rank)) sum += g.links()[l].gbytes_s;
  return sum / g.fastest();
}

/// A path from `root` for each part of every other rank's block.
route_set routes_from(const neighbor_graph& g, std::uint32_t root) {
  const auto search = [&](std::uint32_t parts, std::uint32_t limit) {
    return path_search(g, root, parts, limit).run();
  };
  return best_parts(g, search, {1, 2, 3, 4, 6, 8}, width_of(g, root));
}

/// A tree from every rank to all others for each part of its block, in as many parts as reduce the time.
route_set trees_to_all(const neighbor_graph& g, const std::vector<std::uint32_t>& choices) {
  double narrowest = std::numeric_limits<double>::max();
  for (std::uint32_t r = 0; r < g.ranks(); ++r) narrowest = std::min(narrowest, width_of(g, r));
  const auto search = [&](std::uint32_t parts, std::uint32_t limit) {
    return tree_search(g, parts, limit).run();
  };
  return best_parts(g, search, choices, narrowest);
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

/// Halves of blocks, each all round a ring of the links, in one direction each; whole blocks where the links
/// form no ring.
route_set routes_round(const neighbor_graph& g) {
  const std::uint32_t ranks = g.ranks();
  const bool is_ring = ranks > 2 && g.links().size() == 2 * ranks && links_round(g, 0, 0).size() + 1 == ranks;
  if (!is_ring) return trees_to_all(g, {1});
  // The part of a block is its direction: indices of links differ between ranks, directions do not.
  const std::vector<std::uint32_t> forth = links_round(g, 0, 0), back = links_round(g, 0, 1);
  route_set found{{}, 2, (ranks - 1.0) / 2};
  for (std::uint32_t part = 0; part < 2; ++part) {
    std::vector<std::uint32_t> round = part == 0 ? forth : back;
    const std::vector<std::uint32_t>& out = g.leaving(g.links()[round.back()].to);
    round.push_back(out[out[0] == (round.back() ^ 1U) ? 1 : 0]);  // back at the root
    for (std::size_t k = 0; k < round.size(); ++k) {
      std::rotate(round.begin(), round.begin() + 1, round.end());
      found.trees.push_back({g.links()[round.front()].from, part, {round.begin(), round.end() - 1}});
    }
  }
  return found;
}

/// Time stamps for a part on the fastest link.
constexpr std::int64_t stamps_per_part = 4;

/// A part on a link.
struct move {
  std::uint32_t link{}, block{}, part{};
  std::int64_t start{}, end{};
};

/// Gives each move its time: a part is forwarded when it has arrived; of those that wait for a link the one
/// with the most links ahead is first.
class link_schedule {
 public:
  link_schedule(const neighbor_graph& g, const std::vector<part_tree>& trees)
      : g_(g), waiting_(g.links().size()), free_at_(g.links().size()) {
    for (const part_tree& t : trees) add(t);
  }

  std::vector<move> run() {
    while (!due_.empty()) {
      const std::int64_t now = due_.begin()->first;
      for (const std::uint32_t m : due_.begin()->second) {
        const std::uint32_t n = g_.ranks(), from = g_.links()[moves_[m].link].from;
        waiting_[moves_[m].link].emplace(ahead_[m], (from + n - moves_[m].block % n) % n, m);
      }
      due_.erase(due_.begin());
      for (std::uint32_t l = 0; l < waiting_.size(); ++l)
        if (free_at_[l] <= now && !waiting_[l].empty()) start(l, now);
    }
    return std::move(moves_);
  }

 private:
  void add(const part_tree& t) {
    std::map<std::uint32_t, std::uint32_t> came;  // by rank: the move by which the part arrived
    for (const std::uint32_t l : t.links) {
      const auto number = static_cast<std::uint32_t>(moves_.size());
      moves_.push_back({l, t.block, t.part});
      next_.emplace_back();
      ahead_.push_back(0);
      const auto from = came.find(g_.links()[l].from);
      before_.push_back(from == came.end() ? number : from->second);
      if (from == came.end()) {
        due_[0].push_back(number);
      } else {
        next_[from->second].push_back(number);
      }
      came[g_.links()[l].to] = number;
    }
    for (std::uint32_t n = static_cast<std::uint32_t>(moves_.size()); n-- > moves_.size() - t.links.size();)
      if (before_[n] != n) ahead_[before_[n]] = std::max(ahead_[before_[n]], ahead_[n] + 1);
  }

  void start(std::uint32_t l, std::int64_t now) {
    move& m = moves_[std::get<2>(waiting_[l].top())];
    const std::uint32_t number = std::get<2>(waiting_[l].top());
    waiting_[l].pop();
    m.start = now;
    m.end = now + std::lround(stamps_per_part * g_.fastest() / g_.links()[l].gbytes_s);
    free_at_[l] = m.end;
    std::vector<std::uint32_t>& due = due_[m.end];  // an entry without moves: the link is free
    due.insert(due.end(), next_[number].begin(), next_[number].end());
  }

  const neighbor_graph& g_;
  std::vector<move> moves_;
  std::vector<std::vector<std::uint32_t>> next_;
  std::vector<std::uint32_t> before_;  ///< the move itself where the part begins its path
  std::vector<std::uint32_t> ahead_;   ///< links after this one on its longest path
  /// By link: of equal moves the block whose rank is farthest back is first, so that ranks begin with
  /// different blocks.
  std::vector<std::priority_queue<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>>> waiting_;
  std::vector<std::int64_t> free_at_;
  std::map<std::int64_t, std::vector<std::uint32_t>> due_;
};

/// Reverses time and the route of every part.
void turn_round(std::vector<move>& moves) {
  for (move& m : moves) {
    m.link ^= 1U;
    m.start = -std::exchange(m.end, -m.start);
  }
}

route_set search(const neighbor_graph& g, const pattern_context& c, collective what,
                 packed_routes::cut blocks) {
  if (blocks == packed_routes::cut::steps)
    return what == collective::reduce_scatter ? routes_round(g) : trees_to_all(g, {1});
  switch (what) {
    case collective::gather:
    case collective::scatter: return routes_from(g, root_of(c));
    case collective::all_gather:
    case collective::reduce_scatter: return trees_to_all(g, {1, 2, 4});
    default: throw formatted<std::logic_error>("packed routes: not for {}", to_string(what));
  }
}

}  // namespace

packed_routes::packed_routes(const pattern_context& c, collective what, cut blocks) {
  if (c.members.members.size() > most_ranks) {
    throw user_error(problem{"ranks", "too many for packed_routes", std::to_string(c.members.members.size()),
                             fmt::format("at most {}", most_ranks)});
  }
  const neighbor_graph g(c);
  const route_set found = search(g, c, what, blocks);
  parts_ = found.parts;
  busiest_ = found.busiest;
  std::vector<move> moves = link_schedule(g, found.trees).run();
  if (what == collective::gather || what == collective::reduce_scatter) turn_round(moves);
  // Every piece waits only for earlier pieces of this order, in any pipeline: no cycle of waits.
  std::ranges::sort(moves, {}, [](const move& m) { return std::tuple{m.start, m.link}; });

  pipelines_.resize(g.ranks());
  for (std::uint32_t r = 0; r < g.ranks(); ++r) pipelines_[r].resize(g.leaving(r).size());
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, piece> last;  // by rank, block and part
  for (const move& m : moves) {
    const neighbor_graph::link& link = g.links()[m.link];
    const auto block = static_cast<std::uint16_t>(m.block), part = static_cast<std::uint16_t>(m.part);
    const auto after = [&](std::uint32_t rank) -> piece {
      const auto at = last.find({rank, m.block, m.part});
      return at == last.end() ? piece{block, part} : at->second;
    };
    pipelines_[link.from][g.place_of(m.link)].sent.push_back(after(link.from));
    std::vector<piece>& received = pipelines_[link.to][g.place_of(m.link ^ 1U)].received;
    received.push_back(after(link.to));
    last[{link.to, m.block, m.part}] = {block, part, static_cast<std::uint16_t>(g.place_of(m.link ^ 1U)),
                                        static_cast<std::uint16_t>(received.size() - 1)};
  }
}

}  // namespace diecast::comm
