// SPDX-License-Identifier: Apache-2.0
// All-gather, reduce-scatter, and both as an all-reduce, on the rings of comm::level_grid: over the SIPs,
// over the cubes of a SIP, and over the PEs of a cube. A block crosses the links between SIPs and between
// cubes few times, and most of its copies are made within the cubes.
//
//   all_gather      a ring passes round the blocks of its members and those that arrive on the rings before
//                   it: first the SIPs, then the cubes, then the PEs, the nearest first
//   reduce_scatter  the reverse: the PEs of a cube add up their contributions to every block, then the cubes,
//                   then the SIPs
//
// Where blocks are shorter than a slot, the nearest PEs of a cube exchange theirs before they go round the
// cubes, so that neighboring blocks travel as one message. Between SIPs, each of two PEs then has the blocks
// of both for the SIPs in one direction.
#include <algorithm>

#include "sw/collectives/base/blocks.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/levels/level_rings.hpp"
#include "sw/collectives/levels/level_schedule.hpp"

namespace diecast::sw {
namespace three_level_kernel {

using pipelines = std::vector<pe_context::pipeline>;

struct parameters {
  comm::level_grid grid;
  std::uint32_t bundle{};  ///< comm::level_bundle
};

/// A block group that a PE passes round a ring, and the time at which the PE has it.
struct pass {
  bundle what;
  std::int64_t due{};
};

/// Sign of the distance to the owners of block groups on a ring. A reduction has the hops of a gather in
/// reverse order and in the same directions round the rings, so the owners are ahead instead of behind.
enum class purpose : std::int8_t { gathers = 1, reduces = -1 };

class level_blocks {
 public:
  level_blocks(pe_context& pe, const block_vector& v, purpose what)
      : v_(v),
        table_(v),
        sign_(static_cast<std::int64_t>(what)),
        together_(static_cast<comm::level_bundle>(pe.args().own.get<parameters>().bundle)),
        grid_(pe.args().own.get<parameters>().grid) {
    const std::uint32_t rank = pe.args().rank;
    own_ = {grid_.sip_of(rank), grid_.cube_of(rank), grid_.pe_of(rank)};
    order_rings(pe);
    set_times(pe);
    plan();
    if (what == purpose::gathers) {
      table_.put_gather(pipelines_);
    } else {
      table_.put_reduction(pipelines_);
    }
    set_paces();
  }

  [[nodiscard]] const pipelines& all() const { return pipelines_; }

 private:
  [[nodiscard]] bool splits() const { return together_ == comm::level_bundle::split; }
  [[nodiscard]] bool joins_cube() const { return together_ == comm::level_bundle::cube; }
  [[nodiscard]] bool joins_pair() const { return together_ == comm::level_bundle::pair; }

  /// The image has the rings of cubes, of PEs, and of a half of them, each from the own one on.
  void order_rings(pe_context& pe) {
    const std::uint32_t half = joins_pair() ? grid_.pes / 2 : 0;
    const std::vector<std::uint32_t> image = ring_from_image(pe, grid_.cubes + grid_.pes + half);
    const auto pes_begin = image.begin() + grid_.cubes;
    const auto half_begin = pes_begin + grid_.pes;
    for (std::uint32_t s = 0; s < grid_.sips; ++s) sips_.members.push_back(around(own_.sip, s, grid_.sips));
    sips_.directions = comm::round_sips;
    add_pipelines(sips_);
    cubes_ = {false, {image.begin(), pes_begin}, comm::round_cubes};
    add_pipelines(cubes_);
    if (joins_pair() || splits()) {
      pair_ = {false, {own_.pe, own_.pe ^ 1}, {comm::in_pair, comm::in_pair}};
      add_pipelines(pair_);
    }
    pes_ = {!joins_cube(), {pes_begin, half_begin}, comm::round_pes};
    if (joins_pair()) pes_ = {true, {half_begin, image.end()}, comm::round_half};
    add_pipelines(pes_);
  }
  void add_pipelines(own_ring& r) {
    // The position is counted from the member with the lowest number.
    const auto lowest = std::ranges::min_element(r.members) - r.members.begin();
    r.position = around(0, -lowest, r.size());
    r.first_pipeline = pipelines_.size();
    for (std::size_t w = 0; w < r.pipelines(); ++w) {
      pe_context::pipeline& pipeline = pipelines_.emplace_back();
      pipeline.send = {r.directions[w]};
      pipeline.recv = {r.size() > 2 ? r.directions[1 - w] : r.directions[w]};
    }
  }

