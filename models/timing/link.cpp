// SPDX-License-Identifier: Apache-2.0
#include "models/timing/link.hpp"

#include "models/fabric/topology.hpp"

namespace diecast::timing {

clock_domain noc_clock(const config::machine_config& c) { return clock_domain::from_ghz(c.noc.clock_ghz); }

noc_timing noc_timing_of(const config::machine_config& c) {
  const config::noc_block& n = c.noc;
  return {noc_clock(c),    n.ni_in_cycles,   n.hop_cycles,      n.link_cycles,
          n.ni_out_cycles, n.routing_cycles, n.vc_alloc_cycles, n.switch_alloc_cycles};
}

link_timing ucie_timing_of(const config::machine_config& c) {
  return {c.noc.flit_bytes, fabric::ucie_payload_gbytes_s(c.ucie), nanoseconds(c.ucie.latency_ns),
          noc_clock(c)};
}

link_timing sip_link_timing_of(const config::machine_config& c) {
  return {c.noc.flit_bytes, c.sip_link.gbytes_s, nanoseconds(c.sip_link.latency_ns), noc_clock(c)};
}

}  // namespace diecast::timing
