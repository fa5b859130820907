// SPDX-License-Identifier: Apache-2.0
// Routes of blocks from neighbor to neighbor that balance the load of links: each block is cut into parts,
// each part has a tree of its own (a path, if it is for one rank only), and the parts on a link have one
// fixed order. (Zhao et al., "ForestColl: Throughput-Optimal Collective Communications on Heterogeneous
// Network Fabrics", 2024, packs trees of every root in this manner.)
#pragma once

#include <cstdint>
#include <vector>

#include "models/comm/collective.hpp"
#include "sw/collectives/base/neighbors.hpp"

namespace diecast::comm {

/// Schedules of gather, scatter, all_gather and reduce_scatter.
///
/// scatter: a maximum flow of least length from the root, divided into paths; exact. all_gather:
/// trees of every rank, grown one after the other over the links that carry least, and grown again until no
/// link is overloaded; equal machines and members have equal trees. gather and reduce_scatter: the same
/// reversed.
class packed_routes {
 public:
  enum class cut : std::uint8_t {
    least_load,  ///< the schedules described above, for the least load on links
    steps        ///< all_gather: whole blocks; reduce_scatter: halves round a ring, else whole blocks
  };
  /// Throws user_error beyond most_ranks, and what neighbor_graph and root_of throw; std::logic_error for
  /// another collective.
  packed_routes(const pattern_context& c, collective what, cut blocks = cut::least_load);

  /// A part of a rank's block on one link. It is sent when its stage (below) has arrived.
  struct piece {
    std::uint16_t block{}, part{};
    /// Pipeline (neighbor) and number of a received piece: one that a sent piece waits for, or whose
    /// contribution is added before that of another received piece. no_stage: none.
    std::uint16_t pipeline{}, stage{no_stage};
  };
  static constexpr std::uint16_t no_stage = 0xffff;
  /// The tables grow with their square. Searching takes a second or less for 320 ranks; beyond, paths take as
  /// much, trees of all_gather and reduce_scatter up to half a minute over two SIPs of 256 cubes.
  static constexpr std::uint32_t most_ranks = 512;

  /// By neighbor, in the order in which they cross the link; the same at both ends.
  struct pipeline {
    std::vector<piece> sent, received;
  };
  [[nodiscard]] const std::vector<pipeline>& pipelines(std::uint32_t rank) const { return pipelines_[rank]; }
  /// Parts of a block.
  [[nodiscard]] std::uint32_t parts() const { return parts_; }
  /// Load of the busiest link, in blocks on the fastest link.
  [[nodiscard]] double busiest() const { return busiest_; }

 private:
  std::vector<std::vector<pipeline>> pipelines_;
  std::uint32_t parts_{1};
  double busiest_{};
};

}  // namespace diecast::comm
