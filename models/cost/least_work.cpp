// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "models/cost/cuts.hpp"
#include "models/cost/lower_bound.hpp"
#include "models/cost/message_cost.hpp"

namespace diecast::cost {

namespace {

using comm::collective;

/// Ranks and bytes, and the units in which steps over grids and trees are counted.
struct size {
  double p{}, n{};
  double doublings{};  ///< whole doublings within p
  double line{};       ///< steps along both sides of a square of p ranks, the least of any rectangle
  double edges{};      ///< steps along the three sides of a cube of p ranks, the least of any box
  [[nodiscard]] double others() const { return p - 1; }
  [[nodiscard]] double share() const { return n * (p - 1) / p; }
};

size size_of(double p, double n) {
  const auto whole = static_cast<std::uint64_t>(p);
  return {p, n, d(std::bit_width(whole) - 1U), 2 * (std::sqrt(p) - 1), 3 * (std::cbrt(p) - 1)};
}

using work_fn = least_work (*)(const size&);

least_work work_of(double rounds, double messages, double bytes, double copies = 1) {
  return {rounds, messages, bytes, copies};
}
least_work ring(const size& s) { return {s.others(), s.others(), 0}; }
least_work doublings(const size& s) { return {s.doublings, s.doublings, 0}; }
least_work to_all(const size& s) { return {1, s.others(), 0}; }
least_work chain(const size& s) { return {s.others() / 2, 1, 0}; }
least_work square(const size& s) { return {s.line, s.line, 0}; }
least_work cube(const size& s) { return {s.edges, s.edges, 0}; }
least_work twice(const least_work& w) { return {2 * w.rounds, 2 * w.messages, w.bytes}; }

/// Rows without a function: only what any algorithm needs is known.
const std::map<std::pair<collective, std::string>, work_fn>& works() {
  using s = const size&;
  static const std::map<std::pair<collective, std::string>, work_fn> all{
      {{collective::all_reduce, "ring_1d"}, [](s x) { return twice(ring(x)); }},
      {{collective::all_reduce, "ring_1d_unidir"}, [](s x) { return twice(ring(x)); }},
      {{collective::all_reduce, "ring_full_tile"},
       [](s x) { return work_of(x.others(), x.others(), x.others() * x.n); }},
      {{collective::all_reduce, "recursive_doubling"},
       [](s x) { return work_of(x.doublings, x.doublings, x.doublings * x.n); }},
      {{collective::all_reduce, "rabenseifner"}, [](s x) { return twice(doublings(x)); }},
      {{collective::all_reduce, "swing"}, [](s x) { return twice(doublings(x)); }},
      {{collective::all_reduce, "direct_one_shot"},
       [](s x) { return work_of(1, x.others(), x.others() * x.n); }},
      {{collective::all_reduce, "direct_two_shot"}, [](s x) { return twice(to_all(x)); }},
      {{collective::all_reduce, "tree_binary"}, [](s x) { return twice(doublings(x)); }},
      {{collective::all_reduce, "p2p_tree"}, doublings},
      {{collective::all_reduce, "mesh_2d"}, square},
      {{collective::all_reduce, "torus_2d"}, square},
      {{collective::all_reduce, "intercube"}, cube},
      {{collective::all_reduce, "intercube_pipelined"}, cube},
      {{collective::all_reduce, "two_level"}, [](s x) { return twice(square(x)); }},
      {{collective::all_reduce, "three_level"}, [](s x) { return twice(cube(x)); }},
      {{collective::all_reduce, "in_network"}, [](s x) { return work_of(2, 2, x.n); }},
      {{collective::reduce_scatter, "ring_1d"}, ring},
      {{collective::reduce_scatter, "recursive_halving"}, doublings},
      {{collective::reduce_scatter, "pairwise"}, to_all},
      {{collective::reduce_scatter, "two_level"}, square},
      {{collective::reduce_scatter, "three_level"}, cube},
      {{collective::all_gather, "ring_1d"}, ring},
      {{collective::all_gather, "bruck"}, doublings},
      {{collective::all_gather, "two_level"}, square},
      {{collective::all_gather, "three_level"}, cube},
      {{collective::all_to_all, "bruck"},
       [](s x) {
         return work_of(x.doublings, x.doublings, x.doublings * x.share() / 2 * (x.p / (x.p + 1)));
       }},
      {{collective::all_to_all, "pairwise"}, to_all},
      {{collective::all_to_all, "direct"}, to_all},
      {{collective::all_to_all, "mesh_steps"}, to_all},
      {{collective::all_to_all, "lines"}, [](s) { return work_of(0, 0, 0, 1.6); }},
      {{collective::broadcast, "ring_1d"}, chain},
      {{collective::broadcast, "binomial"}, doublings},
      {{collective::broadcast, "multicast"}, [](s x) { return work_of(1, 1, x.n); }},
      {{collective::reduce, "in_network"}, [](s x) { return work_of(1, 1, x.n); }},
      {{collective::reduce, "ring_1d"}, chain},
      {{collective::reduce, "binomial"}, doublings},
      {{collective::gather, "linear"}, to_all},
      {{collective::gather, "binomial"}, doublings},
      {{collective::scatter, "linear"}, to_all},
      {{collective::scatter, "binomial"}, doublings},
  };
  return all;
}

}  // namespace

least_work least_work_of(collective what, const std::string& algorithm, double p, double n) {
  const auto found = works().find({what, algorithm});
  return found == works().end() ? least_work{} : found->second(size_of(p, n));
}

algorithm_bound bound_of(const fabric::topology& t, const config::machine_config& c, const bound_request& r,
                         const bound& any, const std::string& algorithm) {
  if (r.ranks.members.size() < 2 || any.ns <= 0) return {any.ns, 0, any.ns};
  const least_work w = least_work_of(r.what, algorithm, d(r.ranks.members.size()), d(r.bytes));
  const endpoint_costs e = endpoint_costs_of(c);
  const wire_rates rates(c);
  const double hop = (e.send + e.departure - e.source + nearest_idle(t, c, r.ranks) + e.arrival).ns();
  const double message = std::min(e.send, e.call + e.release).ns();
  const double rounds = std::max(w.rounds * hop, w.messages * message);
  const double wires = w.bytes * rates.wire_bytes_per_byte() / rates.noc_gbytes_s();
  const double p = d(r.ranks.members.size());
  return {std::max({any.ns, rounds, wires}),
          std::max(w.copies * least_sent(r.what, d(r.bytes), p), p * w.bytes),
          rounds + std::max(any.ns, wires)};
}

namespace {

using comm::collective;

constexpr std::uint32_t distances_up_to = 512;  ///< cubes: beyond, pairs count as neighbors

/// Ranks per node, and how many links any two nodes are apart at least.
class nodes {
 public:
  nodes(const fabric::topology& t, const config::machine_config& c, const comm::group& g, bool of_sips)
      : topology_(t), of_sips_(of_sips) {
    const machine_shape& s = t.shape();
    ranks_.resize(of_sips ? s.sips : s.cubes());
    next_.resize(ranks_.size());
    for (const pe_coord& m : g.members) ++ranks_[node_of(m.sip.value, m.cube.value)];
    if (is_staged(c)) {
      join_staged();
    } else {
      join_by_links();
    }
    if (!of_sips) join_cubes();
  }
  [[nodiscard]] double with_ranks() const {
    return static_cast<double>(std::ranges::count_if(ranks_, [](auto r) { return r > 0; }));
  }
  /// Sum over nodes of ranks x links from `from`.
  [[nodiscard]] double links_from(std::uint32_t from) const {
    const std::vector<std::uint32_t> away = distances(from);
    double sum = 0;
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) sum += static_cast<double>(ranks_[i] * away[i]);
    return sum;
  }
  /// Sum over ordered pairs of ranks of the links between them.
  [[nodiscard]] double links_of_pairs() const {
    double sum = 0;
    for (std::uint32_t i = 0; i < ranks_.size(); ++i)
      if (ranks_[i] > 0) sum += static_cast<double>(ranks_[i]) * links_from(i);
    return sum;
  }
  /// Sum over ranks of the links to the next rank, cyclically.
  [[nodiscard]] double links_to_next(const comm::group& g) const {
    std::vector<std::vector<std::uint32_t>> nexts(ranks_.size());
    for (std::size_t i = 0; i < g.members.size(); ++i) {
      const pe_coord &m = g.members[i], &next = g.members[(i + 1) % g.members.size()];
      nexts[node_of(m.sip.value, m.cube.value)].push_back(node_of(next.sip.value, next.cube.value));
    }
    double sum = 0;
    for (std::uint32_t i = 0; i < nexts.size(); ++i) {
      if (nexts[i].empty()) continue;
      const std::vector<std::uint32_t> away = distances(i);
      for (const std::uint32_t next : nexts[i]) sum += away[next];
    }
    return sum;
  }
  [[nodiscard]] std::uint32_t node_of(std::uint32_t sip, std::uint32_t cube) const {
    return of_sips_ ? sip : sip * topology_.shape().cubes_per_sip() + cube;
  }

