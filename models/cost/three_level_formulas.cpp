// SPDX-License-Identifier: Apache-2.0
// Rings within cubes, between them and between SIPs.
#include <algorithm>

#include "models/comm/three_level.hpp"
#include "models/cost/cuts.hpp"
#include "models/cost/formula_base.hpp"

namespace diecast::cost {
namespace {

using comm::collective;
using comm::level_bundle;

class three_levels : public formula_base {
 public:
  three_levels(const fabric::topology& t, const config::machine_config& c, const bound_request& r)
      : formula_base(t, c, r),
        rings_({c_, t_.shape(), r_.ranks}),
        grid_(rings_.grid()),
        together_(comm::level_bundle_of(c_, grid_, static_cast<std::uint64_t>(n_))) {}

  [[nodiscard]] estimate three_level() const { return {pass(true) + pass(false) + ends(), wires(2)}; }
  [[nodiscard]] estimate three_level_once() const {
    return {pass(r_.what == collective::reduce_scatter) + ends(), wires(1)};
  }

 private:
  /// A ring, as rank 0 sees it, and what goes round it: a bundle of every member in each of its laps.
  struct round {
    std::vector<pe_coord> members;
    double bundle{};
    double laps{};
    bool one_way{};
  };
  [[nodiscard]] std::vector<round> rounds() const {
    const auto member = [&](std::uint32_t sip, std::uint32_t cube, std::uint32_t pe) {
      return at(grid_.rank_at(sip, cube, pe));
    };
    const double block = part(p_), sips = grid_.sips, blocks = sips * grid_.cubes;
    round over_sips{{}, block, 1}, over_cubes{{}, block * together(), sips},
        over_pes{{}, block, blocks, together_ != level_bundle::cube};
    for (std::uint32_t s = 0; s < grid_.sips; ++s) over_sips.members.push_back(member(s, 0, 0));
    for (const std::uint32_t cube : rings_.cubes(0)) over_cubes.members.push_back(member(0, cube, 0));
    for (const std::uint32_t pe : together_ == level_bundle::pair ? rings_.halves()[0] : rings_.pes())
      over_pes.members.push_back(member(0, 0, pe));
    if (together_ == level_bundle::split) {  // of two PEs each takes the blocks of some SIPs
      over_sips.bundle = over_pes.bundle = 2 * block;
      over_sips.laps /= 2;
      over_cubes.laps /= 2;
      over_pes.laps /= 2;
    }
    std::vector<round> all{over_sips};
    if (together_ == level_bundle::split) all.push_back({{member(0, 0, 0), member(0, 0, 1)}, block, 1});
    if (together_ == level_bundle::pair) {
      all.push_back({{member(0, 0, 0), member(0, 0, 1)}, block, sips});
      over_pes.bundle = 2 * block;
    }
    if (together_ == level_bundle::cube) over_pes.laps = sips;
    // In the order of a gather.
    all.push_back(over_cubes);
    all.push_back(over_pes);
    if (together_ == level_bundle::cube) std::swap(all[1], all[2]);
    return all;
  }
  /// PEs whose blocks go round the cubes as one.
  [[nodiscard]] double together() const {
    switch (together_) {
      case level_bundle::single: return 1;
      case level_bundle::pair:
      case level_bundle::split: return 2;
      case level_bundle::cube: return grid_.pes;
    }
    return 1;
  }

