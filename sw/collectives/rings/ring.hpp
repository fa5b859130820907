// SPDX-License-Identifier: Apache-2.0
// The steps that ring algorithms are made of, on the output vector of the kernel's arguments.
#pragma once

#include <cstdint>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "models/comm/patterns.hpp"
#include "sw/collectives/base/blocks.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::comm {

// Rings over all ranks, and rows and columns of ranks.

/// ring_1d: E/W over ring_order. A dimension of size 1 has no edges; size 2 has E and W both
/// leading to the same peer.
[[nodiscard]] std::vector<edge> ring_1d(const pattern_context& c);
[[nodiscard]] std::vector<edge> ring_1d_unidir(const pattern_context& c);
/// mesh_2d (also mesh_2d_no_wrap) and torus_2d: E/W along the rows and N/S along the columns of the
/// rank_grid, open or closed.
[[nodiscard]] std::vector<edge> mesh_2d(const pattern_context& c);
[[nodiscard]] std::vector<edge> torus_2d(const pattern_context& c);

}  // namespace diecast::comm

namespace diecast::sw {

/// A PE's position on a ring: `forth` leads to position + 1, `back` to position - 1.
struct ring_place {
  std::uint32_t position{};
  std::uint32_t size{1};
  comm::direction forth{comm::east};
  comm::direction back{comm::west};

  /// This ring with exchanged directions.
  [[nodiscard]] ring_place reversed() const { return {size - 1 - position, size, back, forth}; }
  /// Index of the part that is complete here after reduce_scatter.
  [[nodiscard]] std::uint32_t own() const { return (position + 1) % size; }
};

/// A range of the vector and the ring that it goes round, in one direction.
struct ring_share {
  ring_place ring;
  tcm_range range;
};
/// The shares of one call run in one stream: directions send and receive one slot each, one after the other.
/// As separate tasks they would use their credits in bursts, and the slots of one direction would wait in the
/// DMA engine behind those of a direction whose link is slow. No two use the same end of a queue pair.
using ring_shares = std::vector<ring_share>;
/// Half of a range in each direction of a ring, so that both directions of every link carry data.
[[nodiscard]] ring_shares both_directions(pe_context& pe, const ring_place& ring, const tcm_range& range);

/// Reduces each range over its ring, cut in `size` parts; this PE ends with part own() complete.
void reduce_scatter(pe_context& pe, const ring_shares& shares);
/// Spreads the complete part own() of every PE to all.
void all_gather(pe_context& pe, const ring_shares& shares);
/// reduce_scatter() and all_gather(), overlapping slot by slot; divides averages in between. Every part is
/// reduced along one path and then copied, so all PEs of the ring end with the same bits.
void all_reduce(pe_context& pe, const ring_shares& shares);

// Rows and columns of ranks: all-reduce by the bucket algorithm along one axis, then the other. Half of the
// vector takes rows first, half columns first, and on closed axes each half goes in both directions, so that
// all four directions carry data at once.

/// A PE on an open line of PEs: `forth` leads to position + 1, `back` to position - 1.
using open_line = ring_place;

/// All-reduce on closed axes. All PEs end with the same bits; averages are divided.
void all_reduce_on_torus(pe_context& pe, const ring_place& row, const ring_place& column);
/// On open axes.
void all_reduce_on_mesh(pe_context& pe, const open_line& row, const open_line& column);

}  // namespace diecast::sw
