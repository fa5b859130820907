// SPDX-License-Identifier: Apache-2.0
// What waits for what in the fabric, and cycles in such a graph.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/fabric/topology.hpp"

namespace diecast::fabric {

/// A packet that holds node `holds` may wait for node `wants`.
struct dependency {
  std::uint32_t holds{};
  std::uint32_t wants{};
  auto operator<=>(const dependency&) const = default;
};

/// Number of the buffers of a dateline set and leg at the far end of a link.
[[nodiscard]] std::uint32_t dependency_node(const topology& t, std::uint32_t link, leg l, unsigned set);

/// Dependencies between the buffers at the far ends of links, over all routes between blocks; each once,
/// in ascending order. Injection by a block and ejection to a block are left out: nothing in
/// the fabric waits for the one, and the other sinks as the class table promises.
[[nodiscard]] std::vector<dependency> route_dependencies(const topology& t);

/// The nodes of one cycle in order, each wanting the next and the last the first; empty when there is
/// none. Which cycle is found depends on the order of the edges alone. Linear in nodes and edges.
[[nodiscard]] std::vector<std::uint32_t> find_cycle(const std::vector<dependency>& edges, std::size_t nodes);

}  // namespace diecast::fabric
