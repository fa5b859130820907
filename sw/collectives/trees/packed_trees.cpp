// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/trees/packed_trees.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>

#include "models/config/field.hpp"
#include "sw/collectives/trees/trees.hpp"

namespace diecast::comm {
/// Queue pairs of an edge. With four slots each they cover an edge of four steps within a SIP, and most of a
/// path across two SIPs.
constexpr std::uint32_t widest_within = 2;
constexpr std::uint32_t widest_crossing = 4;

tree_memory::question::question(const pattern_context& c, bool upwards)
    : overrides(c.config.overrides),
      shape(c.shape),
      members(c.members.members),
      root(c.root),
      shares_queue_pairs(c.shares_queue_pairs),
      up(upwards) {
  for (const config::block_table& block : config::tables())
    for (const config::field& f : block.fields) values += config::to_text(f.get(c.config)) + '\n';
}

tree_pair tree_memory::trees_of(const pattern_context& c, bool up, const search_fn& search) {
  question key(c, up);
  const auto same = [&](const known& k) { return k.key == key; };
  if (const auto at = std::ranges::find_if(last_, same); at != last_.end()) return at->found;
  tree_pair found = search(c, up);
  ++searches_;
  if (last_.size() == most_known) last_.pop_front();
  last_.push_back({std::move(key), std::move(found)});
  return last_.back().found;
}

tree_memory& tree_memory::of_process() {
  static tree_memory one;
  return one;
}

packed_trees::packed_trees(const pattern_context& c, flow to) {
  const auto search = [](const pattern_context& context, bool up) {
    tree_pair found = grown_trees(context, up);
    improve_trees(context, up, found);
    return found;
  };
  nodes_ = tree_memory::of_process().trees_of(c, to == flow::up, search);
  for (const pe_coord& m : c.members.members) sips_.push_back(m.sip);
  const auto fits = [&] {
    return packed_parent(packed_trees::trees - 1, std::max(within_, crossing_) - 1) <
               c.config.ipcq.queue_pairs &&
           most_child_directions() <= named_children;
  };
  if (c.shares_queue_pairs) return;
  within_ = widest_within;
  const bool one_sip = std::ranges::all_of(sips_, [&](sip_id s) { return s == sips_.front(); });
  crossing_ = one_sip ? 1 : widest_crossing;
  while (crossing_ > 1 && !fits()) --crossing_;
  while (within_ > 1 && !fits()) --within_;
}

std::uint32_t packed_trees::child_directions(std::uint32_t rank, std::uint32_t used) const {
  std::uint32_t directions = 0;
  for (const auto& nodes : nodes_)
    for (const std::uint32_t child : nodes[rank].children) directions += std::min(used, width(rank, child));
  return directions;
}

std::uint32_t packed_trees::most_child_directions() const {
  constexpr std::uint32_t all = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t most = 0;
  for (std::uint32_t r = 0; r < sips_.size(); ++r) most = std::max(most, child_directions(r, all));
  return most;
}

std::vector<edge> packed_tree_edges(const pattern_context& c) {
  const std::vector<pe_coord>& m = c.members.members;
  const packed_trees plan(c);
  std::vector<edge> edges;
  for (std::uint32_t r = 0; r < m.size(); ++r) {
    std::uint32_t index = 0;
    for (std::uint32_t t = 0; t < packed_trees::trees; ++t) {
      for (const std::uint32_t child : plan.node(t, r).children) {
        for (std::uint32_t i = 0; i < plan.width(r, child); ++i)
          edges.push_back({m[r], packed_child(index++), m[child], false, packed_parent(t, i)});
      }
    }
  }
  return edges;
}

std::vector<std::string> packed_tree_names() {
  std::vector<std::string> names{"parent", "parent2"};
  for (std::uint32_t i = 0; i < named_children; ++i) names.push_back(fmt::format("child{}", i));
  for (std::uint32_t i = 1; i < widest_crossing; ++i)
    for (const char* tree : {"parent", "parent2"}) names.push_back(fmt::format("{}_{}", tree, i));
  return names;
}

}  // namespace diecast::comm