  /// What a ring takes: a member's slots one after the other, in one lap and in all; the way of a block
  /// round it; and what its slowest edge lets through on each way.
  struct ring_times {
    double lap{}, busy{}, travel{}, edge{};
  };
  [[nodiscard]] ring_times times_of(const round& r, bool reduces) const {
    const std::size_t n = r.members.size();
    if (n < 2) return {};
    const exchange slot{std::min(r.bundle, step_.slot_bytes()), reduces, 1, true, true};
    double interval = 0, hop = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const pe_coord& next = r.members[(i + 1) % n];
      interval += step_.slot_interval_ns(r.members[i], next, slot) / d(n);
      hop += step_.exchange_ns(r.members[i], next, slot) / d(n);
    }
    const double slots = step_.slots_of(r.bundle), hops = d(r.one_way ? n - 1 : n / 2);
    const double lap = (d(n) - 1) * slots * interval;
    return {lap, r.laps * lap, hops * hop, r.laps * hops * slots * slowest_on_ring(r.members, slot)};
  }
  /// Within a SIP, the way of a block over all rings, or a member's work and then, after its last lap has
  /// begun, the way round the last ring. Blocks of other SIPs leave while the own ones go round the last
  /// ring, place after place (before_last_place), and then go the same ways. A reduction is the mirror image,
  /// in the same timetable.
  [[nodiscard]] double pass(bool reduces) const {
    double busy = 0, travel = 0, edge = 0;
    ring_times last;
    const std::vector<round> all = rounds();
    for (std::size_t i = 1; i < all.size(); ++i) {
      round own = all[i];
      own.laps = std::max(1.0, own.laps / grid_.sips);
      const ring_times t = times_of(own, reduces);
      busy += t.busy;
      travel += t.travel;
      edge = std::max(edge, t.edge);
      if (t.travel > 0) last = t;
    }
    const double own_sip = std::max({travel, busy - last.lap + last.travel, edge});
    if (grid_.sips < 2) return own_sip;
    // Kept from the pace before the timetable of docs/adr/0061, not derived from the turns that the kernel
    // takes now (set_turns): estimates are 0.80 to 1.17 of what is measured with it.
    constexpr double before_last_place = 0.9;
    return (before_last_place + grid_.sips - 1) * own_sip + times_of(all.front(), reduces).travel + sips_ns();
  }
  /// Links between SIPs are shared by all places, and what comes over them is needed for the other half.
  [[nodiscard]] double sips_ns() const {
    const double crossing = n_ * (grid_.sips - 1.0) / grid_.sips * wires_.wire_bytes_per_byte();
    double most = 0;
    for (const cut& c : cuts_of(t_, c_, r_.ranks, 0)) {
      const bool whole_sips = c.ranks % (std::uint64_t{grid_.cubes} * grid_.pes) == 0;
      if (whole_sips) most = std::max(most, crossing / std::min(c.out_gbytes_s, c.in_gbytes_s));
    }
    return grid_.sips > 1 ? most : 0;
  }

  /// What network interfaces, the rings of cubes and the cuts let through.
  [[nodiscard]] double wires(double passes) const {
    std::vector<std::vector<std::uint32_t>> cubes;
    for (std::uint32_t sip = 0; sip < grid_.sips; ++sip) {
      for (std::uint32_t pe = 0; pe < grid_.pes; ++pe) {
        std::vector<std::uint32_t>& ring = cubes.emplace_back();
        for (const std::uint32_t cube : rings_.cubes(sip)) ring.push_back(grid_.rank_at(sip, cube, pe));
      }
    }
    const double messages = together_ == level_bundle::split ? 1 : together();  // of two PEs each half
    const double round_cubes = passes * n_ * messages / grid_.pes * (grid_.cubes - 1.0) / grid_.cubes;
    return std::max({interface_ns(passes * n_ * (p_ - 1.0) / p_), laps_ns(cubes, round_cubes / 2, true),
                     passes * sips_ns()});
  }
  [[nodiscard]] double ends() const {
    double queue_pairs = 0;
    for (const round& r : rounds()) queue_pairs += d(std::min<std::size_t>(r.members.size() - 1, 2));
    return step_.first_use_ns(static_cast<unsigned>(queue_pairs) * pair_registers) + end_ns();
  }

  comm::level_rings rings_;
  comm::level_grid grid_;
  level_bundle together_;
};

}  // namespace

std::vector<formula_row> three_level_formulas() {
  using f = three_levels;
  return {
      {collective::all_reduce, "three_level", formula_of(&f::three_level)},
      {collective::reduce_scatter, "three_level", formula_of(&f::three_level_once)},
      {collective::all_gather, "three_level", formula_of(&f::three_level_once)},
  };
}

}  // namespace diecast::cost
