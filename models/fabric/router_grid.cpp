// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/router_grid.hpp"

#include "models/config/text.hpp"

namespace diecast::fabric {
constexpr std::uint32_t least_that_wraps = 3;

router_grid::router_grid(const config::noc_block& noc, unsigned network) {
  const auto columns = static_cast<std::uint32_t>(noc.columns);
  const auto rows = static_cast<std::uint32_t>(noc.rows);
  switch (noc.topology) {
    case config::noc_topology::mesh:
    case config::noc_topology::torus:
    case config::noc_topology::torus_oneway:
      columns_ = columns;
      rows_ = rows;
      break;
    case config::noc_topology::ring: columns_ = columns * rows; break;
    case config::noc_topology::crossbar: break;
  }
  const bool around =
      noc.topology == config::noc_topology::torus || noc.topology == config::noc_topology::ring;
  oneway_ = noc.topology == config::noc_topology::torus_oneway;
  wraps_x_ = oneway_ ? columns_ > 1 : around && columns_ >= least_that_wraps;
  wraps_y_ = oneway_ ? rows_ > 1 : around && rows_ >= least_that_wraps;
  if (oneway_) {
    const std::string pair = config::split(noc.directions, ',').at(network);
    const auto has = [&pair](const char* side) { return pair.find(side) != std::string::npos; };
    y_first_ = pair.starts_with("north") || pair.starts_with("south");
    east_ = has("east");
    north_ = has("north");
  }
  for (std::uint32_t r = 0; r < routers(); ++r) places_.push_back(r % columns_ << row_bits | r / columns_);
}

bool router_grid::has(router_index router, side s) const {
  if (oneway_) {
    return s == (east_ ? side::east : side::west) ? wraps_x_
                                                  : s == (north_ ? side::north : side::south) && wraps_y_;
  }
  switch (s) {
    case side::north: return wraps_y_ || row(router) + 1U < rows_;
    case side::east: return wraps_x_ || column(router) + 1U < columns_;
    case side::south: return wraps_y_ || row(router) > 0;
    case side::west: return wraps_x_ || column(router) > 0;
  }
  return false;
}

router_index router_grid::next(router_index router, side s) const {
  const std::uint32_t x = column(router);
  const std::uint32_t y = row(router);
  const auto at = [this](std::uint32_t column, std::uint32_t row) {
    return static_cast<router_index>(row * columns_ + column);
  };
  switch (s) {
    case side::north: return at(x, y + 1 == rows_ ? 0 : y + 1);
    case side::east: return at(x + 1 == columns_ ? 0 : x + 1, y);
    case side::south: return at(x, y == 0 ? rows_ - 1 : y - 1);
    case side::west: return at(x == 0 ? columns_ - 1 : x - 1, y);
  }
  return router;
}

router_grid::dimension_step router_grid::along(std::uint32_t at, std::uint32_t to, std::uint32_t size,
                                               bool wraps) {
  if (!wraps) return {to > at, 1};
  const std::uint32_t ahead = to > at ? to - at : to + size - at;
  if (2 * ahead <= size) {
    const std::uint32_t behind_link = at + 1 == size ? 0 : at + 1;
    return {true, static_cast<std::uint8_t>(behind_link > to ? 0 : 1)};
  }
  const std::uint32_t behind_link = at == 0 ? size - 1 : at - 1;
  return {false, static_cast<std::uint8_t>(behind_link < to ? 0 : 1)};
}

/// `first`: set of the dimension. The packet's VC shows what it has crossed before (vc_rule).
router_grid::dimension_step router_grid::oneway(std::uint32_t at, std::uint32_t size, bool up,
                                                std::uint8_t first) {
  const bool wraps_here = up ? at + 1 == size : at == 0;
  return {up, static_cast<std::uint8_t>(first + (wraps_here ? 1 : 0))};
}

router_grid::dimension_step router_grid::along_x(router_index from, router_index to) const {
  return oneway_ ? oneway(column(from), columns_, east_, 0)
                 : along(column(from), column(to), columns_, wraps_x_);
}

router_grid::dimension_step router_grid::along_y(router_index from, router_index to) const {
  return oneway_ ? oneway(row(from), rows_, north_, 2) : along(row(from), row(to), rows_, wraps_y_);
}

std::uint32_t router_grid::distance_oneway(router_index from, router_index to) const {
  const auto ahead = [](std::uint32_t at, std::uint32_t goal, std::uint32_t size, bool up) {
    return up ? (goal + size - at) % size : (at + size - goal) % size;
  };
  return ahead(column(from), column(to), columns_, east_) + ahead(row(from), row(to), rows_, north_);
}

router_grid::step router_grid::towards_around(router_index from, router_index to) const {
  if (from == to) return {};
  if (column(from) != column(to) && !(y_first_ && row(from) != row(to))) {
    const dimension_step s = along_x(from, to);
    return {static_cast<std::uint8_t>(s.positive ? side::east : side::west), s.set};
  }
  const dimension_step s = along_y(from, to);
  return {static_cast<std::uint8_t>(s.positive ? side::north : side::south), s.set};
}

vc_set vc_rule::behind(std::uint8_t vc, const router_grid::step& step, bool any_vc) const {
  const unsigned of_leg = sets * vcs_per_set;
  const bool in_sets = sets > 1 && step.side != fabric::sides;
  unsigned set = in_sets ? step.set : 0;
  // A packet that has crossed the dimension's wrap link stays in the set after it.
  if (sets > 2 && in_sets && vc / vcs_per_set % sets == (step.set | 1U)) set = step.set | 1U;
  const unsigned first = vc - vc % of_leg + set * vcs_per_set;
  if (!any_vc) return {static_cast<std::uint8_t>(first + vc % vcs_per_set), 1};
  return {static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(in_sets ? vcs_per_set : of_leg)};
}

die_routes::die_routes(const topology& t, sip_id sip, cube_id cube) : grid_(t.grid()) {
  for (const terminal& exit : t.layout(sip, cube).terminals) router_of_.push_back(exit.router);
  const vc_rule rule = t.rule();
  for (unsigned vc = 0; vc < t.tree_vc_base(); ++vc) {
    const auto from = static_cast<std::uint8_t>(vc);
    const bool any_vc = t.any_vc(t.class_of(from));
    for (std::uint8_t set = 0; set < router_grid::no_link; ++set)
      behind_[vc][set] = rule.behind(from, {0, set}, any_vc);
    behind_[vc][router_grid::no_link] = rule.behind(from, {}, any_vc);
  }
}

}  // namespace diecast::fabric
