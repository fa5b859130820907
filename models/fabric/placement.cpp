// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/placement.hpp"

#include <fmt/format.h>

#include "models/config/placement.hpp"
#include "models/types/enum_name.hpp"

namespace diecast::fabric {
namespace {

constexpr const char* side_letter = "nesw";

char letter(side s) { return side_letter[static_cast<unsigned>(s)]; }

terminal_index add(placed_layout& cube, terminal t) {
  const auto index = static_cast<terminal_index>(cube.layout.terminals.size());
  cube.router_of.push_back(t.router);
  cube.layout.terminals.push_back(std::move(t));
  return index;
}

router_index router_at(const cube_layout& l, std::uint32_t x, std::uint32_t y) {
  return static_cast<router_index>(y * l.columns + x);
}

/// Position `i` of `n` blocks spread evenly along a path through the rows in alternating directions, so that
/// blocks of consecutive numbers are near each other and a half-filled mesh becomes a checkerboard.
router_index spread(const cube_layout& l, std::uint64_t i, std::uint64_t n) {
  const std::uint64_t step = (2 * i + 1) * l.routers() / (2 * n);
  const auto y = static_cast<std::uint32_t>(step / l.columns);
  const auto along = static_cast<std::uint32_t>(step % l.columns);
  return router_at(l, y % 2 == 0 ? along : l.columns - 1 - along, y);
}

router_index router_at(const cube_layout& l, const config::grid_place& p) {
  return router_at(l, p.column, p.row);
}

/// `n` blocks of a kind, on the routers of placement key `listed` or spread.
void add_all(placed_layout& cube, terminal_kind kind, const char* name, std::uint64_t n,
             const std::string& listed) {
  const auto places = config::listed_places(listed);
  for (std::uint64_t i = 0; i < n; ++i) {
    const router_index router = places ? router_at(cube.layout, (*places)[i]) : spread(cube.layout, i, n);
    add(cube, {kind, static_cast<std::uint32_t>(i), side::north, router, fmt::format("{}{}", name, i)});
  }
}

/// A single block, on the router of placement key `listed` or at `usual`.
terminal_index add_one(placed_layout& cube, terminal_kind kind, const std::string& listed,
                       router_index usual) {
  const auto places = config::listed_places(listed);
  return add(cube, {kind, 0, side::north, places ? router_at(cube.layout, places->front()) : usual,
                    to_string(kind)});
}

/// The router of position `port` along an edge.
router_index edge_router(const cube_layout& l, side s, std::uint32_t port) {
  switch (s) {
    case side::north: return router_at(l, port, l.rows - 1);
    case side::east: return router_at(l, l.columns - 1, port);
    case side::south: return router_at(l, port, 0);
    case side::west: return router_at(l, 0, port);
  }
  return 0;
}

std::uint32_t edge_length(const cube_layout& l, side s) {
  return s == side::north || s == side::south ? l.columns : l.rows;
}

/// Which of `positions`, in ascending order, is nearest to `at`.
std::size_t nearest(const std::vector<std::uint32_t>& positions, std::uint32_t at) {
  const auto distance = [at](std::uint32_t p) { return p > at ? p - at : at - p; };
  const auto nearer = [&](std::uint32_t a, std::uint32_t b) { return distance(a) < distance(b); };
  return static_cast<std::size_t>(std::ranges::min_element(positions, nearer) - positions.begin());
}

void add_ports(placed_layout& cube, const config::machine_config& c, side edge) {
  const unsigned s = static_cast<unsigned>(edge);
  const bool vertical = edge == side::east || edge == side::west;
  const std::vector<std::uint32_t> positions = config::ports_of_edge(c, vertical);
  cube.has_ports[s] = true;
  cube.port_base[s] = static_cast<terminal_index>(cube.layout.terminals.size());
  for (std::uint32_t port = 0; port < positions.size(); ++port) {
    const router_index router =
        cube.spread_ports ? router_index{} : edge_router(cube.layout, edge, positions[port]);
    add(cube,
        {terminal_kind::ucie_port, port, edge, router, fmt::format("ucie_{}.port{}", letter(edge), port)});
  }
  const auto entries =
      cube.spread_ports ? static_cast<std::uint32_t>(positions.size()) : edge_length(cube.layout, edge);
  for (std::uint32_t at = 0; at < entries; ++at) {
    const std::size_t port = cube.spread_ports ? at : nearest(positions, at);
    cube.port_for[s].push_back(static_cast<terminal_index>(cube.port_base[s] + port));
  }
}

/// A cube without terminals.
placed_layout bare_cube(const config::machine_config& c) {
  placed_layout cube;
  cube.spread_ports = c.noc.topology == config::noc_topology::crossbar;
  cube.layout.columns = cube.spread_ports ? 1 : static_cast<std::uint32_t>(c.noc.columns);
  cube.layout.rows = cube.spread_ports ? 1 : static_cast<std::uint32_t>(c.noc.rows);
  return cube;
}

}  // namespace

const char* to_string(side s) { return enum_name(s); }
const char* to_string(terminal_kind k) { return enum_name(k); }

gateway compass_gateway(const machine_shape& shape, side s) {
  const std::uint32_t w = shape.cube_columns;
  const std::uint32_t h = shape.cube_rows;
  switch (s) {
    case side::north: return {shape.cube_at(w / 2, h - 1), s};
    case side::east: return {shape.cube_at(w - 1, h / 2), s};
    case side::south: return {shape.cube_at(w / 2, 0), s};
    case side::west: return {shape.cube_at(0, h / 2), s};
  }
  return {};
}

side outer_side(const machine_shape& shape, cube_id cube) {
  const std::uint32_t x = shape.cube_x(cube);
  if (cube.value < shape.cube_columns) return side::south;
  if (x + 1 == shape.cube_columns) return side::east;
  return cube.value + shape.cube_columns >= shape.cubes_per_sip() ? side::north : side::west;
}

gateway spread_gateway(const machine_shape& shape, std::uint32_t port, std::uint32_t ports) {
  const std::uint32_t w = shape.cube_columns;
  const std::uint32_t h = shape.cube_rows;
  std::vector<cube_id> edge;
  for (std::uint32_t x = 0; x < w; ++x) edge.push_back(shape.cube_at(x, 0));
  for (std::uint32_t y = 1; y < h; ++y) edge.push_back(shape.cube_at(w - 1, y));
  if (h > 1)
    for (std::uint32_t x = w - 1; x-- > 0;) edge.push_back(shape.cube_at(x, h - 1));
  if (w > 1)
    for (std::uint32_t y = h - 1; y-- > 1;) edge.push_back(shape.cube_at(0, y));
  const cube_id cube = edge[std::uint64_t{port} * edge.size() / ports];
  return {cube, outer_side(shape, cube)};
}

cube_id io_cube_of(const config::machine_config& c) {
  const auto listed = config::listed_places(c.placement.io_cube);
  return listed ? c.shape().cube_at(listed->front().column, listed->front().row) : cube_id{0};
}

placed_layout place_cube(const config::machine_config& c, const std::array<bool, sides>& has_neighbor) {
  placed_layout cube = bare_cube(c);
  const cube_layout& l = cube.layout;
  add_all(cube, terminal_kind::pe, "pe", c.cube.pes, c.placement.pes);
  cube.hbm_base = static_cast<terminal_index>(l.terminals.size());
  add_all(cube, terminal_kind::hbm, "hbm", c.hbm.ports, c.placement.hbm_ports);
  // The two blocks that all others access are at the center, on different routers if there are two.
  cube.sram = add_one(cube, terminal_kind::sram, c.placement.sram, router_at(l, l.columns / 2, l.rows / 2));
  cube.control_cpu = add_one(cube, terminal_kind::control_cpu, c.placement.control_cpu,
                             router_at(l, (l.columns - 1) / 2, (l.rows - 1) / 2));
  for (unsigned s = 0; s < sides; ++s)
    if (has_neighbor[s]) add_ports(cube, c, static_cast<side>(s));
  return cube;
}

placed_layout place_traffic(const config::machine_config& c) {
  placed_layout cube = bare_cube(c);
  const auto nodes = static_cast<std::uint32_t>(c.noc.columns * c.noc.rows);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const auto router = static_cast<router_index>(cube.spread_ports ? 0 : n);
    add(cube, {terminal_kind::traffic, n, side::north, router, fmt::format("node{}", n)});
  }
  return cube;
}

void place_io_cpu(const config::machine_config& c, placed_layout& cube) {
  cube.io_cpu = add_one(cube, terminal_kind::io_cpu, c.placement.io_cpu, router_at(cube.layout, 0, 0));
}

terminal_index place_sip_port(placed_layout& cube, side edge, std::uint32_t sip_link,
                              const std::string& label) {
  const router_index router = edge_router(cube.layout, edge, edge_length(cube.layout, edge) / 2);
  return add(cube, {terminal_kind::sip_port, sip_link, edge, router, "sip_port_" + label});
}

}  // namespace diecast::fabric
