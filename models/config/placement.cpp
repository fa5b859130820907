// SPDX-License-Identifier: Apache-2.0
#include "models/config/placement.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "models/config/text.hpp"

namespace diecast::config {
namespace {

constexpr std::string_view automatic_text = "auto";

std::uint32_t number(std::string_view digits) {
  return static_cast<std::uint32_t>(parse_count(digits).value_or(UINT32_MAX));
}

grid_place place(std::string_view text) {
  const std::size_t bar = text.find('_');
  return {number(text.substr(0, bar)), number(text.substr(bar + 1))};
}

std::string to_text(const grid_place& p) { return fmt::format("{}_{}", p.column, p.row); }

/// The grid that places refer to.
struct grid {
  std::uint64_t columns, rows;
  const char* of;
  [[nodiscard]] bool has(const grid_place& p) const { return p.column < columns && p.row < rows; }
  [[nodiscard]] std::string words() const {
    return fmt::format("0_0 to {}_{} ({})", columns - 1, rows - 1, of);
  }
};

grid routers_of(const machine_config& c) {
  if (c.noc.topology == noc_topology::crossbar) return {1, 1, "noc.topology crossbar is one router"};
  return {c.noc.columns, c.noc.rows, "noc.columns x noc.rows"};
}

grid cubes_of(const machine_config& c) { return {c.sip.columns, c.sip.rows, "sip.columns x sip.rows"}; }

verdict places_are_of(const grid& g, const std::string& text) {
  const auto places = listed_places(text);
  if (!places) return {};
  for (const grid_place& p : *places)
    if (!g.has(p)) return broken_rule{"lists a position outside the grid", to_text(p), g.words()};
  return {};
}

verdict one_each(const machine_config& c, const std::string& text, const char* key, std::uint64_t blocks) {
  const auto places = listed_places(text);
  if (places && places->size() != blocks) {
    return broken_rule{"does not list a router for each", fmt::format("{} routers", places->size()),
                       fmt::format("{} ({})", blocks, key)};
  }
  return places_are_of(routers_of(c), text);
}

verdict pes_have_routers(const machine_config& c) {
  return one_each(c, c.placement.pes, "cube.pes", c.cube.pes);
}
verdict hbm_ports_have_routers(const machine_config& c) {
  return one_each(c, c.placement.hbm_ports, "hbm.ports", c.hbm.ports);
}

template <auto Member>
verdict is_a_router(const machine_config& c) {
  return places_are_of(routers_of(c), c.placement.*Member);
}

verdict io_cube_is_there(const machine_config& c) { return places_are_of(cubes_of(c), c.placement.io_cube); }

verdict ports_are_there(const machine_config& c, bool vertical) {
  const std::vector<std::uint32_t> ports = ports_of_edge(c, vertical);
  const std::uint64_t length = vertical ? c.noc.rows : c.noc.columns;
  if (ports.back() >= length) {
    return broken_rule{"lists a port that does not exist", std::to_string(ports.back()),
                       fmt::format("0 to {} ({} - 1)", length - 1, vertical ? "noc.rows" : "noc.columns")};
  }
  if (const auto twice = std::ranges::adjacent_find(ports); twice != ports.end())
    return broken_rule{"lists a port twice", std::to_string(*twice), "each once"};
  return {};
}

verdict columns_have_ports(const machine_config& c) { return ports_are_there(c, false); }
verdict rows_have_ports(const machine_config& c) { return ports_are_there(c, true); }

/// A port named after a compass direction must be at that edge of the SIP; other ports may be at any edge.
verdict stands_at_the_edge(const machine_config& c, const listed_port& port) {
  const std::uint64_t column = port.cube.column;
  const std::uint64_t row = port.cube.row;
  const bool west = column == 0, east = column + 1 == c.sip.columns;
  const bool south = row == 0, north = row + 1 == c.sip.rows;
  const std::string value = port.label + "=" + to_text(port.cube);
  const auto not_there = [&](const char* expected) {
    return broken_rule{"lists a cube that is not at the port's edge of the SIP", value, expected};
  };
  switch (port.label.front()) {
    case 'n': return north ? verdict{} : not_there("a cube of the last row");
    case 'e': return east ? verdict{} : not_there("a cube of the last column");
    case 's': return south ? verdict{} : not_there("a cube of row 0");
    case 'w': return west ? verdict{} : not_there("a cube of column 0");
    default:
      return west || east || south || north ? verdict{}
                                            : not_there("a cube of the first or last row or column");
  }
}

verdict ports_are_at_edges(const machine_config& c) {
  std::vector<std::string> seen;
  for (const listed_port& port : listed_ports(c.placement.sip_ports)) {
    if (!cubes_of(c).has(port.cube))
      return broken_rule{"lists a position outside the grid", to_text(port.cube), cubes_of(c).words()};
    if (std::ranges::find(seen, port.label) != seen.end())
      return broken_rule{"lists a port twice", port.label, "each once"};
    seen.push_back(port.label);
    if (verdict v = stands_at_the_edge(c, port)) return v;
  }
  return {};
}

const rule router_rules[]{
    {{"placement.pes", "cube.pes", "noc.columns", "noc.rows", "noc.topology"}, pes_have_routers},
    {{"placement.hbm_ports", "hbm.ports", "noc.columns", "noc.rows", "noc.topology"}, hbm_ports_have_routers},
    {{"placement.sram", "noc.columns", "noc.rows", "noc.topology"}, is_a_router<&placement_block::sram>},
    {{"placement.control_cpu", "noc.columns", "noc.rows", "noc.topology"},
     is_a_router<&placement_block::control_cpu>},
    {{"placement.io_cpu", "noc.columns", "noc.rows", "noc.topology"}, is_a_router<&placement_block::io_cpu>},
    {{"placement.io_cube", "sip.columns", "sip.rows"}, io_cube_is_there},
    {{"placement.ucie_columns", "noc.columns"}, columns_have_ports},
    {{"placement.ucie_rows", "noc.rows"}, rows_have_ports},
    {{"placement.sip_ports", "sip.columns", "sip.rows"}, ports_are_at_edges},
};

}  // namespace

std::optional<std::vector<grid_place>> listed_places(std::string_view text) {
  if (text == automatic_text) return std::nullopt;
  std::vector<grid_place> places;
  for (const std::string& piece : split(text, ',')) places.push_back(place(piece));
  return places;
}

std::vector<listed_port> listed_ports(std::string_view text) {
  std::vector<listed_port> ports;
  if (text == automatic_text) return ports;
  for (const std::string& piece : split(text, ',')) {
    const std::size_t equals = piece.find('=');
    ports.push_back({piece.substr(0, equals), place(std::string_view(piece).substr(equals + 1))});
  }
  return ports;
}

std::vector<std::uint32_t> ports_of_edge(const machine_config& c, bool vertical) {
  const std::string& text = vertical ? c.placement.ucie_rows : c.placement.ucie_columns;
  std::vector<std::uint32_t> ports;
  if (text == automatic_text) {
    ports.resize(vertical ? c.noc.rows : c.noc.columns);
    std::iota(ports.begin(), ports.end(), 0U);
    return ports;
  }
  for (const std::string& piece : split(text, ',')) ports.push_back(number(piece));
  std::ranges::sort(ports);
  return ports;
}

std::span<const rule> placement_rules() { return router_rules; }

std::vector<start_delay> parse_start_delays(std::string_view text) {
  std::vector<start_delay> entries;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    const std::size_t equals = entry.find('=');
    entries.push_back(
        {std::string(entry.substr(0, equals)), parse_real(entry.substr(equals + 1)).value_or(0.0)});
  }
  return entries;
}

double start_delay_ns(const machine_config& config, pe_coord pe) {
  if (config.ccl.start_delays.empty()) return 0.0;
  const std::string path = pe_path(config.shape(), pe);
  double delay = 0.0;
  for (const start_delay& d : parse_start_delays(config.ccl.start_delays))
    if (matches(d.match, path)) delay = d.delay_ns;
  return delay;
}

}  // namespace diecast::config
