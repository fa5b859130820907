// SPDX-License-Identifier: Apache-2.0
#include "models/traffic/node_pattern.hpp"

#include <bit>
#include <cmath>
#include <fmt/format.h>

namespace diecast::traffic {
namespace {

/// The whole square root, or 0 when there is none.
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

const char* to_string(node_pattern p) {
  switch (p) {
    case node_pattern::uniform: return "uniform";
    case node_pattern::transpose: return "transpose";
    case node_pattern::neighbor: return "neighbor";
    case node_pattern::hotspot: return "hotspot";
    case node_pattern::bit_complement: return "bit_complement";
    case node_pattern::tornado: return "tornado";
  }
  return "?";
}

const char* description(node_pattern p) {
  switch (p) {
    case node_pattern::uniform: return "any node, the source included, with equal probability";
    case node_pattern::transpose: return "(x, y) to (y, x)";
    case node_pattern::neighbor: return "(x, y) to (x + 1, y + 1), wrapping in both dimensions";
    case node_pattern::hotspot:
      return "--hotspot-fraction of all packets to --hotspot-node, the rest uniform";
    case node_pattern::bit_complement: return "the node whose number has every bit flipped";
    case node_pattern::tornado: return "half-way round each dimension: x + ceil(columns / 2) - 1, likewise y";
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

}  // namespace diecast::traffic
