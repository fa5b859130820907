// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/die_routes.hpp"

namespace diecast::fabric {

vc_set vc_rule::behind(std::uint8_t vc, const router_grid::step& step, bool any_lane) const {
  const unsigned of_leg = sets * lanes;
  const bool in_sets = sets > 1 && step.side != fabric::sides;
  unsigned set = in_sets ? step.set : 0;
  // One-way: who has crossed the dimension's wrap link stays behind it.
  if (sets > 2 && in_sets && vc / lanes % sets == (step.set | 1U)) set = step.set | 1U;
  const unsigned first = vc - vc % of_leg + set * lanes;
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
