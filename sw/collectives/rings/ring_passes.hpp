// SPDX-License-Identifier: Apache-2.0
// Passes of blocks round a ring, half round in each direction, as pipelines of a stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "sw/collectives/base/blocks.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {

/// A member's place on a ring. Blocks go in both directions, to half of the members each, so that a pass has
/// half the hops. On a ring of an even number the farthest member is reached in one direction only,
/// alternating by position, or, on a ring that splits blocks, with half of its block in each direction.
struct two_way_ring {
  std::uint32_t position{}, members{};
  std::uint64_t slot{};  ///< bytes of a message where the block for the farthest is split; 0: it is not

  [[nodiscard]] bool splits() const { return slot > 0 && members % 2 == 0 && members > 2; }
  /// Hops that the block of the member at `distance`, or a part of it, goes in direction `w`.
  [[nodiscard]] std::uint32_t reach(std::int64_t distance, std::size_t w) const;
  [[nodiscard]] std::uint32_t most_hops() const { return members / 2; }
  /// The parts of the block of the member at `distance` that reach the farthest member in each direction:
  /// whole slots, an odd one in alternating directions.
  [[nodiscard]] std::array<tcm_range, 2> halves(const tcm_range& block, std::int64_t distance) const;

 private:
  [[nodiscard]] std::uint32_t turn_of(std::int64_t distance) const {
    return around(position, distance, members) % 2;
  }
};

/// Stages that a range waits for before it is sent, beside its own arrival.
using awaited_stages = std::array<pe_context::awaited, 2>;

/// What a member does with a range in a pass: receives it, sends it, or receives it and sends it on.
struct pass_item {
  std::uint32_t turn{};  ///< time step: an item is forwarded in its turn and received in the next one
  tcm_range range;
  bool received{}, sent{};
  awaited_stages after{};  ///< stages that the sent slots wait for
};
/// One direction round a ring, in the order of turns.
using ring_pass = std::vector<pass_item>;
/// The block of the member at a distance.
using block_at = std::function<tcm_range(std::int64_t)>;

/// Takes a ring's blocks to all its members in direction `w`. `own`: the stage that the own block waits for.
[[nodiscard]] ring_pass gather_pass(std::size_t w, const two_way_ring& ring, const block_at& block,
                                    const pe_context::awaited& own);
/// The reverse of gather_pass(): sums travel to their owners, the farthest first. own_part(d): stages that
/// complete this PE's part of the sum for the member at distance d.
[[nodiscard]] ring_pass sum_pass(std::size_t w, const two_way_ring& ring, const block_at& block,
                                 const std::function<awaited_stages(std::int64_t)>& own_part);

/// The place of a pass in the lists of a pipeline.
struct pass_place {
  std::uint64_t before{};   ///< bytes that the pipeline receives before the pass's first item
  std::uint64_t through{};  ///< bytes up to the pass's last item
  std::int32_t last{-1};    ///< last stage of the pass; -1: it receives nothing
};

/// Adds passes to a pipeline, each `apart` turns after the one before, those of one turn in the order of
/// passes. All members of a ring must use the same order, so that no send waits for a later receive.
/// Returns a place for each pass.
std::vector<pass_place> schedule_passes(pe_context::pipeline& pipeline, const std::vector<ring_pass>& passes,
                                        pe_context::arrival how, std::uint32_t apart);

}  // namespace diecast::sw