  /// Times of hops, in bytes on the wire. The factors are measured on the default machine, for messages of a
  /// slot (docs/adr/0061). A short message takes at least the core's time for it, which is about that of a
  /// slot on the wire.
  void set_times(pe_context& pe) {
    constexpr std::int64_t messages_per_pe_hop = 4, messages_per_cube_hop = 2, messages_per_crossing = 6;
    const auto block = static_cast<std::int64_t>(v_.whole().bytes / grid_.ranks());
    const std::int64_t blocks = joins_cube() ? grid_.pes : joins_pair() || splits() ? 2 : 1;
    const std::int64_t bundle = std::max<std::int64_t>(1, block * blocks);
    const std::int64_t slot = slot_of(pe);
    const std::int64_t message = std::min(bundle, slot);
    // Blocks are sent one by one until they are joined in the cube.
    const std::int64_t single = joins_cube() ? std::min(std::max<std::int64_t>(1, block), slot) : message;
    pe_hop_ = std::max({joins_cube() ? block : bundle, slot, single * messages_per_pe_hop});
    cube_hop_ = std::max(bundle, message * messages_per_cube_hop);
    crossing_ = single * messages_per_crossing;
    set_turns(block, bundle);
  }
  void set_turns(std::int64_t block, std::int64_t bundle) {
    const std::int64_t places = std::int64_t{grid_.cubes} * (splits() ? grid_.pes / 2 : grid_.pes);
    // While flows of all rings meet, a PE receives little more than half of its interface's rate.
    turn_ = (splits() ? bundle : block) * 9 / 16;
    // The rings over the cubes are last and use both directions: the last PE sends when one of their hops is
    // left.
    if (joins_cube()) turn_ = (std::int64_t{cubes_.most_hops()} - 1) * cube_hop_ / places;
    turn_ = std::max<std::int64_t>(1, turn_);
    pass_of_sips_ = turn_ * places;
  }
  /// Bytes of a full message, read from a queue pair of any ring; 1 if this PE has no ring.
  [[nodiscard]] std::int64_t slot_of(pe_context& pe) const {
    if (pipelines_.empty()) return 1;
    return static_cast<std::int64_t>(pe.message_elements(pipelines_.front().send.front()) *
                                     numeric::size_of(pe.args().type));
  }
  /// When a PE's time slot on the links between SIPs begins: all PEs of a SIP share these links.
  [[nodiscard]] std::int64_t turn_of(std::uint32_t cube, std::uint32_t pe) const {
    const auto at = std::ranges::find(cubes_.members, cube) - cubes_.members.begin();
    const std::uint32_t position = around(cubes_.position, at, grid_.cubes);
    return turn_ * (std::int64_t{splits() ? pe / 2 : pe} * grid_.cubes + position);
  }
  [[nodiscard]] bundle bundle_of(std::uint32_t sip, std::uint32_t cube, std::uint32_t pe) const {
    if (joins_cube()) return {sip, cube, 0, grid_.pes};
    if (joins_pair() || splits()) return {sip, cube, pe - pe % 2, 2};
    return {sip, cube, pe, 1};
  }
  /// Hops that blocks of the member at `distance` of the ring over the SIPs go in direction `w`. In a pair
  /// that splits the SIPs each PE sends in one direction.
  [[nodiscard]] std::uint32_t sip_reach(std::int64_t distance, std::size_t w, std::uint32_t pe) const {
    if (!splits()) return sips_.reach(distance, w);
    if (w != pe % 2) return 0;
    return w == 0 ? (grid_.sips - 1) / 2 : grid_.sips / 2;
  }
  /// Block groups that a PE has after the ring over the SIPs.
  [[nodiscard]] std::vector<pass> after_sips(std::uint32_t cube, std::uint32_t pe) const {
    std::vector<pass> passes;
    if (!splits() || pe % 2 == 0) passes.push_back({bundle_of(own_.sip, cube, pe), 0});
    for (std::uint32_t hops = 1; hops <= grid_.sips / 2; ++hops) {
      for (std::size_t w = 0; w < 2; ++w) {
        const std::int64_t distance = -sign_ * ring_directions[w] * std::int64_t{hops};
        if (hops > sip_reach(distance, w, pe)) continue;
        passes.push_back({bundle_of(sips_.member(distance), cube, pe),
                          turn_of(cube, pe) + (hops - 1) * pass_of_sips_ + crossing_});
      }
    }
    return passes;
  }
  /// after_sips() when the blocks of a PE have been joined with those of its neighbors, of which the last one
  /// has the latest blocks.
  [[nodiscard]] std::vector<pass> joined(std::uint32_t cube, std::uint32_t pe) const {
    const std::uint32_t last = joins_cube() ? grid_.pes - 1 : joins_pair() ? pe | 1 : pe;
    std::vector<pass> passes = after_sips(cube, last);
    for (pass& l : passes) l.due += join_time();
    return passes;
  }
  /// Block groups that a PE of the own cube has after the ring over the cubes, but those of both in a pair.
  [[nodiscard]] std::vector<pass> after_cubes(std::uint32_t pe) const {
    std::vector<pass> passes = joined(own_.cube, pe);
    if (splits()) std::erase_if(passes, [&](const pass& l) { return l.what.sip == own_.sip; });
    for (std::uint32_t hops = 1; hops <= cubes_.most_hops(); ++hops) {
      for (std::size_t w = 0; w < 2; ++w) {
        const std::int64_t distance = -sign_ * ring_directions[w] * std::int64_t{hops};
        if (hops > cubes_.reach(distance, w)) continue;
        for (pass l : joined(cubes_.member(distance), pe)) {
          l.due += hops * cube_hop_;
          passes.push_back(l);
        }
      }
    }
    return passes;
  }
  [[nodiscard]] std::int64_t join_time() const {
    return joins_cube() ? pes_.most_hops() * pe_hop_ : joins_pair() ? pe_hop_ : 0;
  }

