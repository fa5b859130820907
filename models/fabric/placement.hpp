// SPDX-License-Identifier: Apache-2.0
// Places of blocks: terminals on the routers of a cube, SIP links on the edge cubes of a SIP.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::fabric {

/// A cube's layout together with data of the hot path.
struct placed_layout {
  cube_layout layout;
  std::vector<router_index> router_of;            ///< per terminal
  std::array<terminal_index, sides> port_base{};  ///< first port of each side that has a neighbor
  std::array<bool, sides> has_ports{};
  /// For each such side, by the column (north, south) or row of a router: the nearest port, of two equally
  /// near ones the lower. A crossbar, whose one router has all ports: the ports in order.
  std::array<std::vector<terminal_index>, sides> port_for;
  bool spread_ports{};  ///< a crossbar
  terminal_index hbm_base{};
  terminal_index sram{};
  terminal_index control_cpu{};
  terminal_index io_cpu{};  ///< valid on the IO cube
};

/// A SIP link's end: the cube it sits on and the outer edge of that cube it leaves by.
struct gateway {
  cube_id cube;
  side edge{};
};

/// The cube of a SIP that holds its IO CPU.
[[nodiscard]] cube_id io_cube_of(const config::machine_config& c);

/// The gateway of a compass direction: the middle cube of that edge of the SIP.
[[nodiscard]] gateway compass_gateway(const machine_shape& shape, side s);
/// The gateway of port `port` of `ports`: spread over the edge cubes, counter-clockwise from the
/// south-west corner.
[[nodiscard]] gateway spread_gateway(const machine_shape& shape, std::uint32_t port, std::uint32_t ports);

/// The outer edge of a cube that ports without a direction leave over; of a corner's two the first of
/// south, east and north. Precondition: the cube is at an edge of the SIP.
[[nodiscard]] side outer_side(const machine_shape& shape, cube_id cube);

/// Terminals every cube has, then ports of the sides with a neighbor.
[[nodiscard]] placed_layout place_cube(const config::machine_config& c,
                                       const std::array<bool, sides>& has_neighbor);
/// A terminal "nodeN" of kind traffic for each of columns x rows nodes, on router N (crossbar: all on one).
[[nodiscard]] placed_layout place_traffic(const config::machine_config& c);
/// Adds the host's terminal, at the south-west corner router unless placement.io_cpu says another.
void place_io_cpu(const config::machine_config& c, placed_layout& cube);
/// Adds a SIP link's port, in the middle of the outer edge. Returns its terminal.
terminal_index place_sip_port(placed_layout& cube, side edge, std::uint32_t sip_link,
                              const std::string& label);

}  // namespace diecast::fabric
