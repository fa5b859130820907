// SPDX-License-Identifier: Apache-2.0
// All-gather, reduce-scatter, and both as an all-reduce, on the rings of comm::level_grid: over the SIPs,
// over the cubes of a SIP, and over the PEs of a cube. A block crosses the links between SIPs and between
// cubes few times, and most of its copies are made within the cubes.
//
//   all_gather      a ring passes round the blocks of its members and, as they come, those that rings before
//                   it bring: first the SIPs, then the cubes, then the PEs, the nearest first
//   reduce_scatter  the mirror image: the PEs of a cube add up what they have for every block, then the
//                   cubes, then the SIPs
//
// Where blocks are shorter than a slot, the nearest PEs of a cube exchange theirs before they go round the
// cubes, so that neighboring blocks travel as one message.
#include "models/comm/three_level.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "sw/kernels/blocks.hpp"
#include "sw/kernels/builtin.hpp"
#include "sw/kernels/level_laps.hpp"

namespace diecast::sw {
namespace {

using arrival = pe_context::arrival;
using awaited = pe_context::awaited;
using lanes = std::vector<pe_context::lane>;

/// Words of kernel_arguments::extra; extra_copy is another.
enum extra : std::size_t { extra_sips, extra_cubes, extra_pes, extra_bundle };

class level_blocks {
 public:
  level_blocks(pe_context& pe, const block_vector& v)
      : v_(v),
        grid_{static_cast<std::uint32_t>(pe.args().extra[extra_sips]),
              static_cast<std::uint32_t>(pe.args().extra[extra_cubes]),
              static_cast<std::uint32_t>(pe.args().extra[extra_pes])} {
    const std::uint32_t rank = pe.args().rank;
    slot_ = slot_of(pe);
    own_ = {grid_.sip_of(rank), grid_.cube_of(rank), grid_.pe_of(rank)};
    order_rings(pe, static_cast<comm::level_bundle>(pe.args().extra[extra_bundle]));
  }

  [[nodiscard]] const lanes& all_gather() {
    std::vector<bundle> known{own_};
    for (const own_ring& r : rings_) known = gather_round(r, known);
    pace_sips(true);
    return lanes_;
  }

  [[nodiscard]] const lanes& reduce_scatter() {
    std::vector<std::vector<bundle>> given{{own_}};  // what a gather gives every ring, and what it ends with
    for (const own_ring& r : rings_) given.push_back(spread(r, given.back()));
    for (std::size_t i = rings_.size(); i-- > 0;) sum_round(rings_[i], given[i], given[i + 1]);
    pace_sips(false);
    return lanes_;
  }