  void plan() {
    if (splits()) exchange_in_pair({{own_.sip, own_.cube, own_.pe}, -pe_hop_});
    plan_sips();
    if (joins_pair() || joins_cube()) join();
    go_round(cubes_, cube_hop_, [&](std::uint32_t cube) { return joined(cube, own_.pe); });
    if (joins_cube()) return;
    go_round(pes_, pe_hop_, [&](std::uint32_t pe) { return after_cubes(pe); });
    if (splits()) plan_own_pairs();
  }
  void send(std::size_t pipeline, std::int64_t due, const bundle& b) {
    table_.send(pipeline, due, grid_.rank_at(b.sip, b.cube, b.pe), b.blocks);
  }
  void receive(std::size_t pipeline, std::int64_t due, const bundle& b) {
    table_.receive(pipeline, due, grid_.rank_at(b.sip, b.cube, b.pe), b.blocks);
  }
  /// Passes every member's block groups to all others. passes_of(member): its groups and their times.
  template <typename PassesOf>
  void go_round(const own_ring& r, std::int64_t hop, const PassesOf& passes_of) {
    if (r.size() < 2) return;
    for (std::size_t w = 0; w < 2; ++w) {
      if (r.reach(0, w) == 0) continue;
      for (const pass& l : passes_of(r.member(0))) send(r.pipeline(w), l.due, l.what);
    }
    for (std::uint32_t hops = 1; hops <= r.most_hops(); ++hops) {
      for (std::size_t w = 0; w < 2; ++w) {
        const std::int64_t distance = -sign_ * ring_directions[w] * std::int64_t{hops};
        const std::uint32_t reach = r.reach(distance, w);
        if (hops > reach) continue;
        for (const pass& l : passes_of(r.member(distance))) {
          receive(r.pipeline(w), l.due + (hops - 1) * hop, l.what);
          if (hops < reach) send(r.pipeline(w), l.due + hops * hop, l.what);
        }
      }
    }
  }
  void plan_sips() {
    if (grid_.sips < 2) return;
    const std::int64_t turn = turn_of(own_.cube, own_.pe);
    for (std::size_t w = 0; w < 2; ++w) {
      if (sip_reach(0, w, own_.pe) > 0) send(sips_.pipeline(w), turn, bundle_at_sips(own_.sip));
      for (std::uint32_t hops = 1; hops <= grid_.sips / 2; ++hops) {
        const std::int64_t distance = -sign_ * ring_directions[w] * std::int64_t{hops};
        const std::uint32_t reach = sip_reach(distance, w, own_.pe);
        if (hops > reach) continue;
        const bundle b = bundle_at_sips(sips_.member(distance));
        receive(sips_.pipeline(w), turn + (hops - 1) * pass_of_sips_, b);
        if (hops < reach) send(sips_.pipeline(w), turn + hops * pass_of_sips_, b);
      }
    }
  }
  /// Block groups that are sent between SIPs: single blocks if they are joined later.
  [[nodiscard]] bundle bundle_at_sips(std::uint32_t sip) const {
    if (splits()) return bundle_of(sip, own_.cube, own_.pe);
    return {sip, own_.cube, own_.pe, 1};
  }
  void exchange_in_pair(const pass& own) {
    bundle other = own.what;
    other.pe ^= 1;
    send(pair_.pipeline(0), own.due, own.what);
    receive(pair_.pipeline(0), own.due, other);
  }
  /// Joins blocks, those of one SIP after the other.
  void join() {
    const auto of = [&](std::uint32_t pe) {
      std::vector<pass> passes = after_sips(own_.cube, pe);
      for (pass& l : passes) l.what = {l.what.sip, own_.cube, pe, 1};
      return passes;
    };
    if (joins_cube()) {
      go_round(pes_, pe_hop_, of);
    } else {
      for (const pass& l : of(own_.pe)) exchange_in_pair(l);
    }
  }
  /// The block groups of the own cube that both PEs of a pair have: each sends them to the PEs that follow it
  /// on the ring, up to the other.
  void plan_own_pairs() {
    const std::uint32_t n = pes_.size();
    const auto hops_from = [&](std::uint32_t pe) {
      const auto at = std::ranges::find(pes_.members, pe) - pes_.members.begin();
      return around(0, -sign_ * at, n);
    };
    const std::uint32_t next = pes_.member(sign_);
    for (std::uint32_t pe = 0; pe < grid_.pes; pe += 2) {
      const bundle b = bundle_of(own_.sip, own_.cube, pe);
      const std::uint32_t hops = std::min(hops_from(pe), hops_from(pe + 1));
      if (hops > 0) receive(pes_.pipeline(0), (hops - 1) * pe_hop_, b);
      if (next / 2 != pe / 2) send(pes_.pipeline(0), hops * pe_hop_, b);
    }
  }

