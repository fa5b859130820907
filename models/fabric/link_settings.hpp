// SPDX-License-Identifier: Apache-2.0
// Settings of single links and dies: the config's blocks with its overrides applied.
#pragma once

#include <optional>
#include <vector>

#include "models/config/machine_config.hpp"
#include "models/fabric/sip_graph.hpp"
#include "models/fabric/topology.hpp"
#include "models/types/error.hpp"

namespace diecast::fabric {

/// Empty lists: all have the settings of their block.
struct link_settings {
  struct ucie_side {
    bool enabled{true};
    config::ucie_block block;
  };
  struct sip_link {
    bool enabled{true};
    config::sip_link_block block;
  };
  std::vector<ucie_side> ucie;                           ///< [cube of the pod * sides + side]
  std::vector<sip_link> sip_links;                       ///< by index
  std::vector<std::optional<std::uint64_t>> hop_cycles;  ///< by cube of the pod
};

/// The cube next to `cube` on that side of a SIP's grid, if any.
[[nodiscard]] std::optional<cube_id> cube_beside(const machine_shape& shape, cube_id cube, side s);

/// Applies config.overrides in order; both directions of a link and both its ends get the same. Appends a
/// problem for every override that matches nothing (no link, PE, memory channel or die), or sets what it
/// matches does not have.
[[nodiscard]] link_settings resolve_links(const config::machine_config& c, const sip_graph& graph,
                                          std::vector<problem>& problems);

}  // namespace diecast::fabric
