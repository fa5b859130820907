// SPDX-License-Identifier: Apache-2.0
// Packets of a network study: their destinations, and when they are made.
//
// Destinations are a function of source and random draws, with the definitions of BookSim2 (its traffic.cpp;
// Jiang et al., ISPASS 2013; Dally and Towles, 2004, table 3.1), so that results
// compare.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/random/stream.hpp"
#include "models/types/error.hpp"
#include "models/types/immovable.hpp"

namespace diecast::traffic {
enum class node_pattern : std::uint8_t { uniform, transpose, neighbor, hotspot, bit_complement, tornado };
inline constexpr std::array all_node_patterns{node_pattern::uniform,        node_pattern::transpose,
                                              node_pattern::neighbor,       node_pattern::hotspot,
                                              node_pattern::bit_complement, node_pattern::tornado};
[[nodiscard]] const char* to_string(node_pattern p);
[[nodiscard]] const char* description(node_pattern p);

/// Nodes numbered row by row. Rings and crossbars have one row.
struct node_grid {
  std::uint32_t columns{1};
  std::uint32_t rows{1};
  [[nodiscard]] std::uint32_t nodes() const { return columns * rows; }
};

struct hotspot {
  std::uint32_t node{};
  double fraction{0.1};  ///< share of all packets; the others go anywhere, uniformly
};

class destinations {
 public:
  /// Throws user_error when the pattern is not defined on the grid.
  destinations(node_pattern pattern, node_grid grid, hotspot hot = {});

  /// `draws`: uniform 64-bit words, the same for the same packet in every run.
  [[nodiscard]] std::uint32_t of(std::uint32_t source, const std::array<std::uint64_t, 2>& draws) const {
    if (!fixed_.empty()) return fixed_[source];
    if (pattern_ == node_pattern::hotspot && draws[1] <= hot_below_) return hot_.node;
    return anywhere(draws[0]);
  }

 private:
  /// High half of a product: off uniform by less than nodes / 2^32.
  [[nodiscard]] std::uint32_t anywhere(std::uint64_t draw) const {
    return static_cast<std::uint32_t>((draw >> 32) * nodes_ >> 32);
  }
  [[nodiscard]] std::uint32_t fixed_of(node_grid grid, std::uint32_t source) const;

  node_pattern pattern_;
  std::uint32_t nodes_;
  hotspot hot_;
  std::uint64_t hot_below_{};         ///< a draw up to here goes to the hot node
  std::vector<std::uint32_t> fixed_;  ///< by source, of patterns without a choice
};

// Creation times and destinations of packets: streams in order of (cycle, source).

struct packet_arrival {
  std::uint64_t cycle{};
  std::uint32_t source{};
  std::uint32_t destination{};
  std::uint32_t flits{};
  bool operator==(const packet_arrival&) const = default;
};

class packet_arrivals : public abstract_interface {
 public:
  /// False when there are no more.
  [[nodiscard]] virtual bool next(packet_arrival& a) = 0;
};

/// Bernoulli injection: in each cycle each node makes a packet with probability rate / flits,
/// independently of earlier packets. Never ends. Draws the gaps, so cycles without a packet take no work.
///
/// Packet k of a node is a function of (seed, node, k).
class bernoulli_arrivals final : public packet_arrivals {
 public:
  struct setup {
    std::uint64_t seed{};
    double rate{};                ///< flits per node and cycle; rate / flits from 2^-40 to 1
    std::uint32_t flits{};        ///< flits of a packet; from 1
    std::uint32_t nodes{};        ///< 1 to 65,536; as many as `where` has
    std::uint64_t first_cycle{};  ///< no packet is made before; below 2^47
  };
  /// Throws std::invalid_argument for a setup out of these ranges. Cycles count to 2^48.
  bernoulli_arrivals(const setup& s, const destinations& where);
  [[nodiscard]] bool next(packet_arrival& a) override;

 private:
  struct node {
    random::stream draws;
    std::uint64_t packets{};
    std::uint32_t destination{};  ///< destination of the packet it makes next
  };
  /// Draws the node's next packet; returns the cycles until then, at least 1.
  std::uint64_t draw(std::uint32_t n);
  void enter(std::uint32_t n, std::uint64_t cycle);

  const destinations where_;
  std::uint32_t flits_;
  double per_log_miss_;  ///< 1 / ln(1 - probability of a packet in a cycle); 0 when it is certain
  std::vector<node> nodes_;
  /// The node with the next packet: a tournament tree. Leaves in the second half are cycle << 16 | node, each
  /// other entry is the lesser of the two below it, so the next packet is in entry 1. The number of
  /// steps, without branches, does not depend on the draws.
  std::vector<std::uint64_t> winners_;
};

/// Packets of a recorded trace, in order of (cycle, source).
class recorded_arrivals final : public packet_arrivals {
 public:
  explicit recorded_arrivals(const std::vector<packet_arrival>& list) : list_(list) {}
  [[nodiscard]] bool next(packet_arrival& a) override {
    if (at_ == list_.size()) return false;
    a = list_[at_++];
    return true;
  }

 private:
  const std::vector<packet_arrival>& list_;
  std::size_t at_{};
};

}  // namespace diecast::traffic
