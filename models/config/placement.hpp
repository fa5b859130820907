// SPDX-License-Identifier: Apache-2.0
// The block placement: where the blocks of a cube and the ports of a SIP sit, as far as a config lists it.
// models/fabric/placement.hpp decides the places that are left at auto.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/config/check.hpp"
#include "models/config/machine_config.hpp"
#include "models/types/ids.hpp"

namespace diecast::config {

/// A router of a cube or a cube of a SIP: "3_0" is column 3, row 0.
struct grid_place {
  std::uint32_t column{}, row{};
  bool operator==(const grid_place&) const = default;
};

/// "0_0,3_0" in this order; nothing for "auto". Precondition of all readers: the key accepts the text.
[[nodiscard]] std::optional<std::vector<grid_place>> listed_places(std::string_view text);

/// A port of every SIP, by the label it has in names ("e", "p2"), and its cube.
struct listed_port {
  std::string label;
  grid_place cube;
};
/// "e=3_1,w=0_1"; empty for "auto".
[[nodiscard]] std::vector<listed_port> listed_ports(std::string_view text);

/// Positions of the UCIe ports of a cube's edge, in ascending order: rows of an east or west edge
/// (`vertical`), columns of a north or south one. All of them for "auto".
[[nodiscard]] std::vector<std::uint32_t> ports_of_edge(const machine_config& c, bool vertical);

/// Checks that every place exists in the machine and that the list has one for each block. Labels of SIP
/// ports are checked by the pod's graph (fabric::join_sips).
[[nodiscard]] std::span<const rule> placement_rules();

/// ccl.start_delays: PEs that begin a launch late (stragglers).
struct start_delay {
  std::string match;  ///< glob over PE paths, "pod.sip0.cube_1_2.pe*"
  double delay_ns{};
};

/// The entries of a ccl.start_delays text ("GLOB=NS,GLOB=NS"), in order. Precondition: it has passed its
/// row's check.
[[nodiscard]] std::vector<start_delay> parse_start_delays(std::string_view text);

/// Delay of one PE: of the last entry that matches; 0 for the others.
[[nodiscard]] double start_delay_ns(const machine_config& config, pe_coord pe);

}  // namespace diecast::config
