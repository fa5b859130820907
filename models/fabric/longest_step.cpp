// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/longest_step.hpp"

#include <algorithm>
#include <variant>

#include "models/config/overrides.hpp"
#include "models/fabric/topology.hpp"
#include "models/timing/link.hpp"

namespace diecast::fabric {
namespace {

sim_time slowest_link(const topology& t, const config::machine_config& c) {
  const std::uint32_t flits = max_packet_flits(c);
  sim_time longest;
  const auto note = [&](const timing::link_timing& l) {
    longest = std::max(longest, l.serialization(flits) + l.latency);
  };
  for (std::uint32_t n = 0; n < t.sip_links().size(); ++n)
    note(timing::sip_link_timing_of(c, t.sip_link_settings(n)));
  const machine_shape shape = t.shape();
  for (std::uint16_t sip = 0; sip < shape.sips; ++sip) {
    for (std::uint16_t cube = 0; cube < shape.cubes_per_sip(); ++cube) {
      for (unsigned s = 0; s < sides; ++s) {
        const auto side = static_cast<fabric::side>(s);
        if (t.neighbor(cube_id{cube}, side))
          note(timing::ucie_timing_of(c, t.ucie(sip_id{sip}, cube_id{cube}, side)));
      }
    }
  }
  return longest;
}

/// Time of a packet of full length at a rate in bytes per nanosecond.
sim_time packet_at(const config::machine_config& c, double gbytes_s) {
  return nanoseconds(static_cast<double>(max_packet_flits(c) * c.noc.flit_bytes) / gbytes_s);
}

/// Through host memory: written at the rate of one SIP, read at that of another.
sim_time staging(const config::machine_config& c) {
  if (c.comm.path != config::transfer_path::staged) return {};
  return packet_at(c, c.host.staging_gbytes_s) * 2 + nanoseconds(c.host.staging_latency_ns);
}

/// Time of a packet's checksum in the engines of sender and receiver.
sim_time checksums(const config::machine_config& c) {
  if (c.comm.checksum == config::packet_checksum::none) return {};
  return packet_at(c, c.comm.checksum_gbytes_s) * 2;
}

sim_time hbm(const config::machine_config& c) {
  const config::hbm_block& hbm = c.hbm;
  if (hbm.model == config::hbm_model::simple)
    return packet_at(c, hbm.simple_gbytes_s) + nanoseconds(hbm.simple_latency_ns);
  const auto waiting = static_cast<double>(hbm.read_queue + hbm.write_queue);
  return nanoseconds(hbm.controller_ns + hbm.trfc_ns + waiting * hbm.trc_ns);
}

sim_time sram(const config::machine_config& c) {
  return packet_at(c, c.sram.gbytes_s) + nanoseconds(c.sram.latency_ns);
}

/// Cycles of a tree's unit with a branch down to every terminal and side.
std::uint64_t tree_unit(const config::machine_config& c) {
  if (!c.noc.multicast) return 0;
  if (!c.noc.reduce) return c.noc.multicast_cycles;
  const std::uint64_t ways = c.cube.pes + sides;
  const std::uint64_t operands = ways * c.noc.max_packet_bytes;
  return c.noc.multicast_cycles + ways * c.noc.reduce_cycles +
         (operands + c.noc.reduce_bytes_per_cycle - 1) / c.noc.reduce_bytes_per_cycle;
}

/// Greatest cost of any PE: keys of PEs that may not be set below the block's value are costs.
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

sim_time longest_step(const topology& t, const config::machine_config& config) {
  const config::machine_config c = with_slowest_pe(config);
  const std::uint64_t router =
      t.most_hop_cycles(c.noc.hop_cycles) + c.noc.ni_in_cycles + c.noc.ni_out_cycles + c.noc.credit_cycles;
  const std::uint64_t dma = c.pe.dma_launch_cycles + c.pe.dma_startup_cycles + c.pe.dma_issue_cycles;
  const std::uint64_t core = c.pe.tcm_read_cycles + c.pe.vector_startup_cycles + c.pe.register_cycles +
                             c.pe.interrupt_cycles + c.pe.task_switch_cycles;
  const std::uint64_t queue = c.ipcq.check_cycles + c.ipcq.match_cycles + c.ipcq.poll_cycles;
  return slowest_link(t, c) + staging(c) +
         timing::noc_clock(c).cycles(router + tree_unit(c) + dma + core + queue) + checksums(c) + hbm(c) +
         sram(c);
}

}  // namespace diecast::fabric
