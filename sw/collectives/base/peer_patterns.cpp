// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/base/peer_patterns.hpp"

#include <fmt/format.h>

#include "models/types/error.hpp"
#include "sw/collectives/base/member_levels.hpp"

namespace diecast::comm {
namespace {

constexpr std::uint32_t most_levels = 20;

std::vector<edge> circulant_edges(const pattern_context& c, bool both_directions) {
  const auto& m = c.members.members;
  const auto n = static_cast<std::uint32_t>(m.size());
  std::vector<edge> edges;
  for (std::uint32_t r = 0; r < n; ++r) {
    for (std::uint32_t k = 0; k < circulant_levels(n); ++k) {
      const std::uint32_t step = std::uint32_t{1} << k;
      edges.push_back({m[r], up(k), m[(r + step) % n], both_directions, down(k)});
      if (both_directions) edges.push_back({m[r], down(k), m[(r + n - step) % n], true, up(k)});
    }
  }
  return edges;
}

}  // namespace

std::uint32_t circulant_levels(std::uint64_t ranks) {
  std::uint32_t levels = 0;
  while (std::uint64_t{1} << levels < ranks) ++levels;
  return levels;
}

std::vector<edge> circulant(const pattern_context& c) { return circulant_edges(c, true); }
std::vector<edge> circulant_unidir(const pattern_context& c) { return circulant_edges(c, false); }

std::vector<edge> pairwise(const pattern_context& c) {
  return line_edges(c.members, {{1, 1, 1, group_size(c)}});
}

std::vector<edge> shift(const pattern_context& c) {
  const auto& m = c.members.members;
  std::vector<edge> edges;
  for (std::size_t r = 0; m.size() > 1 && r < m.size(); ++r)
    edges.push_back({m[r], shift_next, m[(r + 1) % m.size()], false, shift_last});
  return edges;
}

std::vector<edge> star(const pattern_context& c) {
  const auto& m = c.members.members;
  const auto n = static_cast<std::uint32_t>(m.size());
  const std::uint32_t root = root_of(c);
  std::vector<edge> edges;
  for (std::uint32_t d = 1; d < n; ++d) {
    const pe_coord other = m[(root + d) % n];
    edges.push_back({m[root], star_spoke(d), other, true, star_root});
    edges.push_back({other, star_root, m[root], true, star_spoke(d)});
  }
  return edges;
}

std::vector<std::string> circulant_names() {
  std::vector<std::string> names;
  for (std::uint32_t k = 0; k < most_levels; ++k) {
    names.push_back(fmt::format("up{}", k));
    names.push_back(fmt::format("down{}", k));
  }
  return names;
}

std::vector<std::string> star_names() {
  std::vector<std::string> names = numbered_names("peer+", 1, 511);
  names.insert(names.begin(), "root");
  return names;
}

void add_line(std::vector<edge>& edges, const std::vector<pe_coord>& stops, direction forth, direction back,
              bool closed) {
  const std::size_t n = stops.size();
  if (n < 2) return;
  for (std::size_t i = 0; i < n; ++i) {
    if (closed || i + 1 < n) edges.push_back({stops[i], forth, stops[(i + 1) % n], true, back});
    if (closed || i > 0) edges.push_back({stops[i], back, stops[(i + n - 1) % n], true, forth});
  }
}

void join_ranks(std::vector<edge>& edges, const pattern_context& c, std::uint32_t a, direction at_a,
                std::uint32_t b, direction at_b) {
  const std::vector<pe_coord>& m = c.members.members;
  edges.push_back({m[a], at_a, m[b], true, at_b});
  edges.push_back({m[b], at_b, m[a], true, at_a});
}

std::uint32_t group_size(const pattern_context& c) {
  return static_cast<std::uint32_t>(c.members.members.size());
}

std::vector<edge> all_to_all(const pattern_context& c) {
  const std::uint32_t n = group_size(c);
  if (n > c.config.ipcq.queue_pairs + 1) {
    throw user_error({"ipcq.queue_pairs", fmt::format("too few for a direct exchange of {} ranks", n),
                      std::to_string(c.config.ipcq.queue_pairs),
                      fmt::format("at least {}, one for every other rank", n - 1)});
  }
  return pairwise(c);
}

}  // namespace diecast::comm
