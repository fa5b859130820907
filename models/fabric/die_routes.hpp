// SPDX-License-Identifier: Apache-2.0
// Routes inside one die for the inner loop of the NoC: topology::next_hop() from small tables, in a mesh
// without a call or a division.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/fabric/router_grid.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::fabric {

/// Which VCs a packet may take behind the next link, whatever its class and leg, which it keeps: see
/// topology::next_hop().
struct vc_rule {
  unsigned sets{1};   ///< VC sets of a leg: before and after the dateline
  unsigned lanes{1};  ///< VCs of a set

  /// VCs for a packet in `vc` that takes `step`; `any_lane`: as topology::any_lane() says of its class.
  [[nodiscard]] vc_set behind(std::uint8_t vc, const router_grid::step& step, bool any_lane) const;
};

class die_routes {
 public:
  die_routes(const topology& t, sip_id sip, cube_id cube);

  /// topology::next_hop() of this die. Precondition: not a VC of trees.
  [[nodiscard]] hop next_hop(router_index router, terminal_index exit, std::uint8_t vc) const {
    return hop_of(grid_.towards(router, router_of_[exit]), vc);
  }
  [[nodiscard]] router_grid::place place_of(router_index router) const { return grid_.place_of(router); }
  [[nodiscard]] bool wraps() const { return grid_.wraps(); }

  /// Memory of its tables by router and terminal.
  [[nodiscard]] std::size_t table_bytes() const {
    return grid_.table_bytes() + router_of_.size() * sizeof router_of_[0];
  }

 private:
  [[nodiscard]] hop hop_of(router_grid::step step, std::uint8_t vc) const {
    return {step.side, behind_[vc][step.set]};
  }
  router_grid grid_;
  std::vector<router_index> router_of_;  ///< by terminal
  std::array<std::array<vc_set, router_grid::no_link + 1>, max_vcs> behind_{};
};

}  // namespace diecast::fabric
