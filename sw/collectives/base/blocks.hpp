// SPDX-License-Identifier: Apache-2.0
// Parts of block-wise collectives: the vector of one block per rank, its place for collectives in place and
// others, and exchanges of consecutive blocks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "sw/collectives/base/kernel_table.hpp"
#include "sw/collectives/base/member_levels.hpp"
#include "sw/collectives/base/peer_patterns.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {

/// A vector of args().count elements in TCM, cut into one block per rank (comm::part_of).
class block_vector {
 public:
  block_vector(pe_context& pe, std::uint64_t base);

  [[nodiscard]] std::uint32_t blocks() const { return ranks_; }
  [[nodiscard]] tcm_range whole() const;
  [[nodiscard]] tcm_range block(std::uint32_t rank) const;
  /// Part `index` of `parts` of a block, or of the whole.
  [[nodiscard]] tcm_range part_of_block(std::uint32_t rank, std::uint64_t index, std::uint64_t parts) const;
  [[nodiscard]] tcm_range part_of_whole(std::uint64_t index, std::uint64_t parts) const;
  /// Blocks first, first + 1, ... first + n - 1 modulo the ranks: one range, or two when they wrap. The
  /// second may be empty. n <= ranks.
  [[nodiscard]] std::array<tcm_range, 2> blocks_from(std::uint32_t first, std::uint32_t n) const;

 private:
  [[nodiscard]] tcm_range range(std::uint64_t begin, std::uint64_t end) const;

  std::uint64_t base_, count_, element_;
  std::uint32_t ranks_;
};

/// Exchanges pairs of ranges, in their order. Both ends must cut messages alike.
void exchange(pe_context& pe, comm::direction send_dir, const std::array<tcm_range, 2>& sent,
              comm::direction recv_dir, const std::array<tcm_range, 2>& received, pe_context::arrival how);

/// Copies a vector's blocks to places `stride` bytes apart. Blocks shorter than that are padded with bytes of
/// the vector, which no rank reads: consecutive places are sent together, and sent memory must have been
/// written.
void spread_blocks(pe_context& pe, const block_vector& v, std::uint64_t to, std::uint64_t stride);

/// (value + distance) modulo size, for distances down to -size.
[[nodiscard]] std::uint32_t around(std::uint32_t value, std::int64_t distance, std::uint32_t size);

// Gathering: the output, with this rank's contribution in its block. Reducing to the root or to all:
// the output, which starts as the contribution. Scattering reductions: the input in place, else a copy
// in scratch, so that the input survives.

[[nodiscard]] block_vector gathered_in_output(pe_context& pe);
[[nodiscard]] block_vector reduced_in_output(pe_context& pe);
[[nodiscard]] block_vector scattered_from_input(pe_context& pe);
/// Copies this rank's block of the vector to the place of the result.
void deliver_own_block(pe_context& pe, const block_vector& v);
/// deliver_own_block() for sums, which divides averages.
void deliver_own_sum(pe_context& pe, const block_vector& v);

/// Scratch of kernels with scattered_from_input, after `words` 64-bit words of image.
[[nodiscard]] std::uint64_t scatter_scratch(const argument_context& c, std::uint64_t words);
/// Sets the place of the copy.
void fill_scatter(std::uint64_t words, abi::kernel_arguments& a);

/// Ranks in the order of a ring, from this rank on, from the image of ring kernels.
[[nodiscard]] std::vector<std::uint64_t> ring_image(const argument_context& c, std::uint32_t rank);
[[nodiscard]] std::uint64_t ring_image_words(const argument_context& c);
/// Numbers packed in pairs, as in such an image.
[[nodiscard]] std::vector<std::uint64_t> packed_image(const std::vector<std::uint32_t>& numbers);
/// Appends the members of a ring in its order, from its member `own` on.
void append_from(std::vector<std::uint32_t>& numbers, const std::vector<std::uint32_t>& ring,
                 std::uint32_t own);
/// The first `count` entries of the image.
[[nodiscard]] std::vector<std::uint32_t> ring_from_image(pe_context& pe, std::uint32_t count);

/// The two directions round a ring.
inline constexpr std::array<std::int64_t, 2> ring_directions{1, -1};

/// One pipeline for each of the two directions. Moved into the list: elements of a list in braces are copied,
/// and pipelines round thousands of ranks are long.
template <class Make>
[[nodiscard]] std::vector<pe_context::pipeline> pipelines_both_directions(const Make& make) {
  std::vector<pe_context::pipeline> pipelines;
  pipelines.reserve(ring_directions.size());
  for (const std::int64_t direction : ring_directions) pipelines.push_back(make(direction));
  return pipelines;
}

/// A pipeline round the ring. direction +1: towards the next position; -1: towards the previous one.
[[nodiscard]] pe_context::pipeline ring_pipeline(std::int64_t direction);
/// Pipelines of a node of a tree or chain. Down: the range comes from the parent (the root has it) and goes
/// to the children. Up: the children's sums are added to it, and it goes to the parent (at the root it
/// stays).
[[nodiscard]] pe_context::pipeline down_pipeline(const tcm_range& range,
                                                 const std::vector<comm::direction>& parent,
                                                 const std::vector<comm::direction>& children);
[[nodiscard]] pe_context::pipeline up_pipeline(const tcm_range& range,
                                               const std::vector<comm::direction>& children,
                                               const std::vector<comm::direction>& parent);
/// Adds to a pipeline a pass of a ring: sends `first`, passes on what it receives but the last.
void add_pass(pe_context::pipeline& pipeline, const pe_context::outgoing& first,
              const std::vector<pe_context::stage>& received);

// Ranges of the output vector, in which most kernels work.

/// The output vector of this PE.
[[nodiscard]] tcm_range whole(pe_context& pe);
/// Part `index` of `parts` nearly equal ones, in whole elements; parts may be empty.
[[nodiscard]] tcm_range part(pe_context& pe, const tcm_range& whole, std::uint64_t index,
                             std::uint64_t parts);
/// Copies the input to the output unless they are one.
void start_in_output(pe_context& pe);

// A PE's position in the grid of comm::sip_rows: rows are SIPs, columns the positions within a SIP.

struct grid_place {
  grid_place(const comm::sip_rows& rows, std::uint32_t rank)
      : grid(rows), row(rows.row_of(rank)), column(rows.column_of(rank)) {}

  [[nodiscard]] std::uint32_t row_on(std::int64_t distance) const { return around(row, distance, grid.rows); }
  [[nodiscard]] std::uint32_t column_on(std::int64_t distance) const {
    return around(column, distance, grid.columns);
  }

  comm::sip_rows grid;
  std::uint32_t row, column;
};

}  // namespace diecast::sw
