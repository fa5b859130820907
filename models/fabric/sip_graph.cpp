// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/sip_graph.hpp"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <optional>
#include <set>

#include "models/config/placement.hpp"
#include "models/config/population.hpp"

namespace diecast::fabric {
namespace {

using config::pod_topology;

constexpr const char* compass[sides] = {"n", "e", "s", "w"};

/// Where the ports of every SIP are: as placement.sip_ports lists them, the others as they are placed by
/// themselves.
class gateways {
 public:
  explicit gateways(const config::machine_config& c)
      : shape_(c.shape()), listed_(config::listed_ports(c.placement.sip_ports)), used_(listed_.size()) {}

  gateway of(side s) {
    const auto cube = listed(compass[static_cast<unsigned>(s)]);
    return cube ? gateway{*cube, s} : compass_gateway(shape_, s);
  }
  /// Gateway of port `port` of `ports`.
  gateway of(std::uint32_t port, std::uint32_t ports) {
    const auto cube = listed(numbered(port));
    return cube ? gateway{*cube, outer_side(shape_, *cube)} : spread_gateway(shape_, port, ports);
  }
  static std::string numbered(std::uint32_t port) { return fmt::format("p{}", port); }

  void report_unused(std::vector<problem>& problems) const {
    for (std::size_t i = 0; i < listed_.size(); ++i) {
      if (used_[i]) continue;
      problems.push_back({"placement.sip_ports", "lists a port that no SIP of this pod has", listed_[i].label,
                          "a port of pod.topology: n, e, s, w of a ring, mesh or torus, else p0, p1 ..."});
    }
  }

 private:
  std::optional<cube_id> listed(const std::string& label) {
    for (std::size_t i = 0; i < listed_.size(); ++i) {
      if (listed_[i].label != label) continue;
      used_[i] = true;
      return shape_.cube_at(listed_[i].cube.column, listed_[i].cube.row);
    }
    return std::nullopt;
  }

  machine_shape shape_;
  std::vector<config::listed_port> listed_;
  std::vector<bool> used_;
};

void join(sip_graph& g, sip_connection there, const gateway& back_leaves, const std::string& back_label) {
  sip_connection back{there.to, there.from, back_leaves, back_label, there.dateline};
  g.links.push_back(std::move(there));
  g.links.push_back(std::move(back));
}

/// Whether a dimension closes into a ring. With two SIPs it does not: one pair of links joins them, and both
/// directions use that pair.
bool wraps(bool ring, std::uint32_t length) { return ring && length > 2; }

struct grid_rules {
  std::uint32_t columns{}, rows{};
  bool ring{};