 private:
  /// A queue pair that is not there is not asked.
  [[nodiscard]] std::uint64_t slot_of(pe_context& pe) const {
    return grid_.sips < 2 ? 1 : pe.message_elements(comm::round_sips[0]) * numeric::size_of(pe.args().type);
  }
  /// Rings in the order of a gather. In the image: cubes, PEs, and the half of them, from the own on.
  void order_rings(pe_context& pe, comm::level_bundle together) {
    const bool pairs = together == comm::level_bundle::pair;
    const std::uint32_t half = grid_.pes / 2;
    const std::vector<std::uint32_t> image =
        ring_from_image(pe, grid_.cubes + grid_.pes + (pairs ? half : 0));
    const auto pes_begin = image.begin() + grid_.cubes;
    const auto half_begin = pes_begin + grid_.pes;

    std::vector<std::uint32_t> sips;
    for (std::uint32_t s = 0; s < grid_.sips; ++s) sips.push_back(around(own_.sip, s, grid_.sips));
    add_ring({own_ring::sips, false, false, sips, comm::round_sips});
    const own_ring cubes{own_ring::cubes, false, false, {image.begin(), pes_begin}, comm::round_cubes};
    const own_ring all{own_ring::pes, true, false, {pes_begin, half_begin}, comm::round_pes};
    place_ = {position_of(cubes), position_of(all)};
    if (pairs) {
      add_ring({own_ring::pes, false, true, {own_.pe, own_.pe ^ 1}, {comm::in_pair, comm::in_pair}});
      add_ring(cubes);
      own_ring halves{own_ring::pes, true, false, {half_begin, image.end()}, comm::round_half};
      for (std::uint32_t& member : halves.members) member -= member % 2;
      add_ring(halves);
      return;
    }
    const bool joins = together == comm::level_bundle::cube;
    if (!joins) add_ring(cubes);
    add_ring({all.on, all.one_way && !joins, joins, all.members, all.directions});
    if (joins) add_ring(cubes);
  }
  /// Counted from the member of the lowest number.
  [[nodiscard]] static std::uint32_t position_of(const own_ring& r) {
    const auto lowest = std::min_element(r.members.begin(), r.members.end()) - r.members.begin();
    return around(0, -lowest, r.size());
  }
  void add_ring(own_ring r) {
    if (r.size() < 2) return;
    r.position = position_of(r);
    r.first_lane = lanes_.size();
    for (std::size_t w = 0; w < r.lanes(); ++w) {
      pe_context::lane& lane = lanes_.emplace_back();
      lane.send = {r.directions[w]};
      lane.recv = {r.size() > 2 ? r.directions[1 - w] : r.directions[w]};
    }
    rings_.push_back(std::move(r));
  }
  [[nodiscard]] pe_context::lane& lane_of(const own_ring& r, std::size_t w) {
    return lanes_[r.first_lane + w];
  }
  [[nodiscard]] static std::int32_t number_of(const own_ring& r, std::size_t w) {
    return static_cast<std::int32_t>(r.first_lane + w);
  }

  [[nodiscard]] tcm_range range_of(const bundle& b) const {
    return v_.blocks_from(grid_.rank_at(b.sip, b.cube, b.pe), b.blocks)[0];
  }
  /// The bundle in the place of `b` of the member at `distance` on a ring.
  [[nodiscard]] static bundle at_member(const own_ring& r, const bundle& b, std::int64_t distance) {
    bundle other{b.sip, b.cube, b.pe, b.blocks};
    (r.on == own_ring::sips    ? other.sip
     : r.on == own_ring::cubes ? other.cube
                               : other.pe) = r.member(distance);
    return other;
  }
  /// The bundle of all members that holds `b`, which is one of theirs.
  [[nodiscard]] static bundle joined(const own_ring& r, const bundle& b) {
    return {b.sip, b.cube, *std::min_element(r.members.begin(), r.members.end()), b.blocks * r.size()};
  }
  /// Hops and way of what comes in a lap of a gather: the nearest first.
  [[nodiscard]] static std::vector<std::pair<std::uint32_t, std::size_t>> arrivals(const own_ring& r) {
    std::vector<std::pair<std::uint32_t, std::size_t>> come;
    for (std::uint32_t hops = 1; hops <= r.most_hops(); ++hops) {
      for (std::size_t w = 0; w < r.lanes(); ++w) {
        if (hops <= r.reach(-ways[w] * std::int64_t{hops}, w)) come.emplace_back(hops, w);
      }
    }
    return come;
  }

  /// The laps of the last ring are many and short. Four slots are on their way at least as long as a hop
  /// takes. Bundles of another SIP may be late, and are in another batch.
  [[nodiscard]] std::uint32_t batch_of(const own_ring& r, std::uint32_t lap, std::size_t laps) const {
    if (r.on != own_ring::pes || r.joins) return lap;
    constexpr std::uint32_t together = 4;
    const auto per_sip = static_cast<std::uint32_t>(laps / grid_.sips);
    const std::uint32_t batches = std::max(1u, per_sip / together);
    return lap / per_sip * batches + lap % per_sip * batches / per_sip;
  }

  // --- all_gather ---

