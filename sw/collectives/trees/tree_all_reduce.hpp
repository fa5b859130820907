// SPDX-License-Identifier: Apache-2.0
// All-reduce on a tree: sums flow up, the result flows down, chunk by chunk. Every element is summed along
// one path in a fixed order and then copied, so all PEs end with the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sw/collectives/base/blocks.hpp"
#include "sw/collectives/base/kernel_table.hpp"

namespace diecast::sw {

struct tree_place {
  std::optional<comm::direction> parent;
  /// Groups of children, whose contributions are added group by group.
  std::vector<std::vector<comm::direction>> children;

  /// Rank of this PE in a binomial tree, whose edges are comm::partner(round): steps name round and partner.
  std::optional<std::uint32_t> binomial_rank{};

  bool divides{true};  ///< the root divides averages; false when it adds more before it does
};

/// Sums `range` up the tree and spreads the result, in `chunks` nearly equal parts. With one chunk the
/// downward pass starts when the upward pass has ended; with more they overlap, as tasks.
void tree_all_reduce(pe_context& pe, const tree_place& tree, const tcm_range& range, std::uint64_t chunks);

/// The two directions as tasks, for kernels that also run others. `summed` counts the chunks that were sent
/// up; a chunk is sent down when `ready(chunk)` is true, at the earliest when it has been sent up.
[[nodiscard]] std::function<void()> tree_up(pe_context& pe, const tree_place& tree, const tcm_range& range,
                                            std::uint64_t chunks, std::uint64_t& summed);
[[nodiscard]] std::function<void()> tree_down(pe_context& pe, const tree_place& tree, const tcm_range& range,
                                              std::uint64_t chunks, std::function<bool(std::uint64_t)> ready);
/// Sums and results; a chunk is sent down as soon as it has been sent up.
[[nodiscard]] std::vector<std::function<void()>> tree_tasks(pe_context& pe, const tree_place& tree,
                                                            const tcm_range& range, std::uint64_t chunks,
                                                            std::uint64_t& summed);

/// Chunks of a vector of `bytes` on a pipeline of `depth` successive messages: ccl.chunks, or else the
/// number that ends soonest when a message costs a fixed time and a time per byte. At least 1.
[[nodiscard]] std::uint64_t chunks_for(const argument_context& c, std::uint64_t bytes, std::uint32_t depth);

}  // namespace diecast::sw
