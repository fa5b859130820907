// SPDX-License-Identifier: Apache-2.0
// Rates and buffer sizes that follow from other keys.
#include <algorithm>
#include <cmath>

#include "models/fabric/topology.hpp"
#include "models/timing/link.hpp"

namespace diecast::fabric {
namespace {

constexpr std::uint32_t granule = 8;  // flits; buffers are built of whole memories

std::uint32_t rounded(std::uint64_t flits) {
  return static_cast<std::uint32_t>((flits + granule - 1) / granule * granule);
}

std::uint64_t credit_loop_cycles(const config::machine_config& c) {
  return c.noc.hop_cycles + c.noc.credit_cycles;
}

std::uint32_t packet_flits(const config::machine_config& c) {
  return abi::flits_of(static_cast<std::uint32_t>(c.noc.max_packet_bytes),
                       static_cast<std::uint32_t>(c.noc.flit_bytes));
}

/// Longest packets under way at one time on a link that never waits: the one that is sent, and those whose
/// credits are not back yet.
std::uint64_t packets_in_loop(const config::machine_config& c, const timing::link_timing& link) {
  const std::uint32_t packet = packet_flits(c);
  const sim_time loop = link.latency * 2 + link.receiver.cycles(packet + 1);
  const std::uint64_t each = link.serialization(packet).fs;
  return 1 + (loop.fs + each - 1) / each;
}

/// Flits that arrive while one credit is on its way round a link: the packet crosses, waits for the
/// next edge, leaves at one flit per cycle, and its credit crosses back. Credits are taken for whole packets:
/// where a long one lasts about as long as the loop, or longer, a place for each of those under way is more.
std::uint32_t link_buffer(const config::machine_config& c, const timing::link_timing& link) {
  const std::uint32_t packet = packet_flits(c);
  const sim_time round = link.latency * 2 + link.receiver.cycles(packet + c.noc.credit_cycles + 1);
  const double flits = link.gbytes_s * round.ns() / static_cast<double>(c.noc.flit_bytes);
  return rounded(
      std::max(static_cast<std::uint64_t>(std::ceil(flits)) + packet, packets_in_loop(c, link) * packet));
}

}  // namespace

std::uint32_t vc_buffer_flits(const config::machine_config& c) {
  if (c.noc.vc_buffer_flits) return static_cast<std::uint32_t>(*c.noc.vc_buffer_flits);
  return rounded(packet_flits(c) + credit_loop_cycles(c));
}

std::uint32_t sideband_buffer_flits(const config::machine_config& c) {
  if (c.noc.sideband_buffer_flits) return static_cast<std::uint32_t>(*c.noc.sideband_buffer_flits);
  return rounded(1 + credit_loop_cycles(c));  // a sideband packet is one flit
}

std::uint32_t ucie_buffer_flits(const config::machine_config& c, const config::ucie_block& u) {
  if (u.buffer_flits) return static_cast<std::uint32_t>(*u.buffer_flits);
  return link_buffer(c, timing::ucie_timing_of(c, u));
}

std::uint32_t sip_link_buffer_flits(const config::machine_config& c, const config::sip_link_block& s) {
  if (s.buffer_flits) return static_cast<std::uint32_t>(*s.buffer_flits);
  return link_buffer(c, timing::sip_link_timing_of(c, s));
}

double ucie_raw_gbytes_s(const config::ucie_block& u) {
  return static_cast<double>(u.lanes) * u.gt_s / 8.0 * static_cast<double>(u.modules);
}

double ucie_payload_gbytes_s(const config::ucie_block& u) {
  const timing::frame_format frame = timing::frame_of(u.format);
  if (frame.wire_bytes == 0) return ucie_raw_gbytes_s(u);
  return ucie_raw_gbytes_s(u) * static_cast<double>(frame.payload_bytes) /
         static_cast<double>(frame.wire_bytes);
}

}  // namespace diecast::fabric
