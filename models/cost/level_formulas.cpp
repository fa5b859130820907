// SPDX-License-Identifier: Apache-2.0
// Grids of ranks, and algorithms that go up the levels of the machine.
#include <algorithm>
#include <cmath>

#include "models/comm/launch_plan.hpp"
#include "models/comm/member_levels.hpp"
#include "models/comm/rank_grid.hpp"
#include "models/cost/formula_base.hpp"
#include "models/types/error.hpp"

namespace diecast::cost {
namespace {

using comm::collective;

class levels_of_machine : public formula_base {
 public:
  using formula_base::formula_base;

  [[nodiscard]] estimate mesh_2d() const { return grid(false); }
  [[nodiscard]] estimate torus_2d() const { return grid(true); }
  [[nodiscard]] estimate hierarchical_3level() const { return {levels(n_), interface_ns(arms() * n_)}; }
  /// The first chunk takes all hops, as chunks are no faster there than messages of their own; the others
  /// follow as the leader of all takes them and sends them, or as its network interface does.
  [[nodiscard]] estimate hierarchical_pipelined() const {
    const double k = chunks_of(n_, comm::member_levels(t_.shape(), r_.ranks).hops()), chunk = n_ / k;
    const double slot = std::min(chunk, step_.slot_bytes());
    const double busy =
        step_.slots_of(chunk) * arms() * (step_.take_ns(slot, true) + step_.send_ns() + 2 * step_.wake_ns());
    return {levels(chunk) + (k - 1) * std::max(busy, interface_ns(arms() * chunk)),
            interface_ns(arms() * n_)};
  }
  [[nodiscard]] estimate intercube() const {
    const machine_shape& s = t_.shape();
    const cube_id root = comm::root_cube(s, c_.ccl.root);
    const auto along = [&](std::uint32_t size, std::uint32_t at, const pe_coord& a, const pe_coord& b) {
      if (size < 2) return 0.0;
      const double hops = std::max(at, size - 1 - at);
      return hops *
             (step_.exchange_ns(a, b, {n_, true, 1, false}) + step_.exchange_ns(b, a, {n_, false, 1, false}));
    };
    const sip_id first = at(0).sip;
    const pe_coord here = leader_of(first, {});
    double ns = step_.first_use_ns(4 * pair_registers) + end_ns();
    if (s.cube_columns > 1)
      ns += along(s.cube_columns, s.cube_x(root), here, leader_of(first, s.cube_at(1, 0)));
    if (s.cube_rows > 1) ns += along(s.cube_rows, s.cube_y(root), here, leader_of(first, s.cube_at(0, 1)));
    if (s.sips > 1) {
      const exchange e{n_ / s.sips / 2, true, 2};
      ns += 2 * (s.sips - 1.0) *
            step_.exchange_ns(leader_of(first, root), leader_of(other_sip(first), root), e);
    }
    return {ns, interface_ns(2 * n_)};
  }

