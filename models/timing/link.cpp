// SPDX-License-Identifier: Apache-2.0
#include "models/timing/link.hpp"

#include "models/fabric/topology.hpp"

namespace diecast::timing {

clock_domain noc_clock(const config::machine_config& c) { return clock_domain::from_ghz(c.noc.clock_ghz); }

noc_timing noc_timing_of(const config::machine_config& c) {
  return {noc_clock(c), c.noc.ni_in_cycles, c.noc.hop_cycles, c.noc.link_cycles, c.noc.ni_out_cycles};
}

link_timing ucie_timing_of(const config::machine_config& c) {
  return {c.noc.flit_bytes, fabric::ucie_payload_gbytes_s(c.ucie), nanoseconds(c.ucie.latency_ns),
          noc_clock(c)};
}

link_timing sip_link_timing_of(const config::machine_config& c) {
  return {c.noc.flit_bytes, c.sip_link.gbytes_s, nanoseconds(c.sip_link.latency_ns), noc_clock(c)};
}

}  // namespace diecast::timing
