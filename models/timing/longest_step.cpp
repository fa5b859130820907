// SPDX-License-Identifier: Apache-2.0
#include "models/timing/longest_step.hpp"

#include <algorithm>
#include <variant>

#include "models/config/overrides.hpp"
#include "models/timing/link.hpp"
#include "models/timing/wall_buffers.hpp"

namespace diecast::timing {
namespace {

sim_time slowest_link(const fabric::topology& t, const config::machine_config& c) {
  const std::uint32_t flits = max_packet_flits(c);
  sim_time longest;
  const auto note = [&](const link_timing& l) {
    longest = std::max(longest, l.serialization(flits) + l.latency);
  };
  for (std::uint32_t n = 0; n < t.sip_links().size(); ++n) {
    note(sip_link_timing_of(c, t.sip_link_settings(n)));
  }
  const machine_shape shape = t.shape();
  for (std::uint16_t sip = 0; sip < shape.sips; ++sip) {
    for (std::uint16_t cube = 0; cube < shape.cubes_per_sip(); ++cube) {
      for (unsigned s = 0; s < fabric::sides; ++s) {
        const auto side = static_cast<fabric::side>(s);
        if (t.neighbor(cube_id{cube}, side))
          note(ucie_timing_of(c, t.ucie(sip_id{sip}, cube_id{cube}, side)));
      }
    }
  }
  return longest;
}

/// Every PE's cost at its dearest: keys of PEs that may be no less than the block's are costs.
config::machine_config with_slowest_pe(config::machine_config c) {
  for (const config::override_key& k : config::override_keys()) {
    if (!k.is_of(config::instance_kind::pe) || k.against_block != config::override_key::limit::no_less)
      continue;
    for (const config::instance_override& o : c.overrides) {
      const auto here = k.get(o);
      if (here && std::get<std::uint64_t>(*here) > std::get<std::uint64_t>(k.row->get(c)))
        k.row->set(c, *here);
    }
  }
  return c;
}

}  // namespace

sim_time longest_step(const fabric::topology& t, const config::machine_config& config) {
  const config::machine_config c = with_slowest_pe(config);
  const std::uint64_t router =
      t.most_hop_cycles(c.noc.hop_cycles) + c.noc.ni_in_cycles + c.noc.ni_out_cycles + c.noc.credit_cycles;
  const std::uint64_t dma = c.pe.dma_launch_cycles + c.pe.dma_startup_cycles + c.pe.dma_issue_cycles;
  const std::uint64_t core = c.pe.tcm_read_cycles + c.pe.vector_startup_cycles + c.pe.register_cycles +
                             c.pe.interrupt_cycles + c.pe.task_switch_cycles;
  const std::uint64_t queue = c.ipcq.check_cycles + c.ipcq.match_cycles + c.ipcq.poll_cycles;
  const auto waiting = static_cast<double>(c.hbm.read_queue + c.hbm.write_queue);
  const double memory_ns = c.hbm.controller_ns + c.hbm.trfc_ns + waiting * c.hbm.trc_ns;
  return slowest_link(t, c) + noc_clock(c).cycles(router + dma + core + queue) + nanoseconds(memory_ns);
}

}  // namespace diecast::timing
