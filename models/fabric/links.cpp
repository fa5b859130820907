// SPDX-License-Identifier: Apache-2.0
// Numbers and names of the pod's links. A number is arithmetic on its place; names are made once,
// when the list is asked for.
#include <fmt/format.h>
#include <stdexcept>

#include "models/fabric/topology_impl.hpp"

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
            ucie_before(p.has_lanes, sides);
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
  for (std::uint32_t t = 0; t < terminals.size(); ++t) {
    add(link_kind::eject, terminals[t].router, t, rate, fmt::format("{}.{}.eject", path, terminals[t].name));
  }
  for (unsigned s = 0; s < sides; ++s) {
    if (!p.has_lanes[s]) continue;
    const auto edge = static_cast<side>(s);
    const double raw =
        joined(sip, cube_id{cube}, edge) ? ucie_raw_gbytes_s(ucie(sip_id{sip}, cube_id{cube}, edge)) : 0.0;
    add(link_kind::ucie, s, s, raw, fmt::format("{}.ucie_{}", path, to_string(static_cast<side>(s))));
  }
}

void topology::impl::name_links() const {
  links.reserve(first_sip_link + sip_links.size());
  for (std::uint32_t sip = 0; sip < shape.sips; ++sip) {
    for (std::uint32_t cube = 0; cube < shape.cubes_per_sip(); ++cube) name_cube_links(sip, cube);
  }
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
  if (!p.has_lanes[i]) no_such("UCIe", impl_->shape, sip, cube, i);
  return impl_->first_link[impl_->cube_index(sip, cube)] + impl_->mesh_links +
         2 * static_cast<std::uint32_t>(p.router_of.size()) + ucie_before(p.has_lanes, i);
}

std::uint32_t topology::sip_link_id(std::uint32_t sip_link_index) const {
  return impl_->first_sip_link + sip_link_index;
}

}  // namespace diecast::fabric
