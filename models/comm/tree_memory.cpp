// SPDX-License-Identifier: Apache-2.0
#include "models/comm/tree_memory.hpp"

#include <algorithm>
#include <utility>

#include "models/config/field.hpp"

namespace diecast::comm {

tree_memory::question::question(const pattern_context& c, bool up_ways)
    : overrides(c.config.overrides),
      shape(c.shape),
      members(c.members.members),
      root(c.root),
      shares_queue_pairs(c.shares_queue_pairs),
      up(up_ways) {
  for (const config::block_table& block : config::tables()) {
    for (const config::field& f : block.fields) values += config::to_text(f.get(c.config)) + '\n';
  }
}

/// A search may ask for trees itself: what it needs is known before it is.
tree_memory::nodes tree_memory::trees_of(const pattern_context& c, bool up, const search_fn& search) {
  question asked(c, up);
  const auto same = [&](const known& k) { return k.asked == asked; };
  if (const auto at = std::find_if(last_.begin(), last_.end(), same); at != last_.end()) return at->found;
  nodes found = search(c, up);
  ++searches_;
  if (last_.size() == most_known) last_.pop_front();
  last_.push_back({std::move(asked), std::move(found)});
  return last_.back().found;
}

tree_memory& tree_memory::of_process() {
  static tree_memory one;
  return one;
}

}  // namespace diecast::comm
