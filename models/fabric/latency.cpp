// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/topology.hpp"
#include "models/timing/link.hpp"

namespace diecast::fabric {

// The class does not matter on an idle fabric: all classes take the same routes at the same rate, and
// sideband wires are defined to have the latency of the routers they pass.
sim_time idle_latency(const topology& t, const config::machine_config& config, abi::node_address from,
                      abi::node_address to, abi::traffic_class, std::uint32_t flits) {
  timing::noc_timing noc = timing::noc_timing_of(config);
  sim_time start;  // when the head enters the cube at hand
  timing::span at_exit;
  std::uint64_t mesh_links = 0;
  const std::span<const link> links = t.links();
  for (const route_hop& hop : t.trace(from, to)) {
    const link& l = links[hop.link];
    switch (l.kind) {
      case link_kind::inject:
        mesh_links = 0;
        noc.hop_cycles = t.hop_cycles(sip_id{l.sip}, cube_id{l.cube}, config.noc.hop_cycles);
        break;
      case link_kind::mesh: ++mesh_links; break;
      case link_kind::eject: at_exit = noc.crossing(start, mesh_links, flits); break;
      case link_kind::ucie: {
        const config::ucie_block& u = t.ucie(sip_id{l.sip}, cube_id{l.cube}, static_cast<side>(l.from));
        start = timing::ucie_timing_of(config, u).crossing(at_exit.tail, flits);
        break;
      }
      case link_kind::sip:
        start = timing::sip_link_timing_of(config, t.sip_link_settings(l.from)).crossing(at_exit.tail, flits);
        break;
    }
  }
  return at_exit.tail;
}

}  // namespace diecast::fabric