  /// What is known after the ring has taken round `known`, in the order in which it comes.
  std::vector<bundle> gather_round(const own_ring& r, const std::vector<bundle>& known) {
    std::array<std::map<std::pair<std::uint32_t, std::uint32_t>, std::int32_t>, 2> stages;
    for (std::size_t w = 0; w < r.lanes(); ++w) {
      lap_order order(arrival::copy);
      for (std::uint32_t lap = 0; lap < known.size(); ++lap)
        add_gather_lap(order, r, w, lap, known.size(), known[lap]);
      stages[w] = order.put(lane_of(r, w));
    }
    std::vector<bundle> next;
    for (std::uint32_t lap = 0; lap < known.size(); ++lap) {
      const bundle& b = known[lap];
      if (r.joins) {
        next.push_back(joined_when_all_is_here(r, b, lap, stages));
        continue;
      }
      next.push_back(b);
      for (const auto& [hops, w] : arrivals(r)) {
        next.push_back(at_member(r, b, -ways[w] * std::int64_t{hops}));
        next.back().after = {{stages[w].at({lap, hops}), number_of(r, w)}};
      }
    }
    return next;
  }
  void add_gather_lap(lap_order& order, const own_ring& r, std::size_t w, std::uint32_t lap, std::size_t laps,
                      const bundle& b) const {
    const std::uint32_t batch = batch_of(r, lap, laps);
    order.add({lap, 0, batch, range_of(b), false, r.reach(0, w) > 0, b.after});
    for (std::uint32_t hops = 1; hops <= r.most_hops(); ++hops) {
      const std::int64_t distance = -ways[w] * std::int64_t{hops};
      const std::uint32_t reach = r.reach(distance, w);
      if (hops > reach) continue;
      order.add({lap, hops, batch, range_of(at_member(r, b, distance)), true, hops < reach});
    }
  }
  /// Stages of a lane end in their order: the last of each lane is enough.
  [[nodiscard]] bundle joined_when_all_is_here(
      const own_ring& r, const bundle& b, std::uint32_t lap,
      const std::array<std::map<std::pair<std::uint32_t, std::uint32_t>, std::int32_t>, 2>& stages) const {
    bundle all = joined(r, b);
    all.after = b.after;
    for (std::size_t w = 0; w < r.lanes(); ++w) {
      std::int32_t last = -1;
      for (const auto& [hops, way] : arrivals(r)) {
        if (way == w) last = std::max(last, stages[w].at({lap, hops}));
      }
      if (last >= 0) all.after.push_back({last, number_of(r, w)});
    }
    for (awaited& a : all.after) a.at = range_of(all).bytes;  // all of the stage
    return all;
  }

  // --- reduce_scatter ---
  // Sums are added in one order, that of the rings: what a ring brings is taken after what those before it
  // bring for the same block.

