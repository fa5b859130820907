// SPDX-License-Identifier: Apache-2.0
// The fabric of a machine as servers of the transfer engine: a server for each link of the topology, routes
// as packets take them. Rates and latencies come from the functions that the blocks of hw/noc and hw/d2d use.
#pragma once

#include <map>
#include <utility>

#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"
#include "models/timing/transfer_engine.hpp"

namespace diecast::fabric {

class fabric_servers {
 public:
  /// Refers to all three.
  fabric_servers(const topology& t, const config::machine_config& c, timing::transfer_engine& engine);

  /// From the first flit at the network interface of `from` to the last flit at the terminal `to`.
  [[nodiscard]] const timing::transfer_route& route(const abi::node_address& from,
                                                    const abi::node_address& to);
  /// route(from, to) with the server of a memory in front of it (route_from) or behind it (route_to).
  [[nodiscard]] const timing::transfer_route& route_from(std::uint32_t server, const abi::node_address& from,
                                                         const abi::node_address& to);
  [[nodiscard]] const timing::transfer_route& route_to(const abi::node_address& from,
                                                       const abi::node_address& to, std::uint32_t server);

  /// From `from` to the I/O CPU `out`, through host memory, from the I/O CPU `in` of another SIP to `to`
  /// (comm.path = staged).
  [[nodiscard]] const timing::transfer_route& staged_route(const abi::node_address& from,
                                                           const abi::node_address& out,
                                                           const abi::node_address& in,
                                                           const abi::node_address& to);

  [[nodiscard]] timing::transfer_shape shape(std::uint64_t bytes, abi::traffic_class c) const;
  /// The server of a link by its index in the topology.
  [[nodiscard]] std::uint32_t server_of(std::uint32_t link) const { return first_ + link; }

 private:
  using ends = std::pair<abi::node_address, abi::node_address>;
  [[nodiscard]] timing::transfer_route build(const ends& e) const;
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> host_of(std::uint16_t sip);
  [[nodiscard]] timing::route_stage stage_of(const route_hop& hop) const;

  const topology& topology_;
  const config::machine_config& config_;
  timing::transfer_engine& engine_;
  std::uint32_t first_{};
  double vc_flits_{}, adapter_flits_{};
  std::map<std::uint16_t, std::pair<std::uint32_t, std::uint32_t>> host_;  ///< by SIP: its writes, its reads
  std::map<ends, timing::transfer_route> routes_, staged_;
  std::map<std::pair<ends, std::uint32_t>, timing::transfer_route> routes_from_, routes_to_;
};

}  // namespace diecast::fabric
