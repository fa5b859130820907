// SPDX-License-Identifier: Apache-2.0
// The pod as a graph of SIPs: which SIPs are joined, by which gateways, and the next hop of every pair.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "models/config/machine_config.hpp"
#include "models/fabric/placement.hpp"
#include "models/types/error.hpp"
#include "models/types/ids.hpp"

namespace diecast::fabric {

/// A directed SIP link before terminals are placed. Links come in pairs: link ^ 1 is the reverse direction.
struct sip_connection {
  std::uint32_t from{}, to{};  ///< SIPs
  gateway leaves;              ///< at `from`
  std::string label;           ///< port at `from`: "e", or "p2" where there is no compass direction
  bool dateline{};             ///< closes a ring of the grid
};

inline constexpr std::uint16_t no_link = std::numeric_limits<std::uint16_t>::max();

struct sip_graph {
  std::uint32_t sips{};
  std::vector<sip_connection> links;
  std::vector<std::uint16_t> next;  ///< [from * sips + to]: link to take; no_link when equal
  std::uint32_t max_hops{};         ///< SIP links of the longest route
  /// On grids, [at * sips + to]: datelines still to cross; empty on fully connected pods and lists.
  std::vector<std::uint8_t> datelines_ahead;
  std::uint32_t max_datelines{};

  [[nodiscard]] std::uint16_t next_link(std::uint32_t from, std::uint32_t to) const {
    return next[std::size_t{from} * sips + to];
  }
};

/// The links alone. Appends what is wrong (bad pod.links) to `problems`.
[[nodiscard]] sip_graph join_sips(const config::machine_config& c, std::vector<problem>& problems);

/// Adds the routes. `off`: per link, true where it is missing; empty when all are there. With a link
/// missing, rings and grids route like lists, by shortest paths. Appends SIPs that do not reach each other.
void route_sips(sip_graph& g, const config::machine_config& c, const std::vector<bool>& off,
                std::vector<problem>& problems);

}  // namespace diecast::fabric
