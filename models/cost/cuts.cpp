// SPDX-License-Identifier: Apache-2.0
#include "models/cost/cuts.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <utility>

#include "models/comm/install_plan.hpp"
#include "models/config/population.hpp"
#include "models/cost/message_cost.hpp"

namespace diecast::cost {
namespace {

using fabric::side;

class cut_finder {
 public:
  cut_finder(const fabric::topology& t, const config::machine_config& c, const comm::group& g,
             std::uint32_t root)
      : t_(t),
        c_(c),
        shape_(t.shape()),
        rates_(c),
        ranks_(g.members.size()),
        staged_(is_staged(c) && shape_.sips > 1) {
    by_cube_.resize(shape_.cubes());
    leaving_cube_.resize(shape_.cubes());
    if (root < g.members.size()) root_ = g.members[root];
    members_ = &g.members;
    for (std::size_t i = 0; i < g.members.size(); ++i) {
      const pe_coord &m = g.members[i], &next = next_of(i);
      const std::uint32_t cube = cube_index(m.sip, m.cube);
      ++by_cube_[cube];
      if (cube != cube_index(next.sip, next.cube)) ++leaving_cube_[cube];
      if (m.sip != next.sip) ++between_sips_[{m.sip.value, next.sip.value}];
    }
  }

  std::vector<cut> all() {
    if (shape_.cubes() > 1) cubes();
    for (std::uint32_t s = 0; s < shape_.sips; ++s) {
      lines(sip_id{s}, true);
      lines(sip_id{s}, false);
    }
    if (shape_.sips > 1) arcs();
    if (shape_.sips > 1) grid_lines();
    return std::move(cuts_);
  }

  link_totals totals() const {
    link_totals sum;
    for (std::uint32_t i = 0; i < shape_.cubes(); ++i) {
      for (unsigned s = 0; s < fabric::sides; ++s)
        sum.between_cubes += ucie(sip_of(i), cube_of(i), static_cast<side>(s));
    }
    if (staged_) {
      sum.between_sips = shape_.sips * staging_gbytes_s(c_);
    } else {
      for (const fabric::sip_link& l : t_.sip_links()) sum.between_sips += sip_rate(l);
    }
    sum.between_cubes += sum.between_sips;
    return sum;
  }

 private:
  /// The next rank, cyclically.
  [[nodiscard]] const pe_coord& next_of(std::size_t rank) const {
    return (*members_)[(rank + 1) % members_->size()];
  }
  [[nodiscard]] std::uint32_t cube_index(sip_id s, cube_id k) const {
    return s.value * shape_.cubes_per_sip() + k.value;
  }
  [[nodiscard]] sip_id sip_of(std::uint32_t cube) const { return sip_id{cube / shape_.cubes_per_sip()}; }
  [[nodiscard]] cube_id cube_of(std::uint32_t cube) const { return cube_id{cube % shape_.cubes_per_sip()}; }

  /// Rate of the link; 0 where the link is missing or disabled.
  [[nodiscard]] double ucie(sip_id sip, cube_id cube, side s) const {
    if (!t_.neighbor(cube, s) || t_.links()[t_.ucie_link(sip, cube, s)].gbytes_s <= 0) return 0;
    return rates_.ucie_gbytes_s(t_, sip, cube, s);
  }
  [[nodiscard]] double sip_rate(const fabric::sip_link& l) const {
    if (t_.links()[t_.sip_link_id(l.index)].gbytes_s <= 0) return 0;
    return rates_.sip_link_gbytes_s(t_, l.index);
  }

  void add(cut c) {
    if (c.ranks == 0 || c.ranks == ranks_) return;
    cuts_.push_back(std::move(c));
  }

  /// Adds the rates of SIP links with one end inside; of staged messages, the path to host memory of a part
  /// of `sip` that has its I/O CPU.
  void add_ways_out(cut& c, sip_id sip, const std::function<bool(const abi::node_address&)>& inside) const {
    if (!staged_) return add_sip_links(c, inside);
    if (!inside(comm::io_cpu_node(t_, sip))) return;
    c.out_gbytes_s += staging_gbytes_s(c_);
    c.in_gbytes_s += staging_gbytes_s(c_);
  }
  void add_sip_links(cut& c, const std::function<bool(const abi::node_address&)>& inside) const {
    for (const fabric::sip_link& l : t_.sip_links()) {
      const bool from = inside(l.from), to = inside(l.to);
      if (from && !to) c.out_gbytes_s += sip_rate(l);
      if (!from && to) c.in_gbytes_s += sip_rate(l);
    }
  }