 private:
  void join_by_links() {
    for (const fabric::sip_link& l : topology_.sip_links())
      next_[node_of(l.from.sip, l.from.cube)].push_back(node_of(l.to.sip, l.to.cube));
  }
  /// Latency between two SIPs, from I/O CPU to I/O CPU, alike for all pairs.
  void join_staged() {
    if (ranks_.size() > distances_up_to) return;
    const std::uint32_t sips = topology_.shape().sips;
    for (std::uint32_t a = 0; a < sips; ++a) {
      for (std::uint32_t b = 0; b < sips; ++b)
        if (a != b) next_[io_node(a)].push_back(io_node(b));
    }
  }
  [[nodiscard]] std::uint32_t io_node(std::uint32_t sip) const {
    return node_of(sip, comm::io_cpu_node(topology_, sip_id{sip}).cube);
  }
  void join_cubes() {
    const machine_shape& s = topology_.shape();
    for (std::uint32_t i = 0; i < s.cubes(); ++i) {
      for (unsigned k = 0; k < fabric::sides; ++k) {
        const auto beside = topology_.neighbor(cube_id{i % s.cubes_per_sip()}, static_cast<fabric::side>(k));
        if (beside) next_[i].push_back(node_of(i / s.cubes_per_sip(), beside->value));
      }
    }
  }
  [[nodiscard]] std::vector<std::uint32_t> distances(std::uint32_t from) const {
    if (ranks_.size() > distances_up_to) {
      std::vector<std::uint32_t> one(ranks_.size(), 1);
      one[from] = 0;
      return one;
    }
    std::vector<std::uint32_t> away(ranks_.size(), UINT32_MAX);
    std::vector<std::uint32_t> queue{from};
    away[from] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const std::uint32_t n : next_[queue[i]]) {
        if (away[n] != UINT32_MAX) continue;
        away[n] = away[queue[i]] + 1;
        queue.push_back(n);
      }
    }
    return away;
  }

  const fabric::topology& topology_;
  bool of_sips_;
  std::vector<std::uint64_t> ranks_;
  std::vector<std::vector<std::uint32_t>> next_;
};

