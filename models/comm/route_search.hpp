// SPDX-License-Identifier: Apache-2.0
// Trees of links for the parts of blocks (packed_routes.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "models/comm/neighbors.hpp"

namespace diecast::comm {

/// The way of a part from the rank that has it to those that want it. A link comes after the one before it.
struct part_tree {
  std::uint32_t block{}, part{};
  std::vector<std::uint32_t> links;
};

struct route_set {
  std::vector<part_tree> trees;
  std::uint32_t parts{1};
  double busiest{};  ///< time of a block on the busiest link, in messages on the fastest link
};

/// A path from `root` for each part of every other rank's block.
[[nodiscard]] route_set routes_from(const neighbor_graph& g, std::uint32_t root);
/// A tree from every rank to all others for each part of its block, in as many parts as pay.
[[nodiscard]] route_set routes_to_all(const neighbor_graph& g);
/// A tree from every rank to all others for its whole block.
[[nodiscard]] route_set whole_routes_to_all(const neighbor_graph& g);
/// Halves of blocks, each all the way round a ring of the links, one way each; whole blocks where the links
/// form no ring.
[[nodiscard]] route_set routes_round(const neighbor_graph& g);

}  // namespace diecast::comm
