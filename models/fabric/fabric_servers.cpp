// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/fabric_servers.hpp"

#include "models/abi/wire.hpp"
#include "models/fabric/topology.hpp"
#include "models/timing/link.hpp"

namespace diecast::fabric {
namespace {

double flit_ns_of(const topology& t, const config::machine_config& c, const link& l) {
  switch (l.kind) {
    case link_kind::ucie: {
      const auto& u = t.ucie(sip_id{l.sip}, cube_id{l.cube}, static_cast<side>(l.from));
      const timing::link_timing timing = timing::ucie_timing_of(c, u);
      const double errors =
          timing.framed() ? timing::frame_error_rate(timing::ucie_ber(u), timing.frame_wire_bytes * 8) : 0;
      const double share =
          timing::replay_share(errors, errors > 0 ? timing::go_back_frames(timing) : 1) *
          (timing.framed() ? timing::retry_share(timing, timing::ucie_retry_frames(c, u)) : 1.0);
      return static_cast<double>(timing.flit_bytes) / (timing.gbytes_s * share);
    }
    case link_kind::sip: {
      const timing::link_timing timing = timing::sip_link_timing_of(c, t.sip_link_settings(l.from));
      return static_cast<double>(timing.flit_bytes) / timing.gbytes_s;
    }
    case link_kind::mesh:
    case link_kind::inject:
    case link_kind::eject: break;
  }
  return timing::noc_clock(c).period.ns();
}

}  // namespace

fabric_servers::fabric_servers(const topology& t, const config::machine_config& c,
                               timing::transfer_engine& engine)
    : topology_(t),
      config_(c),
      engine_(engine),
      vc_flits_(vc_buffer_flits(c)),
      adapter_flits_(receive_buffer_flits(c)) {
  for (std::size_t i = 0; i < t.links().size(); ++i) {
    const link& l = t.links()[i];
    const bool is_there = l.gbytes_s > 0;
    const std::uint32_t server =
        engine.add_server(is_there ? flit_ns_of(t, c, l) : timing::noc_clock(c).period.ns());
    if (i == 0) first_ = server;
  }
}

timing::route_stage fabric_servers::stage_of(const route_hop& hop) const {
  const link& l = topology_.links()[hop.link];
  const timing::noc_timing noc = timing::noc_timing_of(config_);
  const std::uint64_t router = topology_.hop_cycles(sip_id{l.sip}, cube_id{l.cube}, config_.noc.hop_cycles);
  const auto cycles = [&](std::uint64_t n) { return noc.clock.cycles(n).ns(); };
  timing::route_stage s;
  s.server = server_of(hop.link);
  s.leg = static_cast<std::uint8_t>(hop.at * 2 + hop.set);
  s.buffer_flits = vc_flits_;
  const auto link = [&](const timing::link_timing& t, double buffer) {
    s.between_dies = true;
    s.latency_ns = t.latency.ns();
    s.frame_ns = t.framed() ? t.frame_time(1).ns() : 0;
    s.buffer_flits = buffer;
  };
  switch (l.kind) {
    case link_kind::inject:
      s.begins_die = true;
      s.latency_ns = cycles(noc.ni_in_cycles + router - noc.link_cycles);
      break;
    case link_kind::mesh: s.latency_ns = cycles(router); break;
    case link_kind::eject:
      s.latency_ns = cycles(noc.ni_out_cycles);
      s.buffer_flits = adapter_flits_;
      break;
    case link_kind::ucie: {
      const auto& u = topology_.ucie(sip_id{l.sip}, cube_id{l.cube}, static_cast<side>(l.from));
      link(timing::ucie_timing_of(config_, u), ucie_buffer_flits(config_, u));
      break;
    }
    case link_kind::sip: {
      const auto& settings = topology_.sip_link_settings(l.from);
      link(timing::sip_link_timing_of(config_, settings), sip_link_buffer_flits(config_, settings));
      break;
    }
  }
  return s;
}

timing::transfer_route fabric_servers::build(const ends& e) const {
  timing::transfer_route route;
  for (const route_hop& hop : topology_.trace(e.first, e.second)) route.push_back(stage_of(hop));
  return route;
}

const timing::transfer_route& fabric_servers::route(const abi::node_address& from,
                                                    const abi::node_address& to) {
  const auto [at, fresh] = routes_.try_emplace({from, to});
  if (fresh) at->second = build(at->first);
  return at->second;
}

const timing::transfer_route& fabric_servers::route_from(std::uint32_t server, const abi::node_address& from,
                                                         const abi::node_address& to) {
  const auto [at, fresh] = routes_from_.try_emplace({{from, to}, server});
  if (fresh) {
    at->second = build({from, to});
    at->second.insert(at->second.begin(), timing::route_stage{server, 0, 0, 0, adapter_flits_, false, true});
    at->second[1].begins_die = false;
  }
  return at->second;
}

const timing::transfer_route& fabric_servers::route_to(const abi::node_address& from,
                                                       const abi::node_address& to, std::uint32_t server) {
  const auto [at, fresh] = routes_to_.try_emplace({{from, to}, server});
  if (fresh) {
    at->second = build({from, to});
    at->second.push_back(timing::route_stage{server, 0, 0, 0, adapter_flits_, false, false});
  }
  return at->second;
}

std::pair<std::uint32_t, std::uint32_t> fabric_servers::host_of(std::uint16_t sip) {
  const auto [at, fresh] = host_.try_emplace(sip);
  if (fresh) {
    const double flit_ns = static_cast<double>(config_.noc.flit_bytes) / config_.host.staging_gbytes_s;
    at->second = {engine_.add_server(flit_ns), engine_.add_server(flit_ns)};
  }
  return at->second;
}

const timing::transfer_route& fabric_servers::staged_route(const abi::node_address& from,
                                                           const abi::node_address& out,
                                                           const abi::node_address& in,
                                                           const abi::node_address& to) {
  const auto [at, fresh] = staged_.try_emplace({from, to});
  if (!fresh) return at->second;
  timing::transfer_route& route = at->second = build({from, out});
  // A packet is written as a whole, then read as a whole: no part of it can be read before its last flit.
  const double flit_ns = static_cast<double>(config_.noc.flit_bytes) / config_.host.staging_gbytes_s;
  const double packet_ns = flit_ns * max_packet_flits(config_);
  const double hand_over_ns = timing::noc_clock(config_).period.ns();
  route.push_back(
      {host_of(out.sip).first, 0, config_.host.staging_latency_ns, packet_ns, adapter_flits_, true, false});
  route.push_back({host_of(in.sip).second, 0, hand_over_ns, packet_ns, adapter_flits_, true, false});
  for (const timing::route_stage& s : build({in, to})) route.push_back(s);
  return route;
}

timing::transfer_shape fabric_servers::shape(std::uint64_t bytes, abi::traffic_class c) const {
  const auto flit = static_cast<std::uint32_t>(config_.noc.flit_bytes);
  const std::uint64_t longest = config_.noc.max_packet_bytes;
  const std::uint64_t full = bytes / longest, rest = bytes % longest;
  timing::transfer_shape s;
  s.traffic_class = static_cast<std::uint8_t>(c);
  s.packet_flits = abi::flits_of(static_cast<std::uint32_t>(full > 0 ? longest : rest), flit);
  s.packets = static_cast<std::uint32_t>(full) + (rest > 0 || full == 0 ? 1 : 0);
  s.flits = static_cast<std::uint32_t>(full) * s.packet_flits +
            (rest > 0 || full == 0 ? abi::flits_of(static_cast<std::uint32_t>(rest), flit) : 0);
  return s;
}

}  // namespace diecast::fabric
