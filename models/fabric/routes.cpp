// SPDX-License-Identifier: Apache-2.0
// Where packets go: one decision per cube, one per router.
#include <stdexcept>

#include "models/fabric/router_grid.hpp"
#include "models/fabric/topology_impl.hpp"
#include "models/types/error.hpp"

namespace diecast::fabric {
namespace {

/// SIP group of a leg: 0 before any SIP link, then what from_sip put it into.
constexpr unsigned group_of(leg l) { return l == 0 ? 0U : (l - 1U) / 2; }
constexpr leg transit_leg(unsigned group) { return static_cast<leg>(1 + 2 * group); }
constexpr leg last_leg(unsigned group) { return static_cast<leg>(2 + 2 * group); }

}  // namespace

/// Spreads flows over VCs: a fixed hash of both ends (the finalizer of SplitMix64, Steele et al., 2014).
unsigned topology::flow_vc(const abi::node_address& source, const abi::node_address& destination) const {
  if (plan_.per_set == 1) return 0;
  const auto packed = [](const abi::node_address& a) {
    return std::uint64_t{a.sip} << 32 | std::uint64_t{a.cube} << 16 | a.terminal;
  };
  std::uint64_t h = packed(source) * 0x9e3779b97f4a7c15 + packed(destination);
  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9;
  h = (h ^ h >> 27) * 0x94d049bb133111eb;
  return static_cast<unsigned>((h ^ h >> 31) % plan_.per_set);
}

topology::impl::cube_exit topology::impl::route_out(sip_id sip, cube_id cube, router_index router,
                                                    const abi::node_address& destination) const {
  std::uint32_t target = destination.cube;
  terminal_index last = destination.terminal;
  if (destination.sip != sip.value) {
    const abi::node_address& port = sip_links[graph.next_link(sip.value, destination.sip)].from;
    target = port.cube;
    last = port.terminal;
  }
  if (target == cube.value) return {last, false};
  const std::uint32_t x = shape.cube_x(cube);
  const std::uint32_t tx = shape.cube_x(cube_id{target});
  const placed_layout& p = placed(sip, cube);
  const auto port = [&](side s, std::uint16_t number) {
    const std::vector<terminal_index>& ports = p.port_for[static_cast<unsigned>(s)];
    return ports[p.spread_ports ? target % ports.size() : number];
  };
  if (!detours.empty() && !detours[sip.value].empty()) {
    const side s = detours[sip.value][std::size_t{cube.value} * shape.cubes_per_sip() + target];
    const bool along_x = s == side::east || s == side::west;
    return {port(s, along_x ? router_y[router] : router_x[router]), true};
  }
  if (x != tx) return {port(tx > x ? side::east : side::west, router_y[router]), true};
  return {port(target > cube.value ? side::north : side::south, router_x[router]), true};
}

terminal_index topology::exit(sip_id sip, cube_id cube, router_index router,
                              const abi::node_address& destination) const {
  return impl_->route_out(sip, cube, router, destination).exit;
}

cube_step topology::enter(sip_id sip, cube_id cube, router_index router, entry how, leg before,
                          const abi::node_address& destination) const {
  const impl& m = *impl_;
  const impl::cube_exit out = m.route_out(sip, cube, router, destination);
  if (how == entry::injected || m.vcs.legs == 1) return {out.exit, 0};
  unsigned group = group_of(before);
  if (how == entry::from_sip)
    group = m.count_crossings ? group + 1 : m.dateline_group(sip.value, destination.sip);
  return {out.exit, out.passes ? transit_leg(group) : last_leg(group)};
}

unsigned topology::next_side(sip_id sip, cube_id cube, router_index router, terminal_index exit) const {
  return impl_->grid.towards(router, impl_->placed(sip, cube).router_of[exit]).side;
}

hop topology::next_hop(sip_id sip, cube_id cube, router_index router, terminal_index exit,
                       std::uint8_t vc) const {
  const router_grid::step step = impl_->grid.towards(router, impl_->placed(sip, cube).router_of[exit]);
  return {step.side, rule().behind(vc, step, any_vc(class_of(vc)))};
}

const router_grid& topology::grid() const { return impl_->grid; }
vc_rule topology::rule() const { return {plan_.sets, plan_.per_set}; }

std::uint32_t topology::distance(router_index from, router_index to) const {
  return impl_->grid.distance(from, to);
}

bool topology::has_side(router_index router, side s) const { return impl_->grid.has(router, s); }
std::uint32_t topology::mesh_links() const { return impl_->mesh_links; }

std::uint32_t topology::sip_route(sip_id at, sip_id to) const {
  return impl_->graph.next_link(at.value, to.value);
}

router_index topology::next_router(router_index router, side s) const { return impl_->grid.next(router, s); }

abi::node_address topology::far_end(const abi::node_address& exit) const {
  const impl& m = *impl_;
  const terminal& t = m.placed(sip_id{exit.sip}, cube_id{exit.cube}).layout.terminals.at(exit.terminal);
  if (t.kind == terminal_kind::sip_port) return m.sip_links[t.index].to;
  if (t.kind != terminal_kind::ucie_port) {
    throw formatted<std::logic_error>("terminal {} of {} leads to no other cube", t.name,
                                      cube_path(m.shape, sip_id{exit.sip}, cube_id{exit.cube}));
  }
  const cube_id there = *neighbor(cube_id{exit.cube}, t.edge);
  const unsigned back = static_cast<unsigned>(opposite(t.edge));
  const placed_layout& p = m.placed(sip_id{exit.sip}, there);
  return {exit.sip, static_cast<std::uint16_t>(there.value),
          static_cast<std::uint16_t>(p.port_base[back] + t.index)};
}

std::vector<route_hop> topology::trace(abi::node_address from, abi::node_address to) const {
  std::vector<route_hop> hops;
  entry how = entry::injected;
  leg at = 0;
  for (abi::node_address here = from;;) {
    const sip_id sip{here.sip};
    const cube_id cube{here.cube};
    const placed_layout& p = impl_->placed(sip, cube);
    router_index router = p.router_of.at(here.terminal);
    const cube_step step = enter(sip, cube, router, how, at, to);
    at = step.next;
    hops.push_back({inject_link(sip, cube, here.terminal), at});
    std::uint8_t vc = this->vc(class_of(0), at);
    for (hop h = next_hop(sip, cube, router, step.exit, vc); h.side != sides;
         h = next_hop(sip, cube, router, step.exit, vc)) {
      const auto s = static_cast<side>(h.side);
      hops.push_back(
          {mesh_link(sip, cube, router, s), at, static_cast<std::uint8_t>(dateline_set_of(h.vcs.first))});
      router = next_router(router, s);
      vc = h.vcs.first;
    }
    hops.push_back({eject_link(sip, cube, step.exit), at});
    const terminal& t = p.layout.terminals.at(step.exit);
    if (t.kind != terminal_kind::ucie_port && t.kind != terminal_kind::sip_port) return hops;
    const bool leaves_sip = t.kind == terminal_kind::sip_port;
    hops.push_back({leaves_sip ? sip_link_id(t.index) : ucie_link(sip, cube, t.edge), at});
    how = leaves_sip ? entry::from_sip : entry::from_cube;
    here.terminal = step.exit;
    here = far_end(here);
  }
}

}  // namespace diecast::fabric
