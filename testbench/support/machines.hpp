// SPDX-License-Identifier: Apache-2.0
// Machines that tests of models set up.
#pragma once

#include <cstdint>
#include <utility>

#include "models/comm/patterns.hpp"
#include "models/config/machine_config.hpp"

namespace diecast::test {

/// This many of everything, and the defaults for the rest.
inline config::machine_config machine_of(const machine_shape& s) {
  config::machine_config c;
  c.pod.sips = s.sips;
  c.sip.columns = s.cube_columns;
  c.sip.rows = s.cube_rows;
  c.cube.pes = s.pes_per_cube;
  return c;
}

/// The same with routers that copy and sum.
inline config::machine_config machine_with_trees(const machine_shape& s) {
  config::machine_config c = machine_of(s);
  c.noc.multicast = c.noc.reduce = true;
  return c;
}

/// SIPs of k x k cubes with a PE each, and die-to-die links of 8 GB/s, which a network interface of 64 GB/s
/// never holds up.
inline config::machine_config grid_of_cubes(std::uint32_t k, std::uint32_t sips = 1) {
  config::machine_config c = machine_of({sips, k, k, 1});
  c.ucie.format = config::flit_format::raw;
  c.ucie.modules = 1;
  c.ucie.lanes = 16;
  c.ucie.gt_s = 4;
  return c;
}

/// A machine and its ranks, as patterns see them.
struct ranked_machine {
  explicit ranked_machine(const machine_shape& s, comm::rank_set of = comm::rank_set::cube)
      : ranked_machine(machine_of(s), of) {}
  explicit ranked_machine(config::machine_config c, comm::rank_set of = comm::rank_set::cube)
      : config(std::move(c)), shape(config.shape()), members(comm::map_ranks(shape, of)) {}
  [[nodiscard]] comm::pattern_context context(std::uint32_t root = 0) const {
    return {config, shape, members, root};
  }
  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(members.members.size()); }

  config::machine_config config;
  machine_shape shape;
  comm::group members;
};

}  // namespace diecast::test
