// SPDX-License-Identifier: Apache-2.0
#include "models/comm/packed_routes.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "models/comm/route_search.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {
namespace {

using stamp = std::int64_t;
/// Stamps for the time of a part on the fastest link.
constexpr stamp stamps_per_part = 4;

/// A part on a link.
struct move {
  std::uint32_t link{}, block{}, part{};
  stamp start{}, end{};
};

/// Gives each move its time: a part goes on when it has come; of those that wait for a link the one goes
/// that has most links before it.
class timetable {
 public:
  timetable(const neighbor_graph& g, const std::vector<part_tree>& trees)
      : g_(g), waiting_(g.links().size()), free_at_(g.links().size()) {
    for (const part_tree& t : trees) add(t);
  }

  std::vector<move> run() {
    while (!due_.empty()) {
      const stamp now = due_.begin()->first;
      for (const std::uint32_t m : due_.begin()->second) wait(m);
      due_.erase(due_.begin());
      for (std::uint32_t l = 0; l < waiting_.size(); ++l) {
        if (free_at_[l] <= now && !waiting_[l].empty()) start(l, now);
      }
    }
    return std::move(moves_);
  }
  /// Links on the longest way.
  [[nodiscard]] std::uint32_t depth() const { return depth_; }

 private:
  void add(const part_tree& t) {
    std::map<std::uint32_t, std::uint32_t> came;  // by rank, the move
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
    for (std::uint32_t n = static_cast<std::uint32_t>(moves_.size()); n-- > moves_.size() - t.links.size();) {
      if (before_[n] != n) ahead_[before_[n]] = std::max(ahead_[before_[n]], ahead_[n] + 1);
      depth_ = std::max(depth_, ahead_[n] + 1);
    }
  }

  void wait(std::uint32_t m) {
    const std::uint32_t n = g_.ranks(), from = g_.links()[moves_[m].link].from;
    waiting_[moves_[m].link].emplace(ahead_[m], (from + n - moves_[m].block % n) % n, m);
  }

  void start(std::uint32_t l, stamp now) {
    move& m = moves_[std::get<2>(waiting_[l].top())];
    const std::uint32_t number = std::get<2>(waiting_[l].top());
    waiting_[l].pop();
    m.start = now;
    m.end = now + std::lround(stamps_per_part * g_.fastest() / g_.links()[l].gbytes_s);
    free_at_[l] = m.end;
    std::vector<std::uint32_t>& due = due_[m.end];  // with nothing to go on, too: the link is free then
    due.insert(due.end(), next_[number].begin(), next_[number].end());
  }

  const neighbor_graph& g_;
  std::vector<move> moves_;
  std::vector<std::vector<std::uint32_t>> next_;
  std::vector<std::uint32_t> before_;  ///< the move itself where the part begins its way
  std::vector<std::uint32_t> ahead_;   ///< links behind this one on the longest way on
  /// By link: of equals the block goes first whose rank is farthest back, so that ranks begin with different
  /// ones.
  std::vector<std::priority_queue<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>>> waiting_;
  std::vector<stamp> free_at_;
  std::map<stamp, std::vector<std::uint32_t>> due_;
  std::uint32_t depth_{};
};

/// The way of time and of every part turned round.
void turn_round(std::vector<move>& moves) {
  for (move& m : moves) {
    m.link ^= 1U;
    m.start = -std::exchange(m.end, -m.start);
  }
}

route_set search(const neighbor_graph& g, const pattern_context& c, collective what,
                 packed_routes::cut blocks) {
  if (blocks == packed_routes::cut::steps)
    return what == collective::reduce_scatter ? routes_round(g) : whole_routes_to_all(g);
  switch (what) {
    case collective::gather:
    case collective::scatter: return routes_from(g, root_of(c));
    case collective::all_gather:
    case collective::reduce_scatter: return routes_to_all(g);
    default: throw std::logic_error(fmt::format("packed routes: not for {}", to_string(what)));
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
  timetable times(g, found.trees);
  std::vector<move> moves = times.run();
  depth_ = times.depth();
  if (what == collective::gather || what == collective::reduce_scatter) turn_round(moves);
  // Every piece waits only for some that stand before it in this order, whatever the lanes: no cycle of
  // waits.
  std::sort(moves.begin(), moves.end(), [](const move& a, const move& b) {
    return std::tie(a.start, a.link) < std::tie(b.start, b.link);
  });

  lanes_.resize(g.ranks());
  for (std::uint32_t r = 0; r < g.ranks(); ++r) lanes_[r].resize(g.leaving(r).size());
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, piece> last;  // by rank, block and part
  for (const move& m : moves) {
    const neighbor_graph::link& link = g.links()[m.link];
    const auto block = static_cast<std::uint16_t>(m.block), part = static_cast<std::uint16_t>(m.part);
    const auto after = [&](std::uint32_t rank) -> piece {
      const auto at = last.find({rank, m.block, m.part});
      return at == last.end() ? piece{block, part} : at->second;
    };
    lanes_[link.from][g.place_of(m.link)].sent.push_back(after(link.from));
    std::vector<piece>& received = lanes_[link.to][g.place_of(m.link ^ 1U)].received;
    received.push_back(after(link.to));
    last[{link.to, m.block, m.part}] = {block, part, static_cast<std::uint16_t>(g.place_of(m.link ^ 1U)),
                                        static_cast<std::uint16_t>(received.size() - 1)};
  }
}

}  // namespace diecast::comm