  /// All PEs of a SIP share the links to other SIPs. Blocks that were sent at once would queue for these
  /// links and block packets of the rings within the SIP. So each PE has a time slot, by the bytes that have
  /// arrived on the last ring. The other rings need no rate limit (docs/adr/0061).
  void set_paces() {
    const bool by_cubes = joins_cube() || pes_.size() < 2;
    const own_ring& last = by_cubes ? cubes_ : pes_;
    if (last.size() < 2) return;
    const std::int64_t ahead = by_cubes ? cube_hop_ : pe_hop_;
    for (std::size_t w = 0; w < sips_.pipelines(); ++w)
      table_.pace(pipelines_, sips_.first_pipeline + w, last.first_pipeline, ahead);
  }

  const block_vector& v_;
  level_schedule table_;
  std::int64_t sign_;
  comm::level_bundle together_;
  comm::level_grid grid_;
  bundle own_;
  own_ring sips_, cubes_, pair_, pes_;
  pipelines pipelines_;
  /// Times of the schedule: a hop between PEs and between cubes, a crossing between SIPs, a PE's time slot
  /// for that, and all time slots.
  std::int64_t pe_hop_{}, cube_hop_{}, crossing_{}, turn_{}, pass_of_sips_{};
};

void run_all_gather(pe_context& pe) {
  const block_vector v = gathered_in_output(pe);
  pe.last_stream(level_blocks(pe, v, purpose::gathers).all(), "all_gather");
}

void run_reduce_scatter(pe_context& pe) {
  const block_vector v = scattered_from_input(pe);
  pe.last_stream(level_blocks(pe, v, purpose::reduces).all(), "reduce_scatter");
  deliver_own_sum(pe, v);
}

/// Every block is summed at its owner, in one order, and then copied.
void run_all_reduce(pe_context& pe) {
  const block_vector v = reduced_in_output(pe);
  pe.stream(level_blocks(pe, v, purpose::reduces).all(), "reduce_scatter");
  pe.finish_average(v.block(pe.args().rank));
  pe.last_stream(level_blocks(pe, v, purpose::gathers).all(), "all_gather");
}

const comm::level_rings& rings_of(const argument_context& c) {
  return c.memo.get<comm::level_rings>([&c] { return comm::level_rings(pattern_context_of(c)); });
}

/// Count of numbers in the image: cubes, PEs, and a half of them.
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
  const comm::level_bundle bundle = comm::level_bundle_of(c.config, g, vector_bytes(c));
  a.own.set(parameters{g, static_cast<std::uint32_t>(bundle)});
  fill_scatter(image_words(c), a);
}

}  // namespace three_level_kernel

kernel_table three_level_kernels() {
  using namespace three_level_kernel;
  return {{"three_level", "all_reduce",
           "reduce-scatter and all-gather on rings within the cubes, between them and between SIPs",
           "three_level_rings", pe_ranks, run_all_reduce, gather_scratch, fill, image},
          {"three_level", "all_gather",
           "rings within the cubes, between them and between SIPs, for every position", "three_level_rings",
           pe_ranks, run_all_gather, gather_scratch, fill, image},
          {"three_level", "reduce_scatter",
           "rings within the cubes, between them and between SIPs, for every position", "three_level_rings",
           pe_ranks, run_reduce_scatter, reduce_scratch, fill, image}};
}

}  // namespace diecast::sw
