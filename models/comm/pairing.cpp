// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <span>
#include <tuple>

#include "models/comm/install_plan.hpp"

namespace diecast::comm {
namespace {

/// A bidirectional edge, filed under its two PEs in an order that both of its ends share.
struct candidate {
  pe_coord low, high;
  bool from_high{};
  direction dir{};
  std::int32_t reverse{-1};  ///< wanted, then found
  auto key() const { return std::tuple{low, high, from_high, dir}; }
};

std::string edge_name(const edge& e) {
  return fmt::format("{} {} -> {}", owner_name(e.from), direction_name(e.dir), owner_name(e.to));
}

void join(candidate& a, candidate& b) {
  a.reverse = b.dir;
  b.reverse = a.dir;
}

/// The candidate of one side (sorted by direction) with that direction, if it has one.
candidate* with_direction(std::span<candidate> side, std::int32_t dir) {
  const auto at = std::ranges::lower_bound(side, dir, {}, &candidate::dir);
  return at != side.end() && at->dir == dir ? &*at : nullptr;
}

/// Pairs the edges of two PEs: those with a given reverse, then opposite directions, then the rest ordered by
/// direction. No two edges of one PE share an edge of the other.
class pair_of_pes {
 public:
  pair_of_pes(std::span<candidate> up, std::span<candidate> down)
      : up_(up), down_(down), up_done_(up.size()), down_done_(down.size()) {}

  void match() {
    match_wanted(up_, down_, up_done_, down_done_);
    match_wanted(down_, up_, down_done_, up_done_);
    for (std::size_t i = 0; i < up_.size(); ++i) {
      candidate* other = with_direction(down_, opposite(up_[i].dir));
      if (other != nullptr) try_join(i, static_cast<std::size_t>(other - down_.data()));
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < up_.size(); ++i) {
      while (next < down_.size() && (down_done_[next] || wants(down_[next]))) ++next;
      if (next < down_.size()) try_join(i, next);
    }
    forget_unmet(up_, up_done_);
    forget_unmet(down_, down_done_);
  }

 private:
  static bool wants(const candidate& c) { return c.reverse >= 0; }

  void try_join(std::size_t i, std::size_t j) {
    if (up_done_[i] || down_done_[j] || wants(up_[i]) || wants(down_[j])) return;
    join(up_[i], down_[j]);
    up_done_[i] = down_done_[j] = true;
  }

  static void match_wanted(std::span<candidate> side, std::span<candidate> others, std::vector<bool>& done,
                           std::vector<bool>& others_done) {
    for (std::size_t i = 0; i < side.size(); ++i) {
      if (done[i] || !wants(side[i])) continue;
      candidate* other = with_direction(others, side[i].reverse);
      if (other == nullptr) continue;
      const auto j = static_cast<std::size_t>(other - others.data());
      if (others_done[j] || (wants(*other) && other->reverse != side[i].dir)) continue;
      join(side[i], *other);
      done[i] = others_done[j] = true;
    }
  }

  static void forget_unmet(std::span<candidate> side, const std::vector<bool>& done) {
    for (std::size_t i = 0; i < side.size(); ++i)
      if (!done[i]) side[i].reverse = -1;
  }

