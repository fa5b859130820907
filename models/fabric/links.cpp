// SPDX-License-Identifier: Apache-2.0
// Numbers and names of the pod's links. A number is computed from the link's position; names are made
// once, when the list is requested.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

#include "models/fabric/topology.hpp"
#include "models/fabric/topology_impl.hpp"
#include "models/timing/link.hpp"

namespace diecast::fabric {
namespace {

std::uint32_t ucie_before(const std::array<bool, sides>& present, unsigned s) {
  std::uint32_t n = 0;
  for (unsigned i = 0; i < s; ++i) n += present[i] ? 1U : 0U;
  return n;
}

std::string router_name(const cube_layout& l, std::uint32_t router) {
  return fmt::format("router_{}_{}", router % l.columns, router / l.columns);
}

[[noreturn]] void no_such(const char* kind, const machine_shape& shape, sip_id sip, cube_id cube,
                          std::uint32_t number) {
  throw std::out_of_range(fmt::format("{} has no {} link {}", cube_path(shape, sip, cube), kind, number));
}

}  // namespace

void topology::impl::number_links() {
  const cube_layout& l = layouts.front().layout;
  for (std::uint32_t r = 0; r < l.routers(); ++r) {
    for (unsigned s = 0; s < sides; ++s) {
      const bool exists = grid.has(static_cast<router_index>(r), static_cast<side>(s));
      mesh_offset.push_back(exists ? mesh_links++ : no_mesh_link);
    }
  }
  std::uint32_t next = 0;
  for (const std::uint32_t index : layout_of) {
    first_link.push_back(next);
    const placed_layout& p = layouts[index];
    next += mesh_links + 2 * static_cast<std::uint32_t>(p.layout.terminals.size()) +
            ucie_before(p.has_ports, sides);
  }
  first_sip_link = next;
}

void topology::impl::name_cube_links(std::uint32_t sip, std::uint32_t cube) const {
  const std::string path = cube_path(shape, sip_id{sip}, cube_id{cube});
  const placed_layout& p = placed(sip_id{sip}, cube_id{cube});
  const double rate = static_cast<double>(config.noc.flit_bytes) * config.noc.clock_ghz;
  const auto add = [&](link_kind kind, std::uint32_t from, std::uint32_t port, double gbytes_s,
                       std::string name) {
    links.push_back({kind, static_cast<std::uint16_t>(sip), static_cast<std::uint16_t>(cube),
                     static_cast<std::uint16_t>(from), static_cast<std::uint16_t>(port), gbytes_s,
                     std::move(name)});
  };
  for (std::uint32_t i = 0; i < mesh_offset.size(); ++i) {
    if (mesh_offset[i] == no_mesh_link) continue;
    add(link_kind::mesh, i / sides, i % sides, rate,
        fmt::format("{}.{}.{}", path, router_name(p.layout, i / sides),
                    to_string(static_cast<side>(i % sides))));
  }
  const auto& terminals = p.layout.terminals;
  for (std::uint32_t t = 0; t < terminals.size(); ++t) {
    add(link_kind::inject, t, terminals[t].router, rate,
        fmt::format("{}.{}.inject", path, terminals[t].name));
  }
  for (std::uint32_t t = 0; t < terminals.size(); ++t)
    add(link_kind::eject, terminals[t].router, t, rate, fmt::format("{}.{}.eject", path, terminals[t].name));
  for (unsigned s = 0; s < sides; ++s) {
    if (!p.has_ports[s]) continue;
    const auto edge = static_cast<side>(s);
    const double raw = joined(sip, cube_id{cube}, edge)
                           ? timing::ucie_raw_gbytes_s(ucie(sip_id{sip}, cube_id{cube}, edge))
                           : 0.0;
    add(link_kind::ucie, s, s, raw, fmt::format("{}.ucie_{}", path, to_string(static_cast<side>(s))));
  }
}

void topology::impl::name_links() const {
  links.reserve(first_sip_link + sip_links.size());
  for (std::uint32_t sip = 0; sip < shape.sips; ++sip)
    for (std::uint32_t cube = 0; cube < shape.cubes_per_sip(); ++cube) name_cube_links(sip, cube);
  for (const sip_link& l : sip_links) {
    links.push_back({link_kind::sip, l.from.sip, l.from.cube, static_cast<std::uint16_t>(l.index),
                     l.from.terminal, sip_joined(l.index) ? sip_link_block(l.index).gbytes_s : 0.0, l.name});
  }
}

std::span<const link> topology::links() const {
  std::call_once(impl_->links_named, [this] { impl_->name_links(); });
  return impl_->links;
}

std::uint32_t topology::mesh_link(sip_id sip, cube_id cube, router_index router, side s) const {
  const std::uint32_t offset = impl_->mesh_offset[router * sides + static_cast<unsigned>(s)];
  if (offset == impl::no_mesh_link) no_such("mesh", impl_->shape, sip, cube, router);
  return impl_->first_link[impl_->cube_index(sip, cube)] + offset;
}

std::uint32_t topology::inject_link(sip_id sip, cube_id cube, terminal_index t) const {
  const std::size_t terminals = impl_->placed(sip, cube).router_of.size();
  if (t >= terminals) no_such("inject", impl_->shape, sip, cube, t);
  return impl_->first_link[impl_->cube_index(sip, cube)] + impl_->mesh_links + t;
}

std::uint32_t topology::eject_link(sip_id sip, cube_id cube, terminal_index t) const {
  const auto terminals = static_cast<std::uint32_t>(impl_->placed(sip, cube).router_of.size());
  if (t >= terminals) no_such("eject", impl_->shape, sip, cube, t);
  return impl_->first_link[impl_->cube_index(sip, cube)] + impl_->mesh_links + terminals + t;
}

std::uint32_t topology::ucie_link(sip_id sip, cube_id cube, side s) const {
  const placed_layout& p = impl_->placed(sip, cube);
  const unsigned i = static_cast<unsigned>(s);
  if (!p.has_ports[i]) no_such("UCIe", impl_->shape, sip, cube, i);
  return impl_->first_link[impl_->cube_index(sip, cube)] + impl_->mesh_links +
         2 * static_cast<std::uint32_t>(p.router_of.size()) + ucie_before(p.has_ports, i);
}

std::uint32_t topology::sip_link_id(std::uint32_t sip_link_index) const {
  return impl_->first_sip_link + sip_link_index;
}

// The class does not matter on an idle fabric: all classes take the same routes at the same rate, and
// sideband wires are defined to have the latency of the routers they pass.
sim_time idle_latency(const topology& t, const config::machine_config& config, abi::node_address from,
                      abi::node_address to, abi::traffic_class, std::uint32_t flits) {
  timing::noc_timing noc = timing::noc_timing_of(config);
  sim_time start;  // when the head enters the present cube
  entry how = entry::injected;
  leg at = 0;
  for (abi::node_address here = from;;) {
    const sip_id sip{here.sip};
    const cube_id cube{here.cube};
    const std::vector<terminal>& terminals = t.layout(sip, cube).terminals;
    const router_index router = terminals.at(here.terminal).router;
    const cube_step step = t.enter(sip, cube, router, how, at, to);
    const terminal& exit = terminals.at(step.exit);
    noc.hop_cycles = t.hop_cycles(sip, cube, config.noc.hop_cycles);
    const sim_time tail = noc.crossing(start, t.distance(router, exit.router), flits).tail;
    if (!exit.leads_on()) return tail;
    const bool leaves_sip = exit.kind == terminal_kind::sip_port;
    start = leaves_sip
                ? timing::sip_link_timing_of(config, t.sip_link_settings(exit.index)).crossing(tail, flits)
                : timing::ucie_timing_of(config, t.ucie(sip, cube, exit.edge)).crossing(tail, flits);
    how = leaves_sip ? entry::from_sip : entry::from_cube;
    at = step.next;
    here = t.far_end({here.sip, here.cube, step.exit});
  }
}

// Rates and buffer sizes that follow from other keys.

namespace {

constexpr std::uint32_t granule = 8;  // flits; buffer sizes are multiples of it

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

/// Number of longest packets in flight on a link that never waits: the one being sent, and those whose
/// credits have not returned.
std::uint64_t packets_in_loop(const config::machine_config& c, const timing::link_timing& link) {
  const std::uint32_t packet = packet_flits(c);
  const sim_time loop = link.latency * 2 + link.receiver.cycles(packet + 1);
  const std::uint64_t each = link.serialization(packet).fs;
  return 1 + (loop.fs + each - 1) / each;
}

/// Flits that arrive during a round trip of credits: the packet crosses, waits for the next edge, leaves at
/// one flit per cycle, and its credit crosses back. As credits are taken for whole packets, the buffer also
/// holds as many longest packets as are in flight.
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

}  // namespace diecast::fabric
