// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/trees/nested_trees.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>
#include <utility>

#include "models/config/text.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {
namespace {

constexpr std::array<std::string_view, 4> units{"cube", "row", "sip", "pod"};
constexpr std::array<std::string_view, 3> trees{"ring", "tree", "direct"};

/// Whether two neighbors in the order of the ring are of one group; the second is number `i` of all leaders.
bool joined(const pattern_context& c, const tree_level& level, const pe_coord& a, const pe_coord& b,
            std::size_t i) {
  switch (level.unit) {
    case level_unit::cube: return a.sip == b.sip && a.cube == b.cube;
    case level_unit::row: return a.sip == b.sip && c.shape.cube_y(a.cube) == c.shape.cube_y(b.cube);
    case level_unit::sip: return a.sip == b.sip;
    case level_unit::pod: return true;
    case level_unit::count: break;
  }
  return i % level.members != 0;
}

/// Number of the parent of member i > 0 of n.
std::size_t parent_in(level_tree tree, std::size_t i, std::size_t n) {
  switch (tree) {
    case level_tree::ring: return i <= n / 2 ? i - 1 : (i + 1) % n;
    case level_tree::tree: return (i - 1) / 2;
    case level_tree::direct: break;
  }
  return 0;
}

/// The leaders of the level below, in the order of the ring, by groups of this level; the first of each leads
/// it.
std::vector<std::vector<std::uint32_t>> groups_of(const pattern_context& c, const tree_level& level,
                                                  const std::vector<std::uint32_t>& leaders) {
  std::vector<std::vector<std::uint32_t>> groups;
  for (std::size_t i = 0; i < leaders.size(); ++i) {
    const auto& all = c.members.members;
    if (i == 0 || !joined(c, level, all[leaders[i - 1]], all[leaders[i]], i)) groups.emplace_back();
    groups.back().push_back(leaders[i]);
  }
  // The ring passes every second row from its end, but the leaders of rows are in one column.
  if (level.unit == level_unit::row) {
    for (auto& group : groups) std::ranges::sort(group);
  }
  return groups;
}

}  // namespace

std::vector<tree_level> parse_levels(const std::string& text) {
  std::vector<tree_level> levels;
  for (const std::string& entry : config::split(text, ',')) {
    const std::vector<std::string> words = config::split(entry, ':');
    const auto unit = std::ranges::find(units, words.at(0)) - units.begin();
    const auto tree = std::ranges::find(trees, words.at(1)) - trees.begin();
    levels.push_back(
        {static_cast<level_unit>(unit), static_cast<std::uint32_t>(config::parse_count(words[0]).value_or(0)),
         static_cast<level_tree>(tree), words.size() > 2 ? config::parse_count(words[2]).value_or(0) : 0});
  }
  return levels;
}

void nested_trees::join(const std::vector<std::uint32_t>& group, std::uint32_t level) {
  for (std::size_t i = 1; i < group.size(); ++i) {
    const std::uint32_t above = group[parent_in(levels[level].tree, i, group.size())];
    nodes[group[i]].parent = above;
    nodes[above].children.push_back(group[i]);
    level_above[group[i]] = level;
  }
}

nested_trees::nested_trees(const pattern_context& c)
    : levels(parse_levels(c.config.ccl.levels)),
      nodes(c.members.members.size()),
      level_above(c.members.members.size()) {
  std::vector<std::uint32_t> leaders = ring_order(c.shape, c.members), led(nodes.size());
  for (std::uint32_t l = 0; l < levels.size(); ++l) {
    std::vector<std::uint32_t> next;
    for (std::vector<std::uint32_t>& group : groups_of(c, levels[l], leaders)) {
      join(group, l);
      if (group.size() > 1) ++led[group.front()];
      next.push_back(group.front());
    }
    leaders = std::move(next);
  }
  const auto refuse = [&c](std::string what, std::string expected) {
    throw user_error({"ccl.levels", std::move(what), c.config.ccl.levels, std::move(expected)});
  };
  if (leaders.size() > 1)
    refuse(fmt::format("the last level leaves {} leaders", leaders.size()),
           "a last level that joins all, such as pod:ring");
  if (const auto most = std::ranges::max_element(led); most != led.end() && *most > most_levels)
    refuse(fmt::format("a rank leads {} levels", *most),
           fmt::format("at most {}, of larger groups", most_levels));
  depth = depth_of(nodes);
}

std::vector<std::string> nested_tree_names() {
  constexpr std::uint32_t most = 511;  // queue pairs of a PE but the first
  std::vector<std::string> names = numbered_names("down", 0, most);
  names.insert(names.begin(), "up");
  return names;
}

std::vector<edge> nested_tree_edges(const pattern_context& c) {
  const nested_trees all(c);
  std::vector<edge> edges;
  for (std::uint32_t rank = 0; rank < all.nodes.size(); ++rank) {
    const std::vector<std::uint32_t>& children = all.nodes[rank].children;
    for (std::size_t i = 0; i < children.size(); ++i) {
      const pe_coord above = c.members.members[rank], below = c.members.members[children[i]];
      const auto down = static_cast<direction>(i + 1);
      edges.push_back({above, down, below, true, 0});
      edges.push_back({below, 0, above, true, down});
    }
  }
  return edges;
}

}  // namespace diecast::comm