double work_over(const fabric::topology& t, const config::machine_config& c, const bound_request& r,
                 bool sips) {
  const nodes graph(t, c, r.ranks, sips);
  const double between = graph.with_ranks() - 1;
  if (between < 1) return 0;
  const double n = static_cast<double>(r.bytes);
  const double part = std::max(0.0, n / static_cast<double>(r.ranks.members.size()) - longest_element);
  const pe_coord root = r.ranks.members.at(std::min<std::size_t>(r.root, r.ranks.members.size() - 1));
  switch (r.what) {
    case collective::all_reduce: return 2 * between * n;
    case collective::reduce_scatter:
    case collective::broadcast:
    case collective::reduce: return between * n;
    case collective::all_gather: return between * part * static_cast<double>(r.ranks.members.size());
    case collective::all_to_all: return part * graph.links_of_pairs();
    case collective::gather:
    case collective::scatter: return part * graph.links_from(graph.node_of(root.sip.value, root.cube.value));
    case collective::send_recv: return n * graph.links_to_next(r.ranks);
    case collective::barrier: return 0;
  }
  return 0;
}

}  // namespace

link_work link_work_of(const fabric::topology& t, const config::machine_config& c, const bound_request& r) {
  return {work_over(t, c, r, false), work_over(t, c, r, true)};
}

}  // namespace diecast::cost
