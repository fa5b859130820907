// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include "models/cost/lower_bound.hpp"
#include "models/cost/message_cost.hpp"
#include "models/cost/wire_rates.hpp"

namespace diecast::cost {
namespace {

using comm::collective;

/// Ranks and bytes, and what steps over grids and trees are counted in.
struct size {
  double p{}, n{};
  double doublings{};  ///< whole ones within p
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

least_work ring(const size& s) { return {s.others(), s.others(), 0}; }
least_work doublings(const size& s) { return {s.doublings, s.doublings, 0}; }
least_work to_all(const size& s) { return {1, s.others(), 0}; }
least_work chain(const size& s) { return {s.others() / 2, 1, 0}; }
least_work square(const size& s) { return {s.line, s.line, 0}; }
least_work cube(const size& s) { return {s.edges, s.edges, 0}; }
least_work twice(const least_work& w) { return {2 * w.rounds, 2 * w.messages, w.bytes}; }

/// Rows without one: nothing is known but what any algorithm needs.
const std::map<std::pair<collective, std::string>, work_fn>& works() {
  using s = const size&;
  static const std::map<std::pair<collective, std::string>, work_fn> all{
      {{collective::all_reduce, "ring_1d"}, [](s x) { return twice(ring(x)); }},
      {{collective::all_reduce, "ring_1d_unidir"}, [](s x) { return twice(ring(x)); }},
      {{collective::all_reduce, "ring_full_tile"},
       [](s x) {
         return least_work{x.others(), x.others(), x.others() * x.n};
       }},
      {{collective::all_reduce, "recursive_doubling"},
       [](s x) {
         return least_work{x.doublings, x.doublings, x.doublings * x.n};
       }},
      {{collective::all_reduce, "rabenseifner"}, [](s x) { return twice(doublings(x)); }},
      {{collective::all_reduce, "swing"}, [](s x) { return twice(doublings(x)); }},
      {{collective::all_reduce, "direct_one_shot"},
       [](s x) {
         return least_work{1, x.others(), x.others() * x.n};
       }},
      {{collective::all_reduce, "direct_two_shot"}, [](s x) { return twice(to_all(x)); }},
      {{collective::all_reduce, "tree_binary"}, [](s x) { return twice(doublings(x)); }},
      {{collective::all_reduce, "p2p_tree"}, doublings},
      {{collective::all_reduce, "mesh_2d"}, square},
      {{collective::all_reduce, "torus_2d"}, square},
      {{collective::all_reduce, "intercube"}, cube},
      {{collective::all_reduce, "intercube_pipelined"}, cube},
      {{collective::all_reduce, "two_level"}, [](s x) { return twice(square(x)); }},
      {{collective::all_reduce, "three_level"}, [](s x) { return twice(cube(x)); }},
      {{collective::all_reduce, "in_network"},
       [](s x) {
         return least_work{2, 2, x.n};
       }},
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
         return least_work{x.doublings, x.doublings, x.doublings * x.share() / 2 * (x.p / (x.p + 1))};
       }},
      {{collective::all_to_all, "pairwise"}, to_all},
      {{collective::all_to_all, "direct"}, to_all},
      {{collective::all_to_all, "mesh_steps"}, to_all},
      {{collective::all_to_all, "lines"},
       [](s) {
         return least_work{0, 0, 0, 1.6};
       }},
      {{collective::broadcast, "ring_1d"}, chain},
      {{collective::broadcast, "binomial"}, doublings},
      {{collective::broadcast, "multicast"},
       [](s x) {
         return least_work{1, 1, x.n};
       }},
      {{collective::reduce, "in_network"},
       [](s x) {
         return least_work{1, 1, x.n};
       }},
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

}  // namespace diecast::cost
