// SPDX-License-Identifier: Apache-2.0
// When a launch can start: the path host -> IO CPU -> control CPU -> PE, its stations and its worst
// latency. All PEs of a launch start at one instant, and none may get its packet after it.
#pragma once

#include <cstdint>
#include <span>

#include "models/abi/address.hpp"
#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"
#include "models/types/ids.hpp"
#include "models/types/time.hpp"

namespace diecast::comm {

[[nodiscard]] abi::address launch_mailbox(pe_coord pe);
[[nodiscard]] abi::node_address io_cpu_node(const fabric::topology& t, sip_id sip);
[[nodiscard]] abi::node_address control_cpu_node(const fabric::topology& t, sip_id sip, cube_id cube);

/// Flits of one launch packet.
[[nodiscard]] std::uint32_t launch_flits(const config::machine_config& config);
/// Throws user_error when no buffer of the NoC holds a launch packet.
void check_launch_packet(const config::machine_config& config);

/// Upper bound of the time from the hosts' launch calls, one per SIP at one instant, to the arrival of
/// the last participant's packet. `participants` of each SIP are in the order they are launched; order
/// between SIPs does not matter. 0 when host.launch is ideal or no PE takes part.
///
/// Along the path: host_cycles; the IO CPU's packets one after the other; idle latency to the cube; the
/// control CPU's packets one after the other; idle latency to the PE. Launch packets also meet each
/// other: those of one sender share a tree of links and stay apart when they leave no faster than the
/// slowest of its links can take them with one packet at a time under credit; those of two senders may
/// cost each other two packets' length at every link. The fabric carries nothing else meanwhile: a
/// launch follows the completion of the one before.
[[nodiscard]] sim_time worst_dispatch(const fabric::topology& t, const config::machine_config& config,
                                      std::span<const pe_coord> participants);

}  // namespace diecast::comm
