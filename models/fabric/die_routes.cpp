// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/die_routes.hpp"

namespace diecast::fabric {

vc_set vc_rule::behind(std::uint8_t vc, const router_grid::step& step, bool any_lane) const {
  const unsigned of_leg = sets * lanes;
  const bool in_sets = sets > 1 && step.side != fabric::sides;
  const unsigned first = vc - vc % of_leg + (in_sets ? step.set * lanes : 0);
  if (!any_lane) return {static_cast<std::uint8_t>(first + vc % lanes), 1};
  return {static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(in_sets ? lanes : of_leg)};
}

die_routes::die_routes(const topology& t, sip_id sip, cube_id cube) : grid_(t.grid()) {
  for (const terminal& exit : t.layout(sip, cube).terminals) router_of_.push_back(exit.router);
  const vc_rule rule = t.rule();
  for (unsigned vc = 0; vc < t.tree_vc_base(); ++vc) {
    const auto from = static_cast<std::uint8_t>(vc);
    const bool any_lane = t.any_lane(t.class_of(from));
    for (std::uint8_t set = 0; set < router_grid::no_link; ++set)
      behind_[vc][set] = rule.behind(from, {0, set}, any_lane);
    behind_[vc][router_grid::no_link] = rule.behind(from, {}, any_lane);
  }
}

}  // namespace diecast::fabric
