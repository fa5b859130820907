// SPDX-License-Identifier: Apache-2.0
// When packets are made and where they go: streams in order of (cycle, source).
#pragma once

#include <cstdint>
#include <vector>

#include "models/random/stream.hpp"
#include "models/traffic/node_pattern.hpp"

namespace diecast::traffic {

struct packet_arrival {
  std::uint64_t cycle{};
  std::uint32_t source{};
  std::uint32_t destination{};
  std::uint32_t flits{};
  bool operator==(const packet_arrival&) const = default;
};

class packet_arrivals {
 public:
  packet_arrivals() = default;
  packet_arrivals(const packet_arrivals&) = delete;
  packet_arrivals& operator=(const packet_arrivals&) = delete;
  virtual ~packet_arrivals() = default;
  /// False when there are no more.
  [[nodiscard]] virtual bool next(packet_arrival& a) = 0;
};

/// Bernoulli injection: in each cycle each node makes a packet with probability rate / flits, whatever
/// happened to its packets before. Never ends. Cycles without a packet cost nothing: gaps are drawn.
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
  /// Who is next: a tree of winners. Leaves in the second half are cycle << 16 | node, each other entry is
  /// the lesser of the two below it, so the next packet is in entry 1. As many steps, without branches to
  /// guess, whatever is drawn.
  std::vector<std::uint64_t> winners_;
};

/// Packets somebody wrote down, in order of (cycle, source).
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
