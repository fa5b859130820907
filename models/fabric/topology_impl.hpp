// SPDX-License-Identifier: Apache-2.0
// Inside of fabric::topology.
//
// Routes between the cubes of a SIP that has links missing. Where the dimension-order route is whole it
// stays; elsewhere packets go the shortest remaining path. Such detours make turns that dimension order
// does not, so several rules for them exist, and the first that leaves the dependency graph free of cycles
// is taken (topology.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "models/config/population.hpp"
#include "models/fabric/link_settings.hpp"
#include "models/fabric/placement.hpp"
#include "models/fabric/router_grid.hpp"
#include "models/fabric/sip_graph.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::fabric {
/// Cubes of one SIP; `joined(cube, side)`: a link leaves there, and works.
struct cube_grid {
  machine_shape shape;
  std::function<bool(cube_id, side)> joined;
};

/// Which of several paths round a gap a packet takes.
enum class detour_rule : std::uint8_t {
  north_first,  ///< equally short paths: by the side that comes first in north, east, south, west
  south_first,  ///< in south, west, north, east
  up_down,      ///< towards cube (0, 0) of a breadth-first tree first, away from it then; never back
};
inline constexpr std::array detour_rules{detour_rule::north_first, detour_rule::south_first,
                                         detour_rule::up_down};

/// [from * cubes + to]: side by which a packet to `to` leaves `from`; meaningless when equal.
/// `cut_off`: gets one pair of cubes per cube that cube 0 does not reach.
[[nodiscard]] std::vector<side> route_around(const cube_grid& grid, detour_rule rule,
                                             std::vector<std::pair<cube_id, cube_id>>& cut_off);

// What a topology holds: tables small enough to stay in cache (a few hundred KB for 1,024 cubes);
// cubes of equal terminals share one layout. Links get their names only when one is requested.

struct topology::impl {
  config::machine_config config;
  machine_shape shape;
  cube_id io_cube{};
  config::population population{machine_shape{}};
  std::optional<config::memory_channels> channels;
  sip_graph graph;
  router_grid grid;
  vc_plan vcs;
  link_settings settings;
  std::vector<std::vector<side>> detours;  ///< per SIP with a link missing; else empty
  bool count_crossings{true};              ///< legs by SIP links crossed; otherwise by datelines
  std::vector<placed_layout> layouts;
  std::vector<std::uint32_t> layout_of;  ///< per cube of the pod
  std::vector<sip_link> sip_links;
  std::vector<std::uint16_t> router_x, router_y;

  // Numbering of links: per cube mesh, inject, eject, ucie; the SIP links last.
  std::vector<std::uint32_t> first_link;  ///< per cube of the pod
  std::uint32_t first_sip_link{};
  static constexpr std::uint32_t no_mesh_link = UINT32_MAX;
  std::vector<std::uint32_t> mesh_offset;  ///< [router * sides + side]; no_mesh_link where the mesh ends
  std::uint32_t mesh_links{};              ///< per cube
  mutable std::once_flag links_named;
  mutable std::vector<link> links;

  impl(const config::machine_config& c, purpose what, unsigned network);

  [[nodiscard]] std::size_t cube_index(sip_id sip, cube_id cube) const {
    return std::size_t{sip.value} * shape.cubes_per_sip() + cube.value;
  }
  [[nodiscard]] const placed_layout& placed(sip_id sip, cube_id cube) const {
    return layouts[layout_of[cube_index(sip, cube)]];
  }
  /// Where a packet leaves a cube, and whether it only passes through to a neighbor.
  struct cube_exit {
    terminal_index exit{};
    bool passes{};
  };
  [[nodiscard]] cube_exit route_out(sip_id sip, cube_id cube, router_index router,
                                    const abi::node_address& destination) const;
  /// Group of legs at a SIP that is not the source's, when datelines are counted. The last SIP has a group of
  /// its own: there packets leave the straight routes between gateways for any router, and must not wait
  /// for packets to further SIPs.
  [[nodiscard]] unsigned dateline_group(std::uint32_t at, std::uint32_t destination) const {
    if (at == destination) return dateline_groups();
    return 1 + graph.max_datelines - graph.datelines_ahead[std::size_t{at} * graph.sips + destination];
  }
  [[nodiscard]] unsigned dateline_groups() const { return 2 + graph.max_datelines; }
  [[nodiscard]] std::array<bool, sides> neighbors(cube_id cube) const;
  void choose_vcs(purpose what, std::vector<problem>& problems);
  void choose_legs();
  /// VCs of a link, `of_trees` of them for trees in the network.
  [[nodiscard]] unsigned vcs_with(unsigned of_trees) const {
    return vcs.classes * vcs.legs * vcs.sets * vcs.per_set + of_trees;
  }
  [[nodiscard]] std::string vcs_in_words() const;
  [[nodiscard]] const config::ucie_block& ucie(sip_id sip, cube_id cube, side s) const {
    if (settings.ucie.empty()) return config.ucie;
    return settings.ucie[cube_index(sip, cube) * sides + static_cast<unsigned>(s)].block;
  }
  [[nodiscard]] const config::sip_link_block& sip_link_block(std::uint32_t index) const {
    return settings.sip_links.empty() ? config.sip_link : settings.sip_links[index].block;
  }
  [[nodiscard]] bool sip_joined(std::uint32_t index) const {
    return settings.sip_links.empty() || settings.sip_links[index].enabled;
  }
  /// A UCIe link leaves there, and is enabled.
  [[nodiscard]] bool joined(std::uint32_t sip, cube_id cube, side s) const;
  [[nodiscard]] std::vector<bool> missing_sip_links() const;
  void route_around_gaps(detour_rule rule, std::vector<problem>& problems);
  void place();
  void place_study();
  void note_coordinates();
  void number_links();
  void name_links() const;
  void name_cube_links(std::uint32_t sip, std::uint32_t cube) const;
};

}  // namespace diecast::fabric
