// SPDX-License-Identifier: Apache-2.0
// How the routers of a cube are joined, and the routes between them, as arithmetic: mesh and torus
// (dimension order, X first), ring (a torus of one row), crossbar (one router), and the torus whose links
// lead in one direction per dimension, taken in the order that noc.directions gives.
//
// A dimension of a torus or ring wraps when it has three routers or more: with two, a wrap link would be a
// second pair of links that no route takes. The shorter direction is taken, the positive one when both are
// equal. One-way, a dimension wraps from two routers on.
//
// One-way datelines: the sets 2 d and 2 d + 1 belong to the links of dimension d. A packet starts in the even
// one and is in the odd one after the wrap link: its set shows what it has crossed, so packets that cross the
// wrap link do not share VCs with those that start after it.
//
// Datelines: the buffers after the links of a dimension that wraps are in two sets. A packet is in set 0
// while it still has to cross the wrap link of that dimension, in set 1 afterwards or if it never has to
// (Dally and Seitz, 1987). Which one is a function of where the packet is and where it goes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::fabric {
class router_grid {
 public:
  router_grid() = default;
  /// `network` selects its directions.
  explicit router_grid(const config::noc_block& noc, unsigned network = 0);

  [[nodiscard]] std::uint32_t routers() const { return columns_ * rows_; }
  /// Every router of a dimension has one link in, by the side opposite to its link out.
  [[nodiscard]] bool is_oneway() const { return oneway_; }
  /// Whether any dimension wraps: then links have two VC sets.
  [[nodiscard]] bool wraps() const { return wraps_x_ || wraps_y_; }
  [[nodiscard]] bool has(router_index router, side s) const;
  /// Precondition: has(router, s).
  [[nodiscard]] router_index next(router_index router, side s) const;

  static constexpr std::uint8_t no_link = 4;  ///< after the dateline sets
  struct step {
    std::uint8_t side{sides};   ///< `sides`: already there
    std::uint8_t set{no_link};  ///< dateline set after that link; 1 in a dimension that does not wrap
  };
  [[nodiscard]] step towards(router_index from, router_index to) const {
    return wraps() ? towards_around(from, to) : towards_straight(from, to);
  }
  /// Position of a router: its column in the high bits, its row in the low ones; compared by column first.
  using place = std::uint32_t;
  [[nodiscard]] place place_of(router_index router) const { return places_[router]; }
  /// The side by which the route from one place to another begins where nothing wraps: a few instructions
  /// without a branch, because the processor cannot predict the direction. Precondition: they differ.
  [[nodiscard]] static constexpr unsigned straight_side(place from, place to) {
    const unsigned along_x = (from ^ to) >> row_bits != 0 ? 1 : 0;
    const std::uint64_t ahead = std::uint64_t{to} - from;  // wraps below 0: a comparison would be a branch
    return along_x + 2 * static_cast<unsigned>(ahead >> 63);
  }
  static_assert(static_cast<unsigned>(side::north) == 0 && static_cast<unsigned>(side::east) == 1 &&
                static_cast<unsigned>(side::south) == 2 && static_cast<unsigned>(side::west) == 3);
  /// Number of links on the route.
  [[nodiscard]] std::uint32_t distance(router_index from, router_index to) const {
    if (oneway_) return distance_oneway(from, to);
    return apart(column(from), column(to), columns_, wraps_x_) + apart(row(from), row(to), rows_, wraps_y_);
  }
  /// Memory of its tables by router.
  [[nodiscard]] std::size_t table_bytes() const { return places_.size() * sizeof places_[0]; }

 private:
  struct dimension_step {
    bool positive{};
    std::uint8_t set{};
  };
  static constexpr unsigned row_bits = 16;
  [[nodiscard]] std::uint32_t column(router_index router) const { return places_[router] >> row_bits; }
  [[nodiscard]] std::uint32_t row(router_index router) const {
    return places_[router] & ((1U << row_bits) - 1);
  }
  [[nodiscard]] static std::uint32_t apart(std::uint32_t a, std::uint32_t b, std::uint32_t size, bool wraps) {
    const std::uint32_t d = a > b ? a - b : b - a;
    return wraps ? std::min(d, size - d) : d;
  }
  [[nodiscard]] step towards_straight(router_index from, router_index to) const {
    if (from == to) return {};
    return {static_cast<std::uint8_t>(straight_side(places_[from], places_[to])), 1};
  }
  [[nodiscard]] step towards_around(router_index from, router_index to) const;
  [[nodiscard]] std::uint32_t distance_oneway(router_index from, router_index to) const;
  [[nodiscard]] dimension_step along_x(router_index from, router_index to) const;
  [[nodiscard]] dimension_step along_y(router_index from, router_index to) const;
  [[nodiscard]] static dimension_step oneway(std::uint32_t at, std::uint32_t size, bool up,
                                             std::uint8_t first);
  [[nodiscard]] static dimension_step along(std::uint32_t at, std::uint32_t to, std::uint32_t size,
                                            bool wraps);

  std::uint32_t columns_{1};
  std::uint32_t rows_{1};
  bool wraps_x_{};
  bool wraps_y_{};
  bool oneway_{};
  bool y_first_{};
  bool east_{true}, north_{true};  ///< where the links of a one-way torus lead
  std::vector<place> places_;      ///< by router: cheaper than a division per hop
};

// Routes inside one die for the inner loop of the NoC: topology::next_hop() from small tables, in a mesh
// without a call or a division.

/// VCs that a packet may take after the next link, within its class and leg, which it keeps: see
/// topology::next_hop().
struct vc_rule {
  unsigned sets{1};         ///< VC sets of a leg: before and after the dateline
  unsigned vcs_per_set{1};  ///< VCs of a set

  /// VCs for a packet in `vc` that takes `step`; `any_vc`: topology::any_vc() of its class.
  [[nodiscard]] vc_set behind(std::uint8_t vc, const router_grid::step& step, bool any_vc) const;
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