  [[nodiscard]] std::uint32_t x(std::uint32_t sip) const { return sip % columns; }
  [[nodiscard]] std::uint32_t y(std::uint32_t sip) const { return sip / columns; }
};

void join_positive(sip_graph& g, gateways& ports, const grid_rules& grid, std::uint32_t sip, side s) {
  const bool along_x = s == side::east;
  const std::uint32_t length = along_x ? grid.columns : grid.rows;
  const std::uint32_t at = along_x ? grid.x(sip) : grid.y(sip);
  const bool closes = at + 1 == length;
  if (closes && !wraps(grid.ring, length)) return;
  const std::uint32_t stride = along_x ? 1 : grid.columns;
  const std::uint32_t to = closes ? sip - (length - 1) * stride : sip + stride;
  const side back = opposite(s);
  join(g, {sip, to, ports.of(s), compass[static_cast<unsigned>(s)], closes}, ports.of(back),
       compass[static_cast<unsigned>(back)]);
}

/// Direction of the next hop on a grid: X first; on a ring the shorter direction round, ties go positive.
side grid_side(const grid_rules& grid, std::uint32_t from, std::uint32_t to) {
  const bool along_x = grid.x(from) != grid.x(to);
  const std::uint32_t length = along_x ? grid.columns : grid.rows;
  const std::uint32_t a = along_x ? grid.x(from) : grid.y(from);
  const std::uint32_t b = along_x ? grid.x(to) : grid.y(to);
  const std::uint32_t forward = (b + length - a) % length;
  const bool positive = wraps(grid.ring, length) ? forward <= length - forward : b > a;
  if (along_x) return positive ? side::east : side::west;
  return positive ? side::north : side::south;
}

void join_grid(sip_graph& g, gateways& ports, const grid_rules& grid) {
  for (std::uint32_t sip = 0; sip < g.sips; ++sip) {
    join_positive(g, ports, grid, sip, side::east);
    join_positive(g, ports, grid, sip, side::north);
  }
}

void route_grid(sip_graph& g, const grid_rules& grid) {
  std::vector<std::uint16_t> by_side(std::size_t{g.sips} * sides, no_link);
  for (std::size_t l = 0; l < g.links.size(); ++l) {
    const sip_connection& link = g.links[l];
    by_side[link.from * sides + static_cast<unsigned>(link.leaves.edge)] = static_cast<std::uint16_t>(l);
  }
  for (std::uint32_t from = 0; from < g.sips; ++from) {
    for (std::uint32_t to = 0; to < g.sips; ++to) {
      if (from == to) continue;
      g.next[std::size_t{from} * g.sips + to] =
          by_side[from * sides + static_cast<unsigned>(grid_side(grid, from, to))];
    }
  }
}

/// Joins the pairs in order; ports of a SIP are numbered in that order and spread over its edge.
void build_pairs(sip_graph& g, gateways& places,
                 const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs) {
  std::vector<std::uint32_t> ports(g.sips), used(g.sips);
  for (const auto& [a, b] : pairs) {
    ++ports[a];
    ++ports[b];
  }
  for (const auto& [a, b] : pairs) {
    const std::uint32_t pa = used[a]++;
    const std::uint32_t pb = used[b]++;
    join(g, {a, b, places.of(pa, ports[a]), gateways::numbered(pa), false}, places.of(pb, ports[b]),
         gateways::numbered(pb));
  }
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> listed_pairs(const config::pod_block& pod,
                                                                  std::vector<problem>& problems) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (std::size_t i = 0; i < pod.links.size(); ++i) {
    const config::pod_link& l = pod.links[i];
    const std::string where = fmt::format("pod.links[{}]", i);
    const std::string value = fmt::format("{} - {}", l.from, l.to);
    if (l.from >= pod.sips || l.to >= pod.sips) {
      problems.push_back({where, "no such SIP", value, fmt::format("SIPs 0 to {}", pod.sips - 1)});
    } else if (l.from == l.to) {
      problems.push_back({where, "a SIP is linked to itself", value, "two different SIPs"});
    } else if (!seen.insert(std::minmax(l.from, l.to)).second) {
      problems.push_back({where, "these SIPs are linked already", value, "each pair once"});
    } else {
      pairs.emplace_back(l.from, l.to);
    }
  }
  return pairs;
}

/// Shortest paths over links that are not off; of equally short ones the link of the lowest index.
void route_shortest(sip_graph& g, const std::vector<bool>& off) {
  std::vector<std::vector<std::uint16_t>> leaving(g.sips);  // in ascending order
  for (std::size_t l = 0; l < g.links.size(); ++l)
    if (off.empty() || !off[l]) leaving[g.links[l].from].push_back(static_cast<std::uint16_t>(l));
  for (std::uint32_t to = 0; to < g.sips; ++to) {
    std::vector<std::uint32_t> distance(g.sips, g.sips);
    std::deque<std::uint32_t> open{to};
    distance[to] = 0;
    while (!open.empty()) {
      const std::uint32_t at = open.front();
      open.pop_front();
      for (const std::uint16_t l : leaving[at]) {
        const std::uint32_t before = g.links[l].to;  // links are two-way: it has a link to `at` as well
        if (distance[before] != g.sips) continue;
        distance[before] = distance[at] + 1;
        open.push_back(before);
      }
    }
    for (std::uint32_t from = 0; from < g.sips; ++from) {
      const auto nearer = [&](std::uint16_t l) { return distance[g.links[l].to] + 1 == distance[from]; };
      const auto l = std::ranges::find_if(leaving[from], nearer);
      if (from != to && l != leaving[from].end()) g.next[std::size_t{from} * g.sips + to] = *l;
    }
  }
}

/// One problem per SIP that SIP 0 cannot reach, links being two-way; names every such pair with 0.
void check_reach(const sip_graph& g, const char* where, std::vector<problem>& problems) {
  for (std::uint32_t sip = 1; sip < g.sips; ++sip) {
    if (g.next_link(0, sip) != no_link) continue;
    problems.push_back({where, "SIPs that no path of links joins", fmt::format("pod.sip0 and pod.sip{}", sip),
                        "a path between every two SIPs"});
  }
}

void measure_routes(sip_graph& g, bool grid) {
  if (grid) g.datelines_ahead.resize(std::size_t{g.sips} * g.sips);
  for (std::uint32_t from = 0; from < g.sips; ++from) {
    for (std::uint32_t to = 0; to < g.sips; ++to) {
      std::uint32_t hops = 0;
      std::uint32_t datelines = 0;
      for (std::uint32_t at = from; at != to; ++hops) {
        const sip_connection& l = g.links[g.next_link(at, to)];
        datelines += l.dateline ? 1 : 0;
        at = l.to;
      }
      g.max_hops = std::max(g.max_hops, hops);
      g.max_datelines = std::max(g.max_datelines, datelines);
      if (grid) g.datelines_ahead[std::size_t{from} * g.sips + to] = static_cast<std::uint8_t>(datelines);
    }
  }
}

/// Shape of a ring, mesh or torus; nothing for the other kinds of pod.
std::optional<grid_rules> grid_of(const config::machine_config& c) {
  switch (c.pod.topology) {
    case pod_topology::ring: return grid_rules{static_cast<std::uint32_t>(c.pod.sips), 1, true};
    case pod_topology::mesh_2d:
    case pod_topology::torus_2d: {
      const config::pod_grid p = config::pod_grid_of(c.pod);
      return grid_rules{p.columns, p.rows, c.pod.topology == pod_topology::torus_2d};
    }
    case pod_topology::fully_connected:
    case pod_topology::list: return std::nullopt;
  }
  return std::nullopt;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> all_pairs(std::uint32_t sips) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t a = 0; a < sips; ++a)
    for (std::uint32_t b = a + 1; b < sips; ++b) pairs.emplace_back(a, b);
  return pairs;
}

}  // namespace