  std::span<candidate> up_, down_;
  std::vector<bool> up_done_, down_done_;
};

/// Fills `reverse` of all candidates that find a partner; negative for the others.
void find_reverses(std::vector<candidate>& all) {
  const auto end_of = [&](std::size_t from, auto same) {
    while (from < all.size() && same(all[from])) ++from;
    return from;
  };
  for (std::size_t first = 0; first < all.size();) {
    const candidate head = all[first];
    const auto same_pair = [&](const candidate& c) { return c.low == head.low && c.high == head.high; };
    const std::size_t middle =
        end_of(first, [&](const candidate& c) { return same_pair(c) && !c.from_high; });
    const std::size_t last = end_of(middle, same_pair);
    const std::span range(all);
    pair_of_pes(range.subspan(first, middle - first), range.subspan(middle, last - middle)).match();
    first = last;
  }
}

candidate candidate_of(const edge& e) {
  const bool from_high = e.to < e.from;
  return {from_high ? e.to : e.from, from_high ? e.from : e.to, from_high, e.dir, e.reverse};
}

std::vector<candidate> pair_bidirectional(const std::vector<edge>& edges) {
  std::vector<candidate> all;
  for (const edge& e : edges)
    if (e.bidirectional && e.from != e.to) all.push_back(candidate_of(e));
  std::ranges::sort(all, {}, &candidate::key);
  find_reverses(all);
  return all;
}

/// Direction at `to`, or a problem and negative.
std::int32_t reverse_of(const edge& e, const std::vector<candidate>& paired, std::vector<problem>& problems) {
  if (!e.bidirectional) return e.reverse >= 0 ? e.reverse : opposite(e.dir);
  const auto at = std::ranges::lower_bound(paired, candidate_of(e).key(), {}, &candidate::key);
  if (at->reverse >= 0) return at->reverse;
  const std::string wanted =
      e.reverse >= 0 ? direction_name(static_cast<direction>(e.reverse)) : "a direction";
  problems.push_back({edge_name(e), "declared bidirectional, but no edge leads back", "",
                      fmt::format("{} of {} that leads to {} and is not paired with another edge, or one-way",
                                  wanted, owner_name(e.to), owner_name(e.from))});
  return -1;
}

void check_queue_pair(std::span<const queue_pair_half> halves, std::vector<problem>& problems) {
  const queue_pair_half& first = halves.front();
  const std::string where = fmt::format("{} {}", owner_name(first.owner), direction_name(first.dir));
  for (std::size_t i = 1; i < halves.size(); ++i) {
    const queue_pair_half& h = halves[i];
    const queue_pair_half& before = halves[i - 1];
    if (h.rx == before.rx) {
      problems.push_back(
          {where, h.rx ? "two edges end in one direction" : "two edges start in one direction",
           fmt::format("{} {} and {} {}", owner_name(before.peer), direction_name(before.peer_dir),
                       owner_name(h.peer), direction_name(h.peer_dir)),
           "one edge per direction and half"});
    } else if (h.peer != before.peer) {
      problems.push_back({where, "sends to one PE and receives from another",
                          fmt::format("to {}, from {}", owner_name(before.peer), owner_name(h.peer)),
                          "one peer per queue pair (give the two edges different directions)"});
    }
  }
}

}  // namespace

std::vector<queue_pair_half> pair_directions(const std::vector<edge>& edges, std::vector<problem>& problems) {
  const std::vector<candidate> paired = pair_bidirectional(edges);
  std::vector<queue_pair_half> halves;
  halves.reserve(edges.size() * 2);
  for (const edge& e : edges) {
    if (e.from == e.to) {
      problems.push_back({edge_name(e), "an edge from a PE to itself", "", "two different PEs"});
      continue;
    }
    const std::int32_t reverse = reverse_of(e, paired, problems);
    if (reverse < 0) continue;
    if (reverse > std::numeric_limits<direction>::max()) {
      problems.push_back(
          {edge_name(e), "no such direction at the peer", std::to_string(reverse), "at most 65535"});
      continue;
    }
    const auto peer_dir = static_cast<direction>(reverse);
    halves.push_back({e.from, e.dir, false, e.to, peer_dir});
    halves.push_back({e.to, peer_dir, true, e.from, e.dir});
  }
  const auto key = [](const queue_pair_half& h) {
    return std::tuple{h.owner, h.dir, h.rx, h.peer, h.peer_dir};
  };
  std::ranges::sort(halves, {}, key);
  for (std::size_t first = 0; first < halves.size();) {
    std::size_t last = first + 1;
    while (last < halves.size() && halves[last].owner == halves[first].owner &&
           halves[last].dir == halves[first].dir) {
      ++last;
    }
    check_queue_pair(std::span(halves).subspan(first, last - first), problems);
    first = last;
  }
  return halves;
}

}  // namespace diecast::comm