  void cubes() {
    for (std::uint32_t i = 0; i < shape_.cubes(); ++i) {
      if (by_cube_[i] == 0) continue;
      const sip_id sip = sip_of(i);
      const cube_id cube = cube_of(i);
      cut c{cut_kind::cube,
            cube_path(shape_, sip, cube),
            0,
            0,
            by_cube_[i],
            leaving_cube_[i],
            root_ && root_->sip == sip && root_->cube == cube};
      for (unsigned s = 0; s < fabric::sides; ++s) {
        const auto edge = static_cast<side>(s);
        const auto beside = t_.neighbor(cube, edge);
        if (!beside) continue;
        c.out_gbytes_s += ucie(sip, cube, edge);
        c.in_gbytes_s += ucie(sip, *beside, opposite(edge));
      }
      add_ways_out(c, sip,
                   [&](const abi::node_address& a) { return a.sip == sip.value && a.cube == cube.value; });
      add(std::move(c));
    }
  }

  /// Place of a PE on the routers of its whole SIP.
  [[nodiscard]] std::uint32_t column_of(const pe_coord& p, bool along_x) const {
    const auto& layout = t_.layout(p.sip, p.cube);
    const fabric::router_index r = layout.terminals.at(p.pe.value).router;
    return along_x ? shape_.cube_x(p.cube) * layout.columns + r % layout.columns
                   : shape_.cube_y(p.cube) * layout.rows + r / layout.columns;
  }

  struct line_ranks {
    std::uint64_t ranks{}, leaving{};
  };
  /// Ranks of a SIP below each of its lines, and those of them whose next rank is not.
  [[nodiscard]] std::vector<line_ranks> below_lines(sip_id sip, bool along_x, std::uint32_t lines) const {
    std::vector<line_ranks> below(lines);
    for (std::size_t i = 0; i < members_->size(); ++i) {
      const pe_coord &m = (*members_)[i], &next = next_of(i);
      if (m.sip != sip) continue;
      const std::uint32_t from = column_of(m, along_x);
      const std::uint32_t to = next.sip == sip ? column_of(next, along_x) : lines;
      for (std::uint32_t line = from + 1; line < lines; ++line) {
        ++below[line].ranks;
        if (line <= to) ++below[line].leaving;
      }
    }
    return below;
  }

  /// Straight lines through a SIP: between cubes, and between routers where they form a grid.
  void lines(sip_id sip, bool along_x) {
    const auto& layout = t_.layout(sip, cube_id{0});
    const bool grid =
        c_.noc.topology == config::noc_topology::mesh || c_.noc.topology == config::noc_topology::torus;
    const std::uint32_t per_cube = along_x ? layout.columns : layout.rows;
    const std::uint32_t cubes = along_x ? shape_.cube_columns : shape_.cube_rows;
    const std::vector<line_ranks> below = below_lines(sip, along_x, per_cube * cubes);
    for (std::uint32_t line = 1; line < per_cube * cubes; ++line) {
      const bool edge = line % per_cube == 0;
      if (!edge && !grid) continue;
      cut c{cut_kind::bisection,
            fmt::format("{} {} router {} {}", sip_path(sip), along_x ? "west of" : "south of",
                        along_x ? "column" : "row", line),
            0,
            0,
            below[line].ranks,
            below[line].leaving,
            root_ && root_->sip == sip && column_of(*root_, along_x) < line};
      cross_line(c, sip, along_x, line, per_cube);
      add(std::move(c));
    }
  }

