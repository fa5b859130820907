// SPDX-License-Identifier: Apache-2.0
// Machines for the fabric tests.
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <set>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include "models/config/population.hpp"
#include "models/fabric/topology.hpp"
#include "support/test.hpp"

namespace diecast::fabric::test {

struct dimensions {
  std::uint32_t columns{}, rows{};
};

inline config::machine_config machine(std::uint32_t sips, dimensions cubes, dimensions routers,
                                      config::pod_topology pod = config::pod_topology::ring) {
  config::machine_config c;
  c.pod.sips = sips;
  c.pod.topology = pod;
  c.sip.columns = cubes.columns;
  c.sip.rows = cubes.rows;
  c.noc.columns = routers.columns;
  c.noc.rows = routers.rows;
  return c;
}

inline bool is_block(const terminal& t) {
  return t.kind != terminal_kind::ucie_port && t.kind != terminal_kind::sip_port;
}

/// Every terminal of the pod that sends or receives packets of its own.
inline std::vector<abi::node_address> blocks(const topology& t) {
  std::vector<abi::node_address> all;
  for (std::uint16_t sip = 0; sip < t.shape().sips; ++sip) {
    for (std::uint16_t cube = 0; cube < t.shape().cubes_per_sip(); ++cube) {
      const auto& terminals = t.layout(sip_id{sip}, cube_id{cube}).terminals;
      for (std::uint16_t i = 0; i < terminals.size(); ++i)
        if (is_block(terminals[i])) all.push_back({sip, cube, i});
    }
  }
  return all;
}

/// The dependencies of a topology are those of the routes between these, no more and no less.
inline void check_dependencies(const topology& t, const std::vector<abi::node_address>& all) {
  std::set<dependency> expected;
  for (const auto& from : all) {
    for (const auto& to : all) {
      const auto hops = t.trace(from, to);
      for (std::size_t i = 1; i + 2 < hops.size(); ++i)
        expected.insert({dependency_node(t, hops[i].link, hops[i].at, hops[i].set),
                         dependency_node(t, hops[i + 1].link, hops[i + 1].at, hops[i + 1].set)});
    }
  }
  const auto found = route_dependencies(t);
  CHECK(std::set<dependency>(found.begin(), found.end()) == expected);
  CHECK(found.size() == expected.size());
}

inline const terminal& terminal_at(const topology& t, const abi::node_address& a) {
  return t.layout(sip_id{a.sip}, cube_id{a.cube}).terminals[a.terminal];
}

/// `n` places of a grid, perhaps the same.
inline std::string any_places(std::uint64_t n, std::uint64_t columns, std::uint64_t rows) {
  std::string text;
  for (std::uint64_t i = 0; i < n; ++i)
    text += fmt::format("{}{}_{}", i == 0 ? "" : ",", *rc::gen::inRange<std::uint64_t>(0, columns),
                        *rc::gen::inRange<std::uint64_t>(0, rows));
  return text;
}

/// Some of the numbers below `n`, at least one.
inline std::string any_ports(std::uint64_t n) {
  const std::uint64_t least = *rc::gen::inRange<std::uint64_t>(0, n);
  std::string text = std::to_string(least);
  for (std::uint64_t i = n; --i > least;)
    if (*rc::gen::arbitrary<bool>()) text += fmt::format(",{}", i);
  return text;
}

/// A port of each direction that the pod has, or p0, somewhere at its edge.
inline std::string any_ports(const config::machine_config& c) {
  const auto along = [](std::uint64_t n) { return *rc::gen::inRange<std::uint64_t>(0, n); };
  const std::uint64_t columns = c.sip.columns;
  const std::uint64_t rows = c.sip.rows;
  if (c.pod.sips == 1) return "auto";
  if (c.pod.topology == config::pod_topology::fully_connected || c.pod.topology == config::pod_topology::list)
    return fmt::format("p0={}_{}", along(columns), *rc::gen::element<std::uint64_t>(0, rows - 1));
  const bool ring = c.pod.topology == config::pod_topology::ring;
  const auto pod = ring ? config::pod_grid{static_cast<std::uint32_t>(c.pod.sips), 1} : pod_grid_of(c.pod);
  std::string text;
  if (pod.columns > 1) text = fmt::format("e={}_{},w=0_{}", columns - 1, along(rows), along(rows));
  if (pod.rows > 1)
    text +=
        fmt::format("{}n={}_{},s={}_0", text.empty() ? "" : ",", along(columns), rows - 1, along(columns));
  return text;
}

/// Lists where some of a machine's blocks sit.
inline void place_anywhere(config::machine_config& c) {
  const auto often = [] { return *rc::gen::arbitrary<bool>(); };
  const auto router = [&](std::uint64_t n) { return any_places(n, c.noc.columns, c.noc.rows); };
  config::placement_block& p = c.placement;
  if (often()) p.pes = router(c.cube.pes);
  if (often() && c.hbm.ports > 0) p.hbm_ports = router(c.hbm.ports);
  if (often()) p.sram = router(1);
  if (often()) p.control_cpu = router(1);
  if (often()) p.io_cpu = router(1);
  if (often()) p.io_cube = any_places(1, c.sip.columns, c.sip.rows);
  if (often()) p.ucie_columns = any_ports(c.noc.columns);
  if (often()) p.ucie_rows = any_ports(c.noc.rows);
  if (often()) p.sip_ports = any_ports(c);
}

/// A small machine of any shape whose routes fit the VCs.
inline config::machine_config any_machine() {
  const auto count = [](int least, int most) { return *rc::gen::inRange(least, most + 1); };
  using config::pod_topology;
  config::machine_config c =
      machine(static_cast<std::uint32_t>(count(1, 7)),
              {static_cast<std::uint32_t>(count(1, 3)), static_cast<std::uint32_t>(count(1, 3))},
              {static_cast<std::uint32_t>(count(1, 4)), static_cast<std::uint32_t>(count(1, 4))},
              *rc::gen::element(pod_topology::ring, pod_topology::mesh_2d, pod_topology::torus_2d,
                                pod_topology::fully_connected, pod_topology::list));
  c.cube.pes = static_cast<std::uint64_t>(count(1, 9));
  c.hbm.ports = static_cast<std::uint64_t>(count(0, 5));
  if (c.pod.topology == pod_topology::list) {
    // A random tree, shallow enough for the VCs, and perhaps a shortcut.
    for (std::uint32_t sip = 1; sip < c.pod.sips; ++sip)
      c.pod.links.push_back(
          {static_cast<std::uint32_t>(count(0, sip > 2 ? 2 : static_cast<int>(sip) - 1)), sip});
    if (c.pod.sips > 4 && *rc::gen::arbitrary<bool>()) c.pod.links.push_back({3, 4});
  }
  if (*rc::gen::arbitrary<bool>()) place_anywhere(c);
  return c;
}

}  // namespace diecast::fabric::test