sip_graph join_sips(const config::machine_config& c, std::vector<problem>& problems) {
  sip_graph g;
  g.sips = static_cast<std::uint32_t>(c.pod.sips);
  gateways ports(c);
  try {
    if (const auto grid = grid_of(c)) {
      join_grid(g, ports, *grid);
    } else if (c.pod.topology == pod_topology::fully_connected) {
      build_pairs(g, ports, all_pairs(g.sips));
    } else {
      build_pairs(g, ports, listed_pairs(c.pod, problems));
    }
    ports.report_unused(problems);
  } catch (const user_error& e) {
    problems.insert(problems.end(), e.problems().begin(), e.problems().end());
  }
  return g;
}

void route_sips(sip_graph& g, const config::machine_config& c, const std::vector<bool>& off,
                std::vector<problem>& problems) {
  const std::size_t before = problems.size();
  g.next.assign(std::size_t{g.sips} * g.sips, no_link);
  const bool whole = std::ranges::find(off, true) == off.end();
  const auto grid = whole ? grid_of(c) : std::nullopt;
  if (grid) {
    route_grid(g, *grid);
  } else {
    route_shortest(g, off);
    check_reach(g, whole ? "pod.links" : "overrides", problems);
  }
  if (problems.size() == before) measure_routes(g, grid.has_value());
}

}  // namespace diecast::fabric
