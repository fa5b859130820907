// SPDX-License-Identifier: Apache-2.0
// The rings of a level that one PE takes part in, and the order in which their blocks become pipelines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sw/collectives/base/blocks.hpp"
#include "sw/collectives/levels/level_rings.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {

/// A block group: consecutive blocks of a cube that are sent together.
struct bundle {
  std::uint32_t sip{}, cube{}, pe{}, blocks{1};
};

/// A ring as a PE sees it, and its pipelines, one for each direction.
struct own_ring {
  /// Towards the next member only. Packets from two sides meet at a PE's network interface and delay both
  /// senders, including their other messages: the busiest ring has one direction.
  bool one_way{};
  std::vector<std::uint32_t> members;  ///< numbers on this level, from the own on
  comm::ring_directions directions{};
  std::uint32_t position{};  ///< neighbors' differ by one
  std::size_t first_pipeline{};

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(members.size()); }
  /// A ring of two has one pipeline, because both directions lead to the same PE.
  [[nodiscard]] std::size_t pipelines() const {
    if (size() < 2) return 0;
    return size() > 2 && !one_way ? 2 : 1;
  }
  /// Number of the pipeline for direction `w`. Precondition: pipelines() > 0.
  [[nodiscard]] std::size_t pipeline(std::size_t w) const {
    return first_pipeline + (pipelines() == 2 ? w % 2 : 0);
  }
  [[nodiscard]] std::uint32_t most_hops() const { return one_way ? size() - 1 : size() / 2; }
  [[nodiscard]] std::uint32_t member(std::int64_t distance) const {
    return members[around(0, distance, size())];
  }
  /// Number of hops that the block of the member at `distance` goes in direction `w`. With an even number of
  /// members the farthest is reached in one direction only, alternating by position.
  [[nodiscard]] std::uint32_t reach(std::int64_t distance, std::size_t w) const {
    if (one_way) return w == 0 ? size() - 1 : 0;
    const std::size_t turn = size() == 2 ? 0 : around(position, distance, size()) % 2;
    return (size() - 1) / 2 + (size() % 2 == 0 && turn == w ? 1 : 0);
  }
};

/// What a PE sends and receives in a gather, each hop at a time of a schedule: when its sender would send it
/// on a machine without contention. The times only give an order. It is the same at both ends of a hop, and
/// what a hop needs comes earlier: the schedule has no circular wait. A reduction is the reverse: it receives
/// what a gather sends, last step first.
class level_schedule {
 public:
  explicit level_schedule(const block_vector& v) : v_(v), last_of_(v.blocks()) {}

  /// Adds a step of a gather: `blocks` blocks from number `first` on are sent, or received, on a pipeline.
  void send(std::size_t pipeline, std::int64_t due, std::uint32_t first, std::uint32_t blocks) {
    sent_.push_back({pipeline, due, first, blocks});
  }
  void receive(std::size_t pipeline, std::int64_t due, std::uint32_t first, std::uint32_t blocks) {
    received_.push_back({pipeline, due, first, blocks});
  }
  /// Fills the pipelines. Contributions to a sum are added in the order of the schedule.
  void put_gather(std::vector<pe_context::pipeline>& pipelines) { put(pipelines, pe_context::arrival::copy); }
  void put_reduction(std::vector<pe_context::pipeline>& pipelines);

  /// Limits the rate of pipeline `paced`: a send leaves when pipeline `by` has received the bytes that are
  /// due `ahead` before it. These must not depend on the send.
  void pace(std::vector<pe_context::pipeline>& pipelines, std::size_t paced, std::size_t by,
            std::int64_t ahead) const;

 private:
  struct hop {
    std::size_t pipeline{};
    std::int64_t due{};
    std::uint32_t first{}, blocks{};
  };
  /// The last stage that received a block.
  struct arrived {
    pe_context::awaited stage{};
    tcm_range range{};
  };
  [[nodiscard]] tcm_range range_of(const hop& h) const { return v_.blocks_from(h.first, h.blocks)[0]; }
  void put(std::vector<pe_context::pipeline>& pipelines, pe_context::arrival how);
  void add_stage(pe_context::pipeline& pipeline, const hop& h, pe_context::arrival how);
  [[nodiscard]] std::vector<pe_context::awaited> what_completes(const hop& h) const;
  [[nodiscard]] std::uint64_t bytes_before(std::size_t pipeline, std::int64_t due) const;

  const block_vector& v_;
  std::vector<hop> sent_, received_;
  std::vector<arrived> last_of_;  ///< by block
};

}  // namespace diecast::sw