  void cross_line(cut& c, sip_id sip, bool along_x, std::uint32_t line, std::uint32_t per_cube) const {
    const auto& layout = t_.layout(sip, cube_id{0});
    const std::uint32_t across = along_x ? shape_.cube_rows : shape_.cube_columns;
    const std::uint32_t first = (line - 1) / per_cube;  // the cube just below the line
    const side up = along_x ? side::east : side::north;
    if (line % per_cube == 0) {
      for (std::uint32_t i = 0; i < across; ++i) {
        const cube_id low = along_x ? shape_.cube_at(first, i) : shape_.cube_at(i, first);
        c.out_gbytes_s += ucie(sip, low, up);
        c.in_gbytes_s += ucie(sip, *t_.neighbor(low, up), opposite(up));
      }
    } else {
      const bool wraps = c_.noc.topology == config::noc_topology::torus && per_cube > 2;
      const double links = static_cast<double>((along_x ? layout.rows : layout.columns) * across);
      const double rate = links * rates_.noc_gbytes_s() * (wraps ? 2 : 1);
      c.out_gbytes_s += rate;
      c.in_gbytes_s += rate;
    }
    add_ways_out(c, sip, [&](const abi::node_address& a) {
      if (a.sip != sip.value) return false;
      const cube_id cube{a.cube};
      const auto r = t_.layout(sip, cube).terminals.at(a.terminal).router;
      const std::uint32_t place = along_x ? shape_.cube_x(cube) * layout.columns + r % layout.columns
                                          : shape_.cube_y(cube) * layout.rows + r / layout.columns;
      return place < line;
    });
  }

  void sips(cut_kind kind, std::string name, const std::function<bool(std::uint32_t)>& inside) {
    cut c{kind, std::move(name), 0, 0, 0, 0, root_ && inside(root_->sip.value)};
    for (std::uint32_t i = 0; i < shape_.cubes(); ++i)
      if (inside(sip_of(i).value)) c.ranks += by_cube_[i];
    if (c.ranks == 0 || c.ranks == ranks_) return;
    for (const auto& [sips, count] : between_sips_)
      if (inside(sips.first) && !inside(sips.second)) c.leaving += count;
    if (staged_) {
      std::uint32_t of_sips = 0;
      for (std::uint32_t s = 0; s < shape_.sips; ++s) of_sips += inside(s) ? 1 : 0;
      // Links out of the SIPs inside and into them: the cut is limited by the direction with fewer links.
      c.out_gbytes_s = c.in_gbytes_s = std::min(of_sips, shape_.sips - of_sips) * staging_gbytes_s(c_);
    } else {
      add_sip_links(c, [&](const abi::node_address& a) { return inside(a.sip); });
    }
    add(std::move(c));
  }

  void arcs() {
    for (std::uint32_t first = 0; first < shape_.sips; ++first) {
      for (std::uint32_t end = first + 1; end <= shape_.sips; ++end) {
        const bool one = end == first + 1;
        // In big pods longer arcs begin at the first SIP only: other longer arcs add no stronger bound.
        if (!one && first > 0 && shape_.sips > 32) break;
        sips(one ? cut_kind::sip : cut_kind::bisection,
             one ? sip_path(sip_id{first}) : fmt::format("SIPs {} to {}", first, end - 1),
             [=](std::uint32_t s) { return s >= first && s < end; });
      }
    }
  }

  void grid_lines() {
    using config::pod_topology;
    if (c_.pod.topology != pod_topology::mesh_2d && c_.pod.topology != pod_topology::torus_2d) return;
    const config::pod_grid grid = config::pod_grid_of(c_.pod);
    for (std::uint32_t first = 0; first < grid.columns; ++first) {
      for (std::uint32_t end = first + 1; end <= grid.columns; ++end) {
        sips(cut_kind::bisection, fmt::format("columns {} to {} of SIPs", first, end - 1),
             [=](std::uint32_t s) { return s % grid.columns >= first && s % grid.columns < end; });
      }
    }
  }

  const fabric::topology& t_;
  const config::machine_config& c_;
  machine_shape shape_;
  wire_rates rates_;
  std::uint64_t ranks_;
  bool staged_;
  std::vector<std::uint64_t> by_cube_, leaving_cube_;
  /// Ranks of one SIP whose next rank is in the other, for each pair of SIPs.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> between_sips_;
  const std::vector<pe_coord>* members_{};
  std::optional<pe_coord> root_;
  std::vector<cut> cuts_;
};

}  // namespace

std::vector<cut> cuts_of(const fabric::topology& t, const config::machine_config& c, const comm::group& g,
                         std::uint32_t root) {
  return cut_finder(t, c, g, root).all();
}

link_totals total_link_rates(const fabric::topology& t, const config::machine_config& c) {
  return cut_finder(t, c, {}, 0).totals();
}

}  // namespace diecast::cost
