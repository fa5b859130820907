// SPDX-License-Identifier: Apache-2.0
// Rings of a level as a PE sees them, and the laps of bundles round them, as lanes of a stream.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "models/comm/three_level.hpp"
#include "sw/kernels/blocks.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {

/// Consecutive blocks of a cube that travel together, and stages that bring them.
struct bundle {
  std::uint32_t sip{}, cube{}, pe{}, blocks{1};
  std::vector<pe_context::awaited> after{};

  [[nodiscard]] auto key() const { return std::tuple{sip, cube, pe}; }
};

/// A ring as a PE sees it, and its lanes, one for each way.
struct own_ring {
  enum level : std::uint8_t { sips, cubes, pes } on{};
  /// Towards the next member alone. What comes from two sides meets at a PE's network interface and holds up
  /// both senders, and what they would send elsewhere meanwhile: the ring that carries most goes one way.
  bool one_way{};
  bool joins{};                        ///< bundles of its members become one
  std::vector<std::uint32_t> members;  ///< numbers on this level, of the first in a bundle, from the own on
  comm::ring_directions directions{};
  std::uint32_t position{};  ///< neighbors' differ by one
  std::size_t first_lane{};

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(members.size()); }
  /// On a ring of two one is enough: both ways lead to the same PE.
  [[nodiscard]] std::size_t lanes() const { return size() > 2 && !one_way ? 2 : 1; }
  [[nodiscard]] std::uint32_t most_hops() const { return one_way ? size() - 1 : size() / 2; }
  [[nodiscard]] std::uint32_t member(std::int64_t distance) const {
    return members[around(0, distance, size())];
  }
  /// How many hops what is of the member at `distance` goes in way `w`. Of an even number of members the
  /// farthest is reached one way alone, by turns.
  [[nodiscard]] std::uint32_t reach(std::int64_t distance, std::size_t w) const {
    if (one_way) return size() - 1;
    const std::size_t turn = size() == 2 ? 0 : around(position, distance, size()) % 2;
    return (size() - 1) / 2 + (size() % 2 == 0 && turn == w ? 1 : 0);
  }
};

/// What a PE does with a bundle in one lap: of a gather, step s is s hops from where it begins; of a sum, as
/// many from the farthest.
struct ring_step {
  std::uint32_t lap{}, step{};
  std::uint32_t batch{};  ///< of laps that overlap
  tcm_range range;
  bool received{}, sent{};
  std::vector<pe_context::awaited> own{};  ///< what the PE's own part of it waits for
};

/// Steps of a lap wait for a hop each; so the laps of a batch go side by side, a step of each in turn. All
/// members of a ring take and send in this order.
class lap_order {
 public:
  explicit lap_order(pe_context::arrival how) : how_(how) {}

  void add(const ring_step& s) { steps_.push_back(s); }
  /// Adds all to a lane. Returns the number of the stage that receives a step, by lap and step.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int32_t> put(pe_context::lane& lane) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int32_t> stages;
    sort([](const ring_step& s) { return std::int64_t{s.step} - 1; });  // of the neighbor's send
    for (const ring_step& s : steps_) {
      if (!s.received) continue;
      stages[{s.lap, s.step}] = static_cast<std::int32_t>(lane.received.size());
      const bool sums = how_ == pe_context::arrival::reduce && !s.own.empty();
      lane.received.push_back(
          {s.range.at, s.range.bytes, how_, sums ? s.own.front() : pe_context::awaited{}});
    }
    sort([](const ring_step& s) { return s.step; });
    for (const ring_step& s : steps_) {
      if (!s.sent) continue;
      pe_context::outgoing& out = lane.sent.emplace_back();
      out.offset = s.range.at;
      out.bytes = s.range.bytes;
      if (s.received) {
        out.after[0].stage = stages.at({s.lap, s.step});
      } else {
        std::copy(s.own.begin(), s.own.end(), out.after.begin());
      }
    }
    return stages;
  }

 private:
  template <typename StepOf>
  void sort(const StepOf& step_of) {
    const auto key = [&](const ring_step& s) { return std::tuple{s.batch, step_of(s), s.lap}; };
    std::stable_sort(steps_.begin(), steps_.end(),
                     [&](const ring_step& a, const ring_step& b) { return key(a) < key(b); });
  }

  pe_context::arrival how_;
  std::vector<ring_step> steps_;
};

}  // namespace diecast::sw