  /// The bundles of a gather after the ring, without what brings them.
  [[nodiscard]] static std::vector<bundle> spread(const own_ring& r, const std::vector<bundle>& known) {
    std::vector<bundle> next;
    for (const bundle& b : known) {
      next.push_back(r.joins ? joined(r, b) : b);
      if (r.joins) continue;
      for (const auto& [hops, w] : arrivals(r))
        next.push_back(at_member(r, b, -ways[w] * std::int64_t{hops}));
    }
    return next;
  }
  /// Sums up the bundles that a gather would take round, the last first. `from`: these and those of the other
  /// members, as far as earlier rings have summed them; `after` of each is what completes it.
  void sum_round(const own_ring& r, std::vector<bundle>& own, const std::vector<bundle>& from) {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, const bundle*> by_place;
    for (const bundle& b : from) by_place[b.key()] = &b;
    const auto complete = [&](const bundle& b) {
      const bundle& whole = *by_place.at(r.joins ? joined(r, b).key() : b.key());
      std::vector<awaited> after = whole.after;
      for (awaited& a : after) a.at += range_of(b).at - range_of(whole).at;
      return after;
    };
    std::vector<awaited> last(own.size());
    for (std::size_t w = 0; w < r.lanes(); ++w) {
      lap_order order(arrival::reduce);
      for (std::uint32_t lap = 0; lap < own.size(); ++lap) {
        const bundle& b = own[own.size() - 1 - lap];
        add_sum_lap(order, r, w, lap, own.size(), b, complete);
        // Of the two ways the second adds to the sum after the first.
        if (r.reach(0, w) > 0) {
          order.add({lap, r.reach(0, w), batch_of(r, lap, own.size()), range_of(b), true, false,
                     last[lap].stage < 0 ? complete(b) : std::vector<awaited>{last[lap]}});
        }
      }
      const auto stages = order.put(lane_of(r, w));
      for (std::uint32_t lap = 0; lap < own.size() && r.reach(0, w) > 0; ++lap)
        last[lap] = {stages.at({lap, r.reach(0, w)}), number_of(r, w)};
    }
    for (std::uint32_t lap = 0; lap < own.size(); ++lap) own[own.size() - 1 - lap].after = {last[lap]};
  }
  template <typename Complete>
  void add_sum_lap(lap_order& order, const own_ring& r, std::size_t w, std::uint32_t lap, std::size_t laps,
                   const bundle& b, const Complete& complete) const {
    for (std::uint32_t hops = r.most_hops(); hops > 0; --hops) {
      const std::int64_t distance = ways[w] * std::int64_t{hops};
      const std::uint32_t reach = r.reach(distance, w);
      if (hops > reach) continue;
      const bundle other = at_member(r, b, distance);
      order.add(
          {lap, reach - hops, batch_of(r, lap, laps), range_of(other), hops < reach, true, complete(other)});
    }
  }

  // --- when blocks leave for other SIPs ---
  // All places share the links between the SIPs. Sent as soon as they can be, their blocks would crowd before
  // them, and what the rings within the SIP send would stand behind. So places take turns, measured by what
  // has come round the last ring: of a gather, the blocks of the own SIP; of a reduction, where every sum for
  // the farthest SIPs is complete at one time, the blocks that are summed next. Neither needs what waits.
  // What is passed on from another SIP comes in turns.

  void pace_sips(bool gathers) {
    if (rings_.size() < 2 || rings_.front().on != own_ring::sips) return;
    const own_ring& last = rings_.back();
    const std::uint32_t before = gathers ? 0 : std::min(2u, grid_.sips - 1);
    const std::uint64_t from = come_round(last, 0, before);
    const std::uint64_t time =
        come_round(last, before, before + 1) * 9 / 10;  // the last one's way is the rest
    const std::uint64_t places = std::uint64_t{grid_.cubes} * grid_.pes;
    const std::uint64_t place = std::uint64_t{place_.second} * grid_.cubes + place_.first;
    for (std::size_t w = 0; w < rings_.front().lanes(); ++w) {
      std::vector<pe_context::outgoing>& sent = lane_of(rings_.front(), w).sent;
      if (sent.empty()) continue;
      const std::uint64_t slots = std::max<std::uint64_t>(1, (sent.front().bytes + slot_ - 1) / slot_);
      sent.front().not_before = {number_of(last, 0), from + time / slots * place / places, time};
    }
  }
  /// Bytes that the ring's first lane takes in its laps for some SIPs, in the order of the laps.
  [[nodiscard]] std::uint64_t come_round(const own_ring& r, std::size_t first_sip, std::size_t end_sip) {
    const std::vector<pe_context::stage>& come = lane_of(r, 0).received;
    std::uint64_t bytes = 0;
    for (std::size_t i = come.size() * first_sip / grid_.sips; i < come.size() * end_sip / grid_.sips; ++i)
      bytes += come[i].bytes;
    return bytes;
  }

