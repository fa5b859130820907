// SPDX-License-Identifier: Apache-2.0
// Faults of the config by the place of the machine where they act.
#pragma once

#include <vector>

#include "models/config/faults.hpp"
#include "models/fabric/topology.hpp"
#include "models/types/error.hpp"

namespace diecast::fabric {

using fault_list = std::vector<config::placed_fault>;

/// Faults of packets that arrive at a PE; here and below only of kinds that an interposer causes.
[[nodiscard]] fault_list faults_into_pe(const config::machine_config& c, pe_coord pe);
/// Faults of packets that leave a cube over a side; without bit flips in frames with a CRC (see
/// hidden_bit_flips).
[[nodiscard]] fault_list faults_of_side(const config::machine_config& c, const topology& t, sip_id sip,
                                        cube_id cube, side s);
[[nodiscard]] fault_list faults_of_sip_link(const config::machine_config& c, const topology& t,
                                            std::uint32_t link);
/// Faults bit_flip on a UCIe side whose frames have a CRC: they hit frames on the wire, which are replayed.
[[nodiscard]] fault_list hidden_bit_flips(const config::machine_config& c, const topology& t, sip_id sip,
                                          cube_id cube, side s);
/// The fault of this kind whose `where` names the PE; null when there is none. Precondition: not a kind of an
/// interposer, of which there may be several.
[[nodiscard]] const config::fault_setting* fault_at(const config::machine_config& c, config::fault_kind kind,
                                                    pe_coord pe);

/// Problems of `faults`: names that match no place where the kind can act, and two of a kind where only one
/// can act.
[[nodiscard]] std::vector<problem> check_faults(const config::machine_config& c, const topology& t);

}  // namespace diecast::fabric
