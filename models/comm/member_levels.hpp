// SPDX-License-Identifier: Apache-2.0
// Members of a collective by level (PEs of a cube, cubes of a SIP, SIPs), for hierarchical algorithms.
#pragma once

#include <cstdint>
#include <vector>

#include "models/comm/patterns.hpp"

namespace diecast::comm {

/// The members' PEs by cube and SIP: cubes in order of cube_ring, PEs and SIPs by number. Cubes and SIPs
/// without a member are no part of it. The first PE of a cube leads it, the first cube's leader its SIP.
struct member_levels {
  struct cube {
    cube_id id;
    std::vector<pe_coord> pes;
  };
  struct sip {
    sip_id id;
    std::vector<cube> cubes;
  };
  /// Where a member stands: among the PEs of its cube, its cube among those of its SIP, its SIP.
  struct place {
    std::uint32_t pe{}, pes{};
    std::uint32_t cube{}, cubes{};
    std::uint32_t sip{}, sips{};
  };

  member_levels(const machine_shape& shape, const group& members);

  std::vector<sip> sips;
  std::vector<place> places;  ///< by rank
  std::uint32_t most_pes{};   ///< most PEs of a cube
  std::uint32_t most_cubes{};

  /// Hops to the leader of leaders along the rings of all levels, at most.
  [[nodiscard]] std::uint32_t hops() const;
};

}  // namespace diecast::comm
