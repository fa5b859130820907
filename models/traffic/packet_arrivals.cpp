// SPDX-License-Identifier: Apache-2.0
#include "models/traffic/packet_arrivals.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

namespace diecast::traffic {
namespace {

constexpr unsigned node_bits = 16;
constexpr std::uint64_t first_cycle_end = std::uint64_t{1} << 47;
constexpr double least_chance = 0x1p-40;  // least chance of a packet in a cycle: gaps below 2^46 cycles

bool is_valid(const bernoulli_arrivals::setup& s) {
  return s.nodes >= 1 && s.nodes <= 1U << node_bits && s.flits >= 1 && s.rate >= least_chance * s.flits &&
         s.rate <= s.flits && s.first_cycle < first_cycle_end;
}

}  // namespace

bernoulli_arrivals::bernoulli_arrivals(const setup& s, const destinations& where)
    : where_(where), flits_(s.flits), per_log_miss_(1 / std::log1p(-s.rate / s.flits)) {
  if (!is_valid(s)) {
    throw std::invalid_argument(fmt::format("{} nodes at {} flits per cycle in packets of {} from cycle {}",
                                            s.nodes, s.rate, s.flits, s.first_cycle));
  }
  winners_.assign(2 * std::bit_ceil(std::size_t{s.nodes}), UINT64_MAX);
  nodes_.reserve(s.nodes);
  for (std::uint32_t n = 0; n < s.nodes; ++n) {
    nodes_.push_back({random::stream(s.seed, fmt::format("node{}", n), "packets"), 0, 0});
    enter(n, s.first_cycle + draw(n) - 1);
  }
}

/// Four draws belong to a packet: gap, destination, choice of the pattern, and one to spare.
inline std::uint64_t bernoulli_arrivals::draw(std::uint32_t n) {
  node& from = nodes_[n];
  const std::array<std::uint64_t, 4> words = from.draws.four(from.packets++);
  from.destination = where_.of(n, {words[1], words[2]});
  const double missed = 1 - static_cast<double>(words[0] >> 11) * 0x1p-53;  // above 0, and exact
  return 1 + static_cast<std::uint64_t>(std::log(missed) * per_log_miss_);
}

/// A packet of a node that has none entered, or whose packet is the next one.
inline void bernoulli_arrivals::enter(std::uint32_t n, std::uint64_t cycle) {
  std::uint64_t least = cycle << node_bits | n;
  std::size_t at = winners_.size() / 2 + n;
  std::uint64_t* const winners = winners_.data();
  winners[at] = least;
  for (; at > 1; at /= 2) {
    least = std::min(least, winners[at ^ 1]);
    winners[at / 2] = least;
  }
}

bool bernoulli_arrivals::next(packet_arrival& a) {
  const std::uint64_t cycle = winners_[1] >> node_bits;
  const auto n = static_cast<std::uint32_t>(winners_[1] & ((1U << node_bits) - 1));
  a = {cycle, n, nodes_[n].destination, flits_};
  enter(n, cycle + draw(n));
  return true;
}

}  // namespace diecast::traffic
