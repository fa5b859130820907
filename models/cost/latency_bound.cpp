// SPDX-License-Identifier: Apache-2.0
#include "models/cost/latency_bound.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "models/cost/message_cost.hpp"
#include "models/timing/link.hpp"

namespace diecast::cost {
namespace {

constexpr std::size_t all_pairs_up_to = 64;
constexpr int sweeps = 4;

sim_time idle(const fabric::topology& t, const config::machine_config& c, pe_coord from, pe_coord to) {
  return message_idle(t, c, from, to, message_flits(c, 1));
}

}  // namespace

sim_time best_tree(std::uint64_t ranks, sim_time hop, sim_time gap) {
  if (ranks <= 1) return {};
  // When the next message of some rank that has the word would arrive.
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> arrivals;
  arrivals.push(hop.fs);
  for (std::uint64_t have = 1;;) {
    const std::uint64_t now = arrivals.top();
    arrivals.pop();
    if (++have == ranks) return {now};
    arrivals.push(now + gap.fs);
    arrivals.push(now + hop.fs);
  }
}

far_pair farthest_from(const fabric::topology& t, const config::machine_config& c, const comm::group& g,
                       pe_coord rank, bool inbound) {
  far_pair far;
  for (const pe_coord& other : g.members) {
    if (other == rank) continue;
    const pe_coord from = inbound ? other : rank;
    const pe_coord to = inbound ? rank : other;
    const sim_time there = idle(t, c, from, to);
    if (there > far.idle) far = {there, from, to};
  }
  return far;
}

far_pair farthest_pair(const fabric::topology& t, const config::machine_config& c, const comm::group& g) {
  far_pair far;
  const auto take = [&far](const far_pair& other) {
    if (other.idle > far.idle) far = other;
  };
  if (g.members.size() <= all_pairs_up_to) {
    for (const pe_coord& m : g.members) take(farthest_from(t, c, g, m, false));
    return far;
  }
  pe_coord start = g.members.front();
  for (int i = 0; i < sweeps; ++i) {
    const far_pair found = farthest_from(t, c, g, start, false);
    take(found);
    start = found.to;
  }
  return far;
}

sim_time nearest_idle(const fabric::topology& t, const config::machine_config& c, const comm::group& g) {
  const timing::noc_timing noc = timing::noc_timing_of(c);
  const std::uint32_t flits = message_flits(c, 1);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<fabric::router_index>> cubes;
  for (const pe_coord& m : g.members) {
    cubes[{m.sip.value, m.cube.value}].push_back(t.layout(m.sip, m.cube).terminals.at(m.pe.value).router);
  }
  sim_time nearest = sim_time::never();
  for (const auto& [where, routers] : cubes) {
    for (std::size_t i = 0; i < routers.size(); ++i) {
      for (std::size_t k = i + 1; k < routers.size(); ++k) {
        const std::uint32_t links =
            std::min(t.distance(routers[i], routers[k]), t.distance(routers[k], routers[i]));
        nearest = std::min(nearest, noc.crossing({}, links, flits).tail);
      }
    }
  }
  if (cubes.size() < 2) return nearest;
  // Between cubes two NoCs are crossed and at least one link, or host memory.
  const sim_time noc_in = noc.crossing({}, 0, flits).tail, noc_out = noc.crossing({}, 0, 1).head;
  double link_ns = std::numeric_limits<double>::infinity();
  if (is_staged(c)) {
    const bool apart = cubes.begin()->first.first != cubes.rbegin()->first.first;
    if (apart) nearest = std::min(nearest, noc_in * 2 + staging_idle(c, flits));
  } else {
    link_ns = c.sip_link.latency_ns;
    for (std::uint32_t i = 0; i < t.sip_links().size(); ++i) {
      link_ns = std::min(link_ns, t.sip_link_settings(i).latency_ns);
    }
  }
  const auto beside = std::adjacent_find(cubes.begin(), cubes.end(), [](const auto& a, const auto& b) {
    return a.first.first == b.first.first;  // two cubes of one SIP
  });
  if (is_staged(c) && beside == cubes.end()) return nearest;
  for (std::uint32_t i = 0; i < t.shape().cubes(); ++i) {
    const sip_id sip{i / t.shape().cubes_per_sip()};
    const cube_id cube{i % t.shape().cubes_per_sip()};
    for (unsigned s = 0; s < fabric::sides; ++s) {
      const auto side = static_cast<fabric::side>(s);
      if (t.neighbor(cube, side)) link_ns = std::min(link_ns, t.ucie(sip, cube, side).latency_ns);
    }
  }
  if (std::isinf(link_ns)) return nearest;
  return std::min(nearest, noc_in + nanoseconds(link_ns) + noc_out);
}

}  // namespace diecast::cost
