// SPDX-License-Identifier: Apache-2.0
// Rings within SIPs and between them.
#include <algorithm>

#include "models/comm/two_level.hpp"
#include "models/cost/cuts.hpp"
#include "models/cost/formula_base.hpp"
#include "models/cost/staging.hpp"

namespace diecast::cost {
namespace {

using comm::collective;

class two_levels : public formula_base {
 public:
  using formula_base::formula_base;

  [[nodiscard]] estimate two_level() const {
    const comm::sip_rows g = comm::sip_rows_of(r_.ranks);
    return {two_level_pass(g, true) + two_level_pass(g, false) + two_level_ends(g), two_level_wires(g, 2)};
  }
  [[nodiscard]] estimate two_level_once() const {
    const comm::sip_rows g = comm::sip_rows_of(r_.ranks);
    const bool reduces = r_.what == collective::reduce_scatter;
    return {two_level_pass(g, reduces) + two_level_ends(g), two_level_wires(g, 1)};
  }
  /// Straight within the SIP, and at the same time all that is for another SIP to the own place there; then
  /// what has come from each of the other SIPs within this one.
  [[nodiscard]] estimate all_to_all() const {
    const comm::sip_rows g = comm::sip_rows_of(r_.ranks);
    const double own = part(d(p_)), for_row = part(d(g.rows));
    const double within = g.columns < 2 ? 0 : within_row(g, own);
    double first = within;
    for (std::uint32_t row = 1; row < g.rows; ++row) {
      const exchange e{for_row, false, 1, false};
      first = std::max(first, step_.exchange_ns(at(g.rank_at(0, 0)), at(g.rank_at(row, 0)), e) + within);
    }
    const double sent = (g.rows - 1.0) * for_row + g.rows * (g.columns - 1.0) * own;
    const unsigned partners = g.columns - 1 + g.rows - 1;
    return {step_.first_use_ns(pair_registers * partners) + first +
                (g.rows - 1.0) * (within + step_.vector_ns(own, false)) + end_ns(),
            std::max(interface_ns(sent), all_pairs_at_once_ns(own))};
  }

 private:
  /// Between all members of a SIP at once.
  [[nodiscard]] double within_row(const comm::sip_rows& g, double bytes) const {
    double far = 0;
    for (std::uint32_t column = 1; column < g.columns; ++column) {
      const exchange e{bytes, false, 1, false};
      far = std::max(far, step_.exchange_ns(at(g.rank_at(0, 0)), at(g.rank_at(0, column)), e));
    }
    return at_once_ns(far, g.columns - 1.0, bytes, false);
  }
  /// A lap of blocks that go half way round each way: as many steps as the farthest goes, each the mean way
  /// over the ring's edges, or as many slots as a member passes on each way.
  struct half_lap {
    double turns{}, turn_ns{}, slots_ns{};
    [[nodiscard]] double ns() const { return std::max(turns * turn_ns, slots_ns); }
  };
  [[nodiscard]] half_lap lap_of(const std::vector<pe_coord>& ring, const exchange& e) const {
    if (ring.size() < 2) return {};
    exchange first = e;
    first.bytes = std::min(e.bytes, step_.slot_bytes());
    double ways = 0;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      ways += step_.exchange_ns(ring[i], ring[(i + 1) % ring.size()], first);
    }
    const double slots = (d(ring.size()) - 1) / 2 * step_.slots_of(e.bytes);
    return {d(ring.size() / 2), ways / d(ring.size()), slots * slowest_on_ring(ring, first)};
  }
  /// As many laps of the row as there are rows, each some turns after the one before, and one of the column,
  /// whose every step needs a lap or feeds one.
  [[nodiscard]] double two_level_pass(const comm::sip_rows& g, bool reduces) const {
    std::vector<pe_coord> row, column;
    for (const std::uint32_t place : comm::row_ring({c_, t_.shape(), r_.ranks}, g, 0)) {
      row.push_back(at(g.rank_at(0, place)));
    }
    for (std::uint32_t s = 0; s < g.rows; ++s) column.push_back(at(g.rank_at(s, 0)));
    const exchange e{part(p_), reduces, 2, true, true};
    const half_lap lap = lap_of(row, e);
    return std::max(row_laps_ns(g, lap, step_.slots_of(e.bytes)), lap.ns() + lap_of(column, e).ns());
  }
  /// Of all laps of a row: the turns until the last has ended, or all slots, from when a second lap is under
  /// way; while laps overlap a slot of another one is in the way of each. Never more than laps that follow
  /// each other: with more slots a block, the turns before the second lap are full of them already.
  [[nodiscard]] double row_laps_ns(const comm::sip_rows& g, const half_lap& lap, double slots) const {
    const double apart =
        comm::turns_between_laps(static_cast<std::uint64_t>(slots), has_hbm_tensors(c_, r_.what));
    if (g.rows < 2 || apart >= lap.turns) return g.rows * lap.ns();
    const double turns = lap.turns + (g.rows - 1.0) * apart;
    const double overlap = 1 - apart / lap.turns;
    const double others = overlap * interface_ns(g.rows * (g.columns - 1.0) / 2 * part(p_));
    const double overlapping =
        std::max(turns * lap.turn_ns, apart * lap.turn_ns + g.rows * lap.slots_ns + others);
    return std::min(overlapping, g.rows * lap.ns());
  }
  /// What the cuts let through: over those between SIPs columns go, over those within SIPs rows.
  [[nodiscard]] double two_level_wires(const comm::sip_rows& g, double passes) const {
    std::vector<std::vector<std::uint32_t>> rows(g.rows);
    for (std::uint32_t s = 0; s < g.rows; ++s) {
      for (const std::uint32_t place : comm::row_ring({c_, t_.shape(), r_.ranks}, g, s))
        rows[s].push_back(g.rank_at(s, place));
    }
    const double both_ways = passes * n_ * (g.columns - 1.0) / g.columns;
    double most = std::max(interface_ns(passes * n_ * (p_ - 1.0) / p_), laps_ns(rows, both_ways / 2, true));
    for (const cut& c : cuts_of(t_, c_, r_.ranks, 0)) {
      const double others = c.ranks % g.columns == 0 ? g.rows : g.columns;
      const double crossing = passes * n_ * (others - 1) / others * wires_.wire_bytes_per_byte();
      most = std::max(most, crossing / std::min(c.out_gbytes_s, c.in_gbytes_s));
    }
    return most;
  }
  [[nodiscard]] double two_level_ends(const comm::sip_rows& g) const {
    return step_.first_use_ns((g.rows > 1 ? 4 : 2) * pair_registers) + end_ns();
  }
};

}  // namespace

std::vector<formula_row> two_level_formulas() {
  using f = two_levels;
  return {
      {collective::all_reduce, "two_level", formula_of(&f::two_level)},
      {collective::reduce_scatter, "two_level", formula_of(&f::two_level_once)},
      {collective::all_gather, "two_level", formula_of(&f::two_level_once)},
      {collective::all_to_all, "two_level", formula_of(&f::all_to_all)},
  };
}

}  // namespace diecast::cost
