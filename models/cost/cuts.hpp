// SPDX-License-Identifier: Apache-2.0
// Cuts of the pod's graph: what a part of the machine can send out and take in, and the ranks within it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/comm/patterns.hpp"
#include "models/cost/lower_bound.hpp"
#include "models/cost/message_cost.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::cost {

enum class cut_kind : std::uint8_t { cube, sip, bisection };

/// A part of the machine against the rest.
struct cut {
  cut_kind kind{};
  std::string name;  ///< "pod.sip0.cube_0_0", "pod.sip0 west of column 8", "SIPs 0 to 1"
  double out_gbytes_s{};
  double in_gbytes_s{};
  std::uint64_t ranks{};  ///< inside
  std::uint64_t
      leaving{};  ///< ranks inside whose next rank, cyclically, is outside; as many in the opposite direction
  bool root{};    ///< the root is inside
};

/// Every cube and every SIP that holds ranks; every straight line through the routers of a SIP; consecutive
/// SIPs, and rows and columns of SIPs on a grid. Parts without ranks, or with all of them, are left out.
[[nodiscard]] std::vector<cut> cuts_of(const fabric::topology& t, const config::machine_config& c,
                                       const comm::group& g, std::uint32_t root);

/// Total rate of all links between cubes, and of all links between SIPs; 1e9 bytes/s.
struct link_totals {
  double between_cubes{};  ///< UCIe and SIP links
  double between_sips{};
};
[[nodiscard]] link_totals total_link_rates(const fabric::topology& t, const config::machine_config& c);

/// Bytes x links that a collective cannot avoid, over all links between cubes and over all between SIPs.
///
/// Take each cube (or SIP) with ranks as one node. Reducing an element takes at least nodes - 1 messages
/// between nodes, spreading it as many, and both together 2 (nodes - 1) one-way messages (Harary and
/// Schwenk, 1974). What has one source and one destination crosses at least the shortest path between them:
/// parts of gather, scatter and all_to_all, and the vector that send_recv takes to the next rank.
/// Where messages between SIPs are staged, host memory is one link between any two SIPs.
struct link_work {
  double between_cubes{};  ///< bytes of payload x links
  double between_sips{};
};
[[nodiscard]] link_work link_work_of(const fabric::topology& t, const config::machine_config& c,
                                     const bound_request& r);

}  // namespace diecast::cost
