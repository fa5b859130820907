// SPDX-License-Identifier: Apache-2.0
#include "models/cost/formula_base.hpp"

#include <algorithm>
#include <map>

#include "models/comm/rank_grid.hpp"
#include "models/comm/step_timetable.hpp"
#include "models/comm/trees.hpp"
#include "models/cost/cuts.hpp"

namespace diecast::cost {
namespace {

/// Exchanges looked at per step: steps of partners are alike all over the machine.
constexpr std::uint32_t samples = 32;

}  // namespace

formula_base::formula_base(const fabric::topology& t, const config::machine_config& c, const bound_request& r)
    : t_(t),
      c_(c),
      r_(r),
      step_(t, c),
      wires_(c),
      links_(t, c),
      p_(static_cast<std::uint32_t>(r.ranks.members.size())),
      n_(d(r.bytes)) {}

double formula_base::dearest(const peer_fn& peer, const exchange& e) const {
  double most = 0;
  const std::uint32_t stride = std::max<std::uint32_t>(1, p_ / samples);
  for (std::uint32_t first = 0; first < p_; first += stride) {
    for (std::uint32_t r = first; r < std::min(p_, first + stride); ++r) {
      const auto other = peer(r);
      if (!other || *other == r) continue;
      most = std::max(most, step_.exchange_ns(at(r), at(*other), e));
      break;
    }
  }
  return most;
}

double formula_base::mean_on_ring(const exchange& e) const {
  const std::vector<std::uint32_t> order = comm::ring_order(t_.shape(), r_.ranks);
  double sum = 0;
  std::uint32_t edges = 0;
  const std::uint32_t stride = std::max<std::uint32_t>(1, p_ / 256);
  for (std::uint32_t i = 0; i < p_; i += stride, ++edges)
    sum += step_.exchange_ns(at(order[i]), at(order[(i + 1) % p_]), e);
  return sum / edges;
}

double formula_base::slowest_on_ring(const exchange& e) const {
  std::vector<pe_coord> ring;
  for (const std::uint32_t rank : comm::ring_order(t_.shape(), r_.ranks)) ring.push_back(at(rank));
  return slowest_on_ring(ring, e);
}

double formula_base::slowest_on_ring(const std::vector<pe_coord>& ring, const exchange& e) const {
  double most = 0;
  for (std::size_t i = 0; i < ring.size(); ++i)
    most = std::max(most, step_.slot_interval_ns(ring[i], ring[(i + 1) % ring.size()], e));
  return most;
}

double formula_base::at_once_ns(double far, double messages, double bytes, bool reduces) const {
  const double slots = step_.slots_of(bytes);
  const double busy = step_.send_ns() + step_.take_ns(std::min(bytes, step_.slot_bytes()), reduces) +
                      step_.wake_ns() + step_.task_switch_ns() + 2 * step_.register_ns();
  return far + (messages - 1) * slots * busy;
}

double formula_base::interface_ns(double bytes) const {
  return bytes * wires_.wire_bytes_per_byte() / wires_.noc_gbytes_s();
}

double formula_base::all_pairs_ns(double bytes) const {
  double most = interface_ns(bytes * (p_ - 1.0));
  for (const cut& c : cuts_of(t_, c_, r_.ranks, 0)) {
    const double crossing = bytes * d(c.ranks) * (d(p_) - d(c.ranks)) * wires_.wire_bytes_per_byte();
    most = std::max(most, crossing / std::min(c.out_gbytes_s, c.in_gbytes_s));
  }
  return most;
}

/// Found by trial (docs/adr/0058): of 480 KiB to 8 MiB on 4 x 4 cubes, `direct`, 1.38 to 1.47 times.
double formula_base::all_pairs_at_once_ns(double bytes) const {
  constexpr double held_up = 1.4;
  const bool meet = bytes >= step_.slot_bytes() &&
                    comm::step_times_of({c_, c_.shape(), r_.ranks}, comm::step_load::blocks).has_value();
  return all_pairs_ns(bytes) * (meet ? held_up : 1.0);
}

double formula_base::ways_ns(const std::vector<way>& ways, double bytes) const {
  if (const auto traced = links_.longest_ns(r_.ranks, ways, bytes)) return *traced;
  return over_cuts_ns(ways, bytes);
}

double formula_base::over_cuts_ns(const std::vector<way>& ways, double bytes) const {
  std::map<std::uint64_t, double> narrowest;  // 1e9 bytes/s one way, by ranks within the cut
  for (const cut& c : cuts_of(t_, c_, r_.ranks, 0)) {
    const double rate = std::min(c.out_gbytes_s, c.in_gbytes_s);
    const auto known = narrowest.try_emplace(c.ranks, rate).first;
    known->second = std::min(known->second, rate);
  }
  // By place between ranks: ways over it to higher ranks that begin here, less those that end; and to lower.
  std::vector<std::int64_t> higher(std::size_t{p_} + 1), lower(std::size_t{p_} + 1);
  for (const auto& [from, to] : ways) {
    if (from == to) continue;
    std::vector<std::int64_t>& change = from < to ? higher : lower;
    ++change[std::min(from, to) + 1];
    --change[std::max(from, to) + 1];
  }
  double most = 0;
  std::int64_t out = 0, in = 0;
  std::uint64_t place = 0;
  for (const auto& [ranks, gbytes_s] : narrowest) {
    for (; place < ranks; ++place) out += higher[place + 1], in += lower[place + 1];
    const auto crossing = static_cast<double>(std::max(out, in));
    if (crossing > 0) most = std::max(most, crossing * bytes * wires_.wire_bytes_per_byte() / gbytes_s);
  }
  return most;
}

double formula_base::peers_ns(const peer_fn& peer, double bytes) const {
  std::vector<way> ways;
  for (std::uint32_t r = 0; r < p_; ++r) {
    if (const auto other = peer(r)) ways.emplace_back(r, *other);
  }
  return ways_ns(ways, bytes);
}

double formula_base::laps_ns(const std::vector<std::vector<std::uint32_t>>& rings, double bytes,
                             bool both_ways) const {
  std::vector<way> ways;
  for (const std::vector<std::uint32_t>& ring : rings) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const std::uint32_t next = ring[(i + 1) % ring.size()];
      ways.emplace_back(ring[i], next);
      if (both_ways) ways.emplace_back(next, ring[i]);
    }
  }
  return ways_ns(ways, bytes);
}

double formula_base::chunks_of(double bytes, std::uint32_t depth) const {
  const auto whole = static_cast<std::uint64_t>(bytes);
  return d(comm::chunks_on_pipeline(c_, whole, whole / shortest_element, depth));
}

}  // namespace diecast::cost