 private:
  /// Steps both ways along all rows, or columns, of a grid.
  [[nodiscard]] static std::vector<way> lines_of(const comm::rank_grid& g, bool rows, bool closed) {
    std::vector<way> ways;
    const std::uint32_t length = rows ? g.columns() : g.rows(), lines = rows ? g.rows() : g.columns();
    for (std::uint32_t line = 0; line < lines; ++line) {
      for (std::uint32_t i = 0; i + (closed ? 0 : 1) < length; ++i) {
        const std::uint32_t next = (i + 1) % length;
        const std::uint32_t a = rows ? g.rank_at(i, line) : g.rank_at(line, i);
        const std::uint32_t b = rows ? g.rank_at(next, line) : g.rank_at(line, next);
        ways.emplace_back(a, b);
        ways.emplace_back(b, a);
      }
    }
    return ways;
  }
  [[nodiscard]] estimate grid(bool closed) const {
    const comm::rank_grid g({c_, t_.shape(), r_.ranks});
    const double lanes = closed ? 4 : 2;
    double ns = step_.first_use_ns(4 * pair_registers) + end_ns();
    const auto line = [&](double size, double bytes, const peer_fn& next) {
      if (size < 2) return;
      const exchange e{bytes / size, true, static_cast<unsigned>(lanes)};
      ns += (size - 1) * (dearest(next, e) + dearest(next, {e.bytes, false, e.lanes}));
    };
    const double x = g.columns(), y = g.rows();
    const auto east = [&g](std::uint32_t r) {
      return std::optional(g.rank_at((g.x(r) + 1) % g.columns(), g.y(r)));
    };
    const auto north = [&g](std::uint32_t r) {
      return std::optional(g.rank_at(g.x(r), (g.y(r) + 1) % g.rows()));
    };
    line(x, n_ / lanes, east);
    line(y, n_ / lanes / x, north);
    // Parts of the vector start along rows, the others along columns; each goes on with what is left of it.
    const double parts = closed ? 2 : 1;
    const double wires =
        std::max({interface_ns(2 * n_ * (p_ - 1.0) / p_),
                  ways_ns(lines_of(g, true, closed), n_ / parts * (x - 1) / x * (1 + 1 / y)),
                  ways_ns(lines_of(g, false, closed), n_ / parts * (y - 1) / y * (1 + 1 / x))});
    return {ns, wires};
  }
  /// Hops of `bytes` towards leaders and back, at most two messages taken per hop.
  [[nodiscard]] double level(std::uint32_t size, const pe_coord& a, const pe_coord& b, double bytes) const {
    if (size < 2) return 0;
    const double hops = std::ceil((size - 1) / 2.0);
    const double both =
        step_.exchange_ns(a, b, {bytes, true, 1, false}) + step_.exchange_ns(b, a, {bytes, false, 1, false});
    const double slots = step_.slots_of(bytes);
    return hops * both + (size > 2 ? slots * step_.take_ns(std::min(bytes, step_.slot_bytes()), true) : 0);
  }
  /// The largest ring of each level sets the pace of it.
  [[nodiscard]] double levels(double bytes) const {
    const comm::member_levels members(t_.shape(), r_.ranks);
    const std::vector<comm::member_levels::cube>* most_cubes = nullptr;
    const std::vector<pe_coord>* most_pes = nullptr;
    for (const auto& sip : members.sips) {
      if (most_cubes == nullptr || sip.cubes.size() > most_cubes->size()) most_cubes = &sip.cubes;
      for (const auto& cube : sip.cubes) {
        if (most_pes == nullptr || cube.pes.size() > most_pes->size()) most_pes = &cube.pes;
      }
    }
    double ns = step_.first_use_ns(4 * pair_registers) + end_ns();
    if (members.most_pes > 1) ns += level(members.most_pes, (*most_pes)[0], (*most_pes)[1], bytes);
    if (members.most_cubes > 1)
      ns += level(members.most_cubes, (*most_cubes)[0].pes[0], (*most_cubes)[1].pes[0], bytes);
    const auto sips = static_cast<std::uint32_t>(members.sips.size());
    if (sips > 1) ns += level(sips, members.sips[0].cubes[0].pes[0], members.sips[1].cubes[0].pes[0], bytes);
    return ns;
  }
  /// Neighbors of the rank that leads on all levels, in the middle of each: it takes the whole vector from
  /// every one, and sends every one the result.
  [[nodiscard]] double arms() const {
    const comm::member_levels members(t_.shape(), r_.ranks);
    double sum = 0;
    for (const std::size_t size :
         {std::size_t{members.most_pes}, std::size_t{members.most_cubes}, members.sips.size()})
      sum += d(std::min<std::size_t>(size, 3) - 1);
    return sum;
  }
  /// The member in a cube. Throws user_error when there is none.
  [[nodiscard]] pe_coord leader_of(sip_id sip, cube_id cube) const {
    for (const pe_coord& m : r_.ranks.members) {
      if (m.sip == sip && m.cube == cube) return m;
    }
    throw user_error(problem{"ranks", "no member is in this cube", cube_path(t_.shape(), sip, cube),
                             "a member in every cube"});
  }
  /// A SIP of the members other than that one, if they are in several.
  [[nodiscard]] sip_id other_sip(sip_id one) const {
    for (const pe_coord& m : r_.ranks.members) {
      if (m.sip != one) return m.sip;
    }
    return one;
  }
};

}  // namespace

std::vector<formula_row> level_formulas() {
  using f = levels_of_machine;
  return {
      {collective::all_reduce, "intercube", formula_of(&f::intercube)},
      {collective::all_reduce, "mesh_2d", formula_of(&f::mesh_2d)},
      {collective::all_reduce, "torus_2d", formula_of(&f::torus_2d)},
      {collective::all_reduce, "hierarchical_3level", formula_of(&f::hierarchical_3level)},
      {collective::all_reduce, "hierarchical_pipelined", formula_of(&f::hierarchical_pipelined)},
  };
}

}  // namespace diecast::cost
