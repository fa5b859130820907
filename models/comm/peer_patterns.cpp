// SPDX-License-Identifier: Apache-2.0
#include "models/comm/peer_patterns.hpp"

#include <fmt/format.h>

#include "models/comm/trees.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {
namespace {

constexpr std::uint32_t most_levels = 20;

std::vector<edge> circulant_edges(const pattern_context& c, bool both_ways) {
  const auto& m = c.members.members;
  const auto n = static_cast<std::uint32_t>(m.size());
  std::vector<edge> edges;
  for (std::uint32_t r = 0; r < n; ++r) {
    for (std::uint32_t k = 0; k < circulant_levels(n); ++k) {
      const std::uint32_t step = std::uint32_t{1} << k;
      edges.push_back({m[r], up(k), m[(r + step) % n], both_ways, down(k)});
      if (both_ways) edges.push_back({m[r], down(k), m[(r + n - step) % n], true, up(k)});
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
  const auto& m = c.members.members;
  const auto n = static_cast<std::uint32_t>(m.size());
  std::vector<edge> edges;
  for (std::uint32_t r = 0; r < n; ++r) {
    for (std::uint32_t d = 1; d < n; ++d)
      edges.push_back({m[r], ahead(d), m[(r + d) % n], true, ahead(n - d)});
  }
  return edges;
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

// Patterns made of trees and of partners met step by step.

namespace {

std::uint32_t ranks_of(const pattern_context& c) {
  return static_cast<std::uint32_t>(c.members.members.size());
}

/// Both directions of an edge whose directions are known at both ends.
void join(std::vector<edge>& edges, const pattern_context& c, std::uint32_t a, direction at_a,
          std::uint32_t b, direction at_b) {
  const std::vector<pe_coord>& m = c.members.members;
  edges.push_back({m[a], at_a, m[b], true, at_b});
  edges.push_back({m[b], at_b, m[a], true, at_a});
}

/// A tree with at most two children; `first` is the direction of the parent, the children follow.
template <class Tree>
void add_tree(std::vector<edge>& edges, const pattern_context& c, Tree tree, direction first) {
  for (std::uint32_t r = 0; r < ranks_of(c); ++r) {
    const tree_node node = tree(r, ranks_of(c));
    for (std::size_t i = 0; i < node.children.size(); ++i)
      join(edges, c, r, static_cast<direction>(first + 1 + i), node.children[i], first);
  }
}

void add_folds(std::vector<edge>& edges, const pattern_context& c, const fold& f) {
  for (std::uint32_t pair = 0; pair < f.pairs; ++pair)
    join(edges, c, f.holder(pair), fold_partner, f.holder(pair) + 1, fold_partner);
}

/// The step of two active ranks by their numbers.
void join_numbers(std::vector<edge>& edges, const pattern_context& c, const fold& f, std::uint32_t step,
                  std::uint32_t a, std::uint32_t b) {
  join(edges, c, f.rank_of(a), partner(step), f.rank_of(b), partner(step));
}

}  // namespace

std::vector<edge> tree_binary(const pattern_context& c) {
  std::vector<edge> edges;
  add_tree(edges, c, binary_tree, parent);
  return edges;
}

std::vector<edge> double_binary_tree(const pattern_context& c) {
  std::vector<edge> edges;
  add_tree(edges, c, in_order_tree, parent);
  add_tree(edges, c, complementary_tree, second_tree);
  return edges;
}

std::vector<edge> binomial_tree(const pattern_context& c) {
  std::vector<edge> edges;
  for (std::uint32_t r = 0; r < ranks_of(c); ++r) {
    for (const std::uint32_t child : binomial_tree(r, ranks_of(c)).children) {
      const direction d = partner(binomial_edge(r, child));
      join(edges, c, r, d, child, d);
    }
  }
  return edges;
}

std::vector<edge> recursive_doubling(const pattern_context& c) {
  const fold f = fold_to_power_of_two(ranks_of(c));
  std::vector<edge> edges;
  for (std::uint32_t s = 0; s < f.steps; ++s) {
    for (std::uint32_t number = 0; number < f.active; ++number) {
      const std::uint32_t other = number ^ 1U << s;
      if (number < other) join_numbers(edges, c, f, s, number, other);
    }
  }
  add_folds(edges, c, f);
  return edges;
}

std::vector<edge> swing(const pattern_context& c) {
  const fold f = fold_to_even(ranks_of(c));
  std::vector<edge> edges;
  for (std::uint32_t s = 0; s < f.steps; ++s) {
    for (std::uint32_t number = 0; number < f.active; number += 2)
      join_numbers(edges, c, f, s, number, swing_peer(number, s, f.active));
  }
  add_folds(edges, c, f);
  return edges;
}

std::vector<edge> all_to_all(const pattern_context& c) {
  const std::uint32_t n = ranks_of(c);
  if (n > c.config.ipcq.queue_pairs + 1) {
    throw user_error({"ipcq.queue_pairs", fmt::format("too few for a direct exchange of {} ranks", n),
                      std::to_string(c.config.ipcq.queue_pairs),
                      fmt::format("at least {}, one for every other rank", n - 1)});
  }
  return pairwise(c);
}

}  // namespace diecast::comm
