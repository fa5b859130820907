// SPDX-License-Identifier: Apache-2.0
#include "models/traffic/packet_arrivals.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

#include "models/types/enum_name.hpp"

namespace diecast::traffic {
namespace {

/// The square root if it is a whole number, otherwise 0.
std::uint32_t root_of(std::uint32_t n) {
  const auto root = static_cast<std::uint32_t>(std::lround(std::sqrt(static_cast<double>(n))));
  return root * root == n ? root : 0;
}

void check(node_pattern pattern, node_grid grid, const hotspot& hot) {
  const std::string shape = fmt::format("{} x {}", grid.columns, grid.rows);
  if (pattern == node_pattern::transpose && grid.columns != grid.rows &&
      !(grid.rows == 1 && root_of(grid.columns) != 0)) {
    throw user_error(problem{"--traffic transpose", "requires as many rows as columns", shape,
                             "as many rows as columns; on a ring or crossbar a square number of nodes"});
  }
  if (pattern == node_pattern::bit_complement && !std::has_single_bit(grid.nodes())) {
    throw user_error(problem{"--traffic bit_complement", "needs node numbers that fill their bits",
                             fmt::format("{} nodes", grid.nodes()), "a power of two"});
  }
  if (pattern == node_pattern::hotspot && hot.node >= grid.nodes()) {
    throw user_error(problem{"--hotspot-node", "names a node outside the network", std::to_string(hot.node),
                             fmt::format("0 to {}", grid.nodes() - 1)});
  }
}

}  // namespace

const char* to_string(node_pattern p) { return enum_name(p); }

const char* description(node_pattern p) {
  switch (p) {
    case node_pattern::uniform: return "any node, the source included, with equal probability";
    case node_pattern::transpose: return "(x, y) to (y, x)";
    case node_pattern::neighbor: return "(x, y) to (x + 1, y + 1), wrapping in both dimensions";
    case node_pattern::hotspot:
      return "--hotspot-fraction of all packets to --hotspot-node, the rest uniform";
    case node_pattern::bit_complement: return "the node whose number has every bit flipped";
    case node_pattern::tornado:
      return "half-way round each dimension: x + ceil(columns / 2) - 1, y with rows";
  }
  return "?";
}

destinations::destinations(node_pattern pattern, node_grid grid, hotspot hot)
    : pattern_(pattern), nodes_(grid.nodes()), hot_(hot) {
  check(pattern, grid, hot);
  if (pattern == node_pattern::uniform) return;
  if (pattern == node_pattern::hotspot) {
    hot_below_ = hot.fraction >= 1 ? UINT64_MAX : static_cast<std::uint64_t>(std::ldexp(hot.fraction, 64));
    return;
  }
  for (std::uint32_t n = 0; n < nodes_; ++n) fixed_.push_back(fixed_of(grid, n));
}

std::uint32_t destinations::fixed_of(node_grid grid, std::uint32_t source) const {
  const std::uint32_t x = source % grid.columns;
  const std::uint32_t y = source / grid.columns;
  const auto moved = [&](std::uint32_t dx, std::uint32_t dy) {
    return (y + dy) % grid.rows * grid.columns + (x + dx) % grid.columns;
  };
  switch (pattern_) {
    case node_pattern::transpose: {
      const std::uint32_t side = root_of(grid.nodes());
      return source % side * side + source / side;
    }
    case node_pattern::neighbor: return moved(1, 1);
    case node_pattern::bit_complement: return nodes_ - 1 - source;
    case node_pattern::tornado: return moved((grid.columns + 1) / 2 - 1, (grid.rows + 1) / 2 - 1);
    case node_pattern::uniform:
    case node_pattern::hotspot: break;
  }
  return source;
}

namespace {

constexpr unsigned node_bits = 16;
constexpr std::uint64_t first_cycle_end = std::uint64_t{1} << 47;
constexpr double least_chance = 0x1p-40;  // least probability of a packet in a cycle: gaps below 2^46 cycles

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

/// A packet uses four draws: gap, destination, choice of the pattern, and one that is unused.
inline std::uint64_t bernoulli_arrivals::draw(std::uint32_t n) {
  node& from = nodes_[n];
  const std::array<std::uint64_t, 4> words = from.draws.four(from.packets++);
  from.destination = where_.of(n, {words[1], words[2]});
  const double missed = 1 - static_cast<double>(words[0] >> 11) * 0x1p-53;  // above 0, and exact
  return 1 + static_cast<std::uint64_t>(std::log(missed) * per_log_miss_);
}

/// Precondition: no packet of the node is entered, or its packet is the next one.
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
