// SPDX-License-Identifier: Apache-2.0
// Buffers at the ends of a NoC crossing, in flits per VC. They hold whole packets until the block
// behind them takes them, so they are deeper than a router's.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/abi/wire.hpp"
#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::fabric {

[[nodiscard]] inline std::uint32_t max_packet_flits(const config::machine_config& c) {
  return abi::flits_of(static_cast<std::uint32_t>(c.noc.max_packet_bytes),
                       static_cast<std::uint32_t>(c.noc.flit_bytes));
}

/// Buffer of a bulk class behind the network interface a packet enters by. Announcements at an interface are
/// of whole packets, so where a wormhole's router buffers do not hold one, this one holds two: one leaves
/// while the other comes in.
[[nodiscard]] inline std::uint32_t injection_buffer_flits(const config::machine_config& c) {
  const std::uint32_t router = vc_buffer_flits(c);
  const bool wormhole = c.noc.flow == config::noc_flow::wormhole;
  return wormhole ? std::max(router, 2 * max_packet_flits(c)) : router;
}

/// Receive buffer of a block or an adapter at a NoC terminal. A packet stays until its tail is there
/// and the block has taken it, another may wait for its turn on a die-to-die link, and credits are a
/// network interface and a return away: three packets and that loop keep a link busy.
[[nodiscard]] inline std::uint32_t receive_buffer_flits(const config::machine_config& c) {
  const auto loop = static_cast<std::uint32_t>(c.noc.ni_out_cycles + c.noc.credit_cycles);
  return std::max(vc_buffer_flits(c), 3 * max_packet_flits(c) + loop);
}

/// Receive buffer for class sideband, whose packets are one flit long.
[[nodiscard]] inline std::uint32_t receive_sideband_flits(const config::machine_config& c) {
  const auto loop = static_cast<std::uint32_t>(c.noc.ni_out_cycles + c.noc.credit_cycles);
  return std::max(sideband_buffer_flits(c), 3 + 2 * loop);
}

}  // namespace diecast::fabric
