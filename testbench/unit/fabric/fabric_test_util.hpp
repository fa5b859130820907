// SPDX-License-Identifier: Apache-2.0
// Machines for the fabric tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include "models/fabric/topology.hpp"

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
  return t.kind != terminal_kind::ucie_lane && t.kind != terminal_kind::sip_port;
}

/// Every terminal of the pod that sends or receives packets of its own.
inline std::vector<abi::node_address> blocks(const topology& t) {
  std::vector<abi::node_address> all;
  for (std::uint16_t sip = 0; sip < t.shape().sips; ++sip) {
    for (std::uint16_t cube = 0; cube < t.shape().cubes_per_sip(); ++cube) {
      const auto& terminals = t.layout(sip_id{sip}, cube_id{cube}).terminals;
      for (std::uint16_t i = 0; i < terminals.size(); ++i) {
        if (is_block(terminals[i])) all.push_back({sip, cube, i});
      }
    }
  }
  return all;
}

inline const terminal& terminal_at(const topology& t, const abi::node_address& a) {
  return t.layout(sip_id{a.sip}, cube_id{a.cube}).terminals[a.terminal];
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
    for (std::uint32_t sip = 1; sip < c.pod.sips; ++sip) {
      c.pod.links.push_back(
          {static_cast<std::uint32_t>(count(0, sip > 2 ? 2 : static_cast<int>(sip) - 1)), sip});
    }
    if (c.pod.sips > 4 && *rc::gen::arbitrary<bool>()) c.pod.links.push_back({3, 4});
  }
  return c;
}

}  // namespace diecast::fabric::test
