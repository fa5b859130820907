// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/rings/ring_passes.hpp"

#include <algorithm>

namespace diecast::sw {
namespace {

/// An item and its turn, counted over all passes.
struct scheduled {
  std::uint64_t turn{};
  std::size_t pass{};
  const pass_item* item{};
};

std::vector<scheduled> in_turn(const std::vector<ring_pass>& passes, std::uint32_t apart) {
  std::vector<scheduled> order;
  for (std::size_t i = 0; i < passes.size(); ++i)
    for (const pass_item& item : passes[i]) order.push_back({std::uint64_t{apart} * i + item.turn, i, &item});
  std::ranges::stable_sort(order, {}, &scheduled::turn);
  return order;
}

void add(pe_context::pipeline& pipeline, const pass_item& item, pe_context::arrival how) {
  const pe_context::stage stage{item.range.at, item.range.bytes, how};
  if (item.received && item.sent) {
    pipeline.pass(stage);
  } else if (item.received) {
    pipeline.received.push_back(stage);
  } else {
    pipeline.sent.push_back({stage.offset, stage.bytes, {}});
  }
  // Entry 0 stands for the item's own arrival.
  if (item.sent) std::ranges::copy(item.after, pipeline.sent.back().after.begin() + 1);
}

}  // namespace

std::uint32_t two_way_ring::reach(std::int64_t distance, std::size_t w) const {
  const bool farthest = members % 2 == 0 && (splits() || turn_of(distance) == w);
  return (members - 1) / 2 + (farthest ? 1 : 0);
}

std::array<tcm_range, 2> two_way_ring::halves(const tcm_range& block, std::int64_t distance) const {
  const std::uint64_t slots = (block.bytes + slot - 1) / slot;
  const std::uint64_t first = std::min(block.bytes, (slots + turn_of(distance)) / 2 * slot);
  return {tcm_range{block.at, first}, tcm_range{block.at + first, block.bytes - first}};
}

// On a ring that splits blocks, direction `w` takes half `w` of a block to or from the farthest member. All
// members pass that half first in a gather and last in a sum: there the other half starts one hop nearer, at
// a member that waits for no arrival.

ring_pass gather_pass(std::size_t w, const two_way_ring& ring, const block_at& block,
                      const pe_context::awaited& own) {
  ring_pass items;
  for (std::uint32_t hops = 0; hops <= ring.most_hops(); ++hops) {
    const std::int64_t distance = -ring_directions[w] * hops;
    const std::uint32_t reach = ring.reach(distance, w);
    const auto add = [&](const tcm_range& range, std::uint32_t last) {
      if (hops > last || last == 0) return;
      items.push_back({.turn = hops, .range = range, .received = hops > 0, .sent = hops < last});
      if (hops > 0) return;
      items.back().after = {own};
      items.back().after[0].at = range.at - block(0).at;
    };
    if (!ring.splits()) {
      add(block(distance), reach);
      continue;
    }
    const std::array<tcm_range, 2> halves = ring.halves(block(distance), distance);
    add(halves.at(w), reach);
    add(halves.at(1 - w), reach - 1);
  }
  return items;
}

ring_pass sum_pass(std::size_t w, const two_way_ring& ring, const block_at& block,
                   const std::function<awaited_stages(std::int64_t)>& own_part) {
  ring_pass items;
  for (std::uint32_t hops = ring.most_hops() + 1; hops-- > 0;) {
    const std::int64_t distance = ring_directions[w] * hops;
    const std::uint32_t reach = ring.reach(distance, w);
    const auto add = [&](const tcm_range& range, std::uint32_t first) {
      if (hops > first || first == 0) return;
      awaited_stages after = hops > 0 ? own_part(distance) : awaited_stages{};
      for (pe_context::awaited& a : after) a.at += range.at - block(distance).at;
      items.push_back({.turn = ring.most_hops() - hops,
                       .range = range,
                       .received = (hops < first),
                       .sent = (hops > 0),
                       .after = after});
    };
    if (!ring.splits()) {
      add(block(distance), reach);
      continue;
    }
    const std::array<tcm_range, 2> halves = ring.halves(block(distance), distance);
    add(halves.at(1 - w), reach - 1);
    add(halves.at(w), reach);
  }
  return items;
}

std::vector<pass_place> schedule_passes(pe_context::pipeline& pipeline, const std::vector<ring_pass>& passes,
                                        pe_context::arrival how, std::uint32_t apart) {
  std::vector<pass_place> places(passes.size());
  std::vector<bool> begun(passes.size());
  std::uint64_t bytes = 0;
  for (const scheduled& s : in_turn(passes, apart)) {
    pass_place& place = places[s.pass];
    if (!begun[s.pass]) place.before = bytes;
    begun[s.pass] = true;
    add(pipeline, *s.item, how);
    if (!s.item->received) continue;
    bytes += s.item->range.bytes;
    place.through = bytes;
    place.last = static_cast<std::int32_t>(pipeline.received.size()) - 1;
  }
  return places;
}

}  // namespace diecast::sw