  const block_vector& v_;
  comm::level_grid grid_;
  bundle own_;
  std::uint64_t slot_{};                           ///< bytes of a message to another SIP
  std::pair<std::uint32_t, std::uint32_t> place_;  ///< on the rings of cubes and of PEs
  std::vector<own_ring> rings_;                    ///< in the order of a gather
  lanes lanes_;
};

void run_all_gather(pe_context& pe) {
  const block_vector v = gathered_in_output(pe);
  pe.stream(level_blocks(pe, v).all_gather(), "all_gather");
}

void run_reduce_scatter(pe_context& pe) {
  const block_vector v = scattered_from_input(pe);
  pe.stream(level_blocks(pe, v).reduce_scatter(), "reduce_scatter");
  deliver_own_block(pe, v);
  pe.finish_average(pe.args().output, v.block(pe.args().rank).bytes);
}

/// Every block is summed at its owner, in one order, and then copied.
void run_all_reduce(pe_context& pe) {
  const block_vector v = reduced_in_output(pe);
  pe.stream(level_blocks(pe, v).reduce_scatter(), "reduce_scatter");
  const tcm_range own = v.block(pe.args().rank);
  pe.finish_average(own.at, own.bytes);
  pe.stream(level_blocks(pe, v).all_gather(), "all_gather");
}

// --- host side -----------------------------------------------------------------------------------

const comm::level_rings& rings_of(const argument_context& c) {
  if (c.level_rings == nullptr)
    c.level_rings = std::make_shared<const comm::level_rings>(pattern_context_of(c));
  return *c.level_rings;
}

/// Numbers in the image: those of the cubes, of the PEs, and of the half of them.
std::uint64_t image_numbers(const argument_context& c) {
  const comm::level_rings& rings = rings_of(c);
  return rings.grid().cubes + rings.grid().pes + rings.halves()[0].size();
}
std::uint64_t image_words(const argument_context& c) { return (image_numbers(c) + 1) / 2; }

std::vector<std::uint64_t> image(const argument_context& c, std::uint32_t rank) {
  const comm::level_rings& rings = rings_of(c);
  const comm::level_grid& g = rings.grid();
  std::vector<std::uint32_t> numbers;
  append_from(numbers, rings.cubes(g.sip_of(rank)), g.cube_of(rank));
  append_from(numbers, rings.pes(), g.pe_of(rank));
  if (rings.has_pairs()) append_from(numbers, rings.half_with(g.pe_of(rank)), g.pe_of(rank));
  return packed_image(numbers);
}

std::uint64_t gather_scratch(const argument_context& c) { return image_words(c) * sizeof(std::uint64_t); }
std::uint64_t reduce_scratch(const argument_context& c) { return scatter_scratch(c, image_words(c)); }

void fill(const argument_context& c, std::uint32_t, abi::kernel_arguments& a) {
  const comm::level_grid& g = rings_of(c).grid();
  a.extra[extra_sips] = g.sips;
  a.extra[extra_cubes] = g.cubes;
  a.extra[extra_pes] = g.pes;
  a.extra[extra_bundle] =
      static_cast<std::int64_t>(comm::level_bundle_of(c.config, g, c.count * numeric::size_of(c.type)));
  fill_scatter(c, image_words(c), a);
}

}  // namespace

kernel_entry all_reduce_three_level_entry() {
  return {"three_level",
          "all_reduce",
          "reduce-scatter and all-gather on rings within the cubes, between them and between SIPs",
          "three_level_rings",
          {comm::rank_set::pe},
          run_all_reduce,
          gather_scratch,
          fill,
          image};
}

kernel_entry all_gather_three_level_entry() {
  return {"three_level",
          "all_gather",
          "rings within the cubes, between them and between SIPs, for every place",
          "three_level_rings",
          {comm::rank_set::pe},
          run_all_gather,
          gather_scratch,
          fill,
          image};
}

kernel_entry reduce_scatter_three_level_entry() {
  return {"three_level",
          "reduce_scatter",
          "rings within the cubes, between them and between SIPs, for every place",
          "three_level_rings",
          {comm::rank_set::pe},
          run_reduce_scatter,
          reduce_scratch,
          fill,
          image};
}

}  // namespace diecast::sw
