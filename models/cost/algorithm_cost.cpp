// SPDX-License-Identifier: Apache-2.0
#include "models/cost/algorithm_cost.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "models/comm/line_steps.hpp"
#include "models/comm/member_levels.hpp"
#include "models/comm/network_tree.hpp"
#include "models/comm/packed_trees.hpp"
#include "models/comm/rank_grid.hpp"
#include "models/comm/trees.hpp"
#include "models/comm/two_level.hpp"
#include "models/cost/cuts.hpp"
#include "models/cost/staging.hpp"
#include "models/cost/step_cost.hpp"
#include "models/cost/tree_cost.hpp"
#include "models/types/error.hpp"

namespace diecast::cost {
namespace {

using comm::collective;
using exchange = step_cost::exchange;

/// Ranks looked at per step: steps of partners are alike all over the machine.
constexpr std::uint32_t samples = 32;
constexpr std::uint64_t shortest_element = 2;  ///< bytes; a request does not say its type
constexpr unsigned half_registers = 5;         ///< read at the first use of a queue pair's half
constexpr unsigned pair_registers = 6;         ///< of both halves

class algorithms {
 public:
  algorithms(const fabric::topology& t, const config::machine_config& c, const bound_request& r)
      : t_(t),
        c_(c),
        r_(r),
        step_(t, c),
        wires_(c),
        p_(static_cast<std::uint32_t>(r.ranks.members.size())),
        n_(static_cast<double>(r.bytes)) {}

  using formula = estimate (algorithms::*)() const;
  static const std::map<std::pair<collective, std::string>, formula>& table();

 private:
  [[nodiscard]] pe_coord at(std::uint32_t rank) const { return r_.ranks.members[rank]; }
  [[nodiscard]] double d(std::uint64_t v) const { return static_cast<double>(v); }
  [[nodiscard]] double part(double parts) const { return n_ / parts; }
  /// What every kernel does at its end: a look whether sources were read, and at the event register.
  [[nodiscard]] double end_ns() const { return 2 * step_.register_ns(); }

  using peer_fn = std::function<std::optional<std::uint32_t>(std::uint32_t)>;
  /// The dearest of an exchange of every rank with its peer; ranks without one take no part.
  [[nodiscard]] double dearest(const peer_fn& peer, const exchange& e) const {
    double most = 0;
    const std::uint32_t stride = std::max<std::uint32_t>(1, p_ / samples);
    for (std::uint32_t r = 0; r < p_; r += stride) {
      const auto other = peer(r);
      if (other && *other != r) most = std::max(most, step_.exchange_ns(at(r), at(*other), e));
    }
    return most;
  }
  /// The mean over the edges of the ring: word goes round it, over every edge.
  [[nodiscard]] double mean_on_ring(const exchange& e) const {
    const std::vector<std::uint32_t> order = comm::ring_order(t_.shape(), r_.ranks);
    double sum = 0;
    std::uint32_t edges = 0;
    const std::uint32_t stride = std::max<std::uint32_t>(1, p_ / 256);
    for (std::uint32_t i = 0; i < p_; i += stride, ++edges)
      sum += step_.exchange_ns(at(order[i]), at(order[(i + 1) % p_]), e);
    return sum / edges;
  }
  /// Payload at the rate of a rank's network interface.
  [[nodiscard]] double interface_ns(double bytes) const {
    return bytes * wires_.wire_bytes_per_byte() / wires_.noc_gbytes_s();
  }
  /// The dearest cut when every rank sends `bytes` to every other.
  [[nodiscard]] double all_pairs_ns(double bytes) const {
    double most = interface_ns(bytes * (p_ - 1.0));
    for (const cut& c : cuts_of(t_, c_, r_.ranks, 0)) {
      const double crossing = bytes * d(c.ranks) * (d(p_) - d(c.ranks)) * wires_.wire_bytes_per_byte();
      most = std::max(most, crossing / std::min(c.out_gbytes_s, c.in_gbytes_s));
    }
    return most;
  }
  /// The dearest cut when every rank beyond it swaps `bytes` over it.
  [[nodiscard]] double halves_ns(double bytes) const {
    double most = interface_ns(bytes);
    for (const cut& c : cuts_of(t_, c_, r_.ranks, 0)) {
      if (2 * c.ranks != p_) continue;
      most = std::max(most, bytes * d(c.ranks) * wires_.wire_bytes_per_byte() / c.out_gbytes_s);
    }
    return most;
  }

  // --- rings ------------------------------------------------------------------------------------

  [[nodiscard]] estimate ring_steps(double passes, unsigned lanes, bool reduces) const {
    // A long segment hides the way of its first slot: a step is as long as its slots take, or as the way.
    const double bytes = part(d(p_) * lanes);
    const double slot = std::min(bytes, step_.slot_bytes());
    const exchange e{slot, reduces, lanes, true, true};
    const exchange copy{slot, false, lanes, true, true};
    const double steps = p_ - 1.0;
    const double slots = std::ceil(bytes / step_.slot_bytes());
    const auto step_ns = [&](const exchange& one) {
      return std::max(mean_on_ring(one), slots * step_.slot_interval_ns(at(0), at(1), one));
    };
    double ns = step_.first_use_ns(lanes > 1 ? 2 * pair_registers : 2 * half_registers - 1) + end_ns();
    // Two looks before the first message. Once the free slots are used up, every message needs a look at them
    // and one at what has come.
    const double messages = passes * steps * slots;
    ns += (2 + 2 * std::max(0.0, messages - d(c_.ipcq.n_slots))) * step_.register_ns();
    ns += steps * step_ns(reduces ? e : copy);
    if (passes > 1) ns += steps * step_ns(copy);
    return {ns, interface_ns(passes * steps * part(d(p_)))};
  }
  [[nodiscard]] estimate ring_1d() const { return ring_steps(2, 2, true); }
  [[nodiscard]] estimate ring_1d_unidir() const { return ring_steps(2, 1, true); }
  [[nodiscard]] estimate ring_reduce_scatter() const { return ring_steps(1, 2, true); }
  [[nodiscard]] estimate ring_all_gather() const { return ring_steps(1, 2, false); }
  [[nodiscard]] estimate ring_full_tile() const {
    const double steps = p_ - 1.0;
    const double one = mean_on_ring({n_, false}) + step_.vector_ns(n_, true);
    return {steps * one + 2 * step_.vector_ns(n_, false), interface_ns(steps * n_)};
  }

  // --- partners ---------------------------------------------------------------------------------

  /// Giving the vector to the holder and getting the result back, where some ranks fold.
  [[nodiscard]] double fold_ns(const comm::fold& f) const {
    if (f.active == p_) return 0;
    const auto holder = [&](std::uint32_t r) -> std::optional<std::uint32_t> { return f.folded_into(r, p_); };
    double dearest_pair = 0;
    for (std::uint32_t r = 0; r < p_ - f.active; ++r) {
      dearest_pair =
          std::max(dearest_pair, step_.exchange_ns(at(*holder(r)), at(r), {n_, true, 1, false}) +
                                     step_.exchange_ns(at(r), at(*holder(r)), {n_, false, 1, false}));
    }
    return dearest_pair;
  }
  [[nodiscard]] peer_fn bit_peer(std::uint32_t s, std::uint32_t active) const {
    return [s, active](std::uint32_t r) -> std::optional<std::uint32_t> {
      if (r >= active) return std::nullopt;
      return r ^ (1U << s);
    };
  }
  [[nodiscard]] estimate recursive_doubling() const {
    const comm::fold f = comm::fold_to_power_of_two(p_);
    double ns = fold_ns(f) + end_ns();
    for (std::uint32_t s = 0; s < f.steps; ++s) {
      // What comes is added to what was sent: whether that has been read is one more look.
      ns += step_.first_use_ns(pair_registers) + dearest(bit_peer(s, f.active), {n_}) + step_.register_ns();
    }
    return {ns, interface_ns(n_ * f.steps) + halves_ns(n_)};
  }
  [[nodiscard]] double halving(const comm::fold& f, const std::function<peer_fn(std::uint32_t)>& peer,
                               bool reduce, bool gather) const {
    double ns = fold_ns(f) + end_ns();
    double bytes = n_;
    for (std::uint32_t s = 0; s < f.steps; ++s) {
      bytes /= 2;
      ns += step_.first_use_ns(pair_registers);
      if (reduce) ns += dearest(peer(s), {bytes});
      if (gather) ns += dearest(peer(s), {bytes, false});
    }
    return ns;
  }
  [[nodiscard]] estimate rabenseifner() const {
    const comm::fold f = comm::fold_to_power_of_two(p_);
    const double wires =
        interface_ns(2 * n_ * (f.active - 1.0) / f.active) + 2 * halves_ns(part(d(f.active)));
    return {halving(
                f, [&](std::uint32_t s) { return bit_peer(s, f.active); }, true, true),
            wires};
  }
  [[nodiscard]] estimate swing() const {
    const comm::fold f = comm::fold_to_even(p_);
    const auto peer = [this, f](std::uint32_t s) -> peer_fn {
      return [s, f](std::uint32_t r) -> std::optional<std::uint32_t> {
        if (r >= f.active) return std::nullopt;
        return comm::swing_peer(r, s, f.active);
      };
    };
    // Parts of other than a power of two are messages of their own.
    const double scattered =
        std::has_single_bit(f.active)
            ? 0
            : 2.0 * f.active * (step_.send_ns() + step_.take_ns(part(d(f.active)), true));
    const double wires = interface_ns(2 * n_ * (f.active - 1.0) / f.active) + 2 * halves_ns(part(4));
    return {halving(f, peer, true, true) + scattered, wires};
  }

  // --- trees ------------------------------------------------------------------------------------

  /// One chunk up and down: over `depth` edges, at inner nodes `children` messages taken and sent.
  struct tree_shape {
    std::uint32_t depth{};
    std::uint32_t children{};
    double bytes{};
    unsigned trees{1};
  };
  [[nodiscard]] double chunks_of(double bytes, std::uint32_t depth) const {
    const auto whole = static_cast<std::uint64_t>(bytes);
    return d(comm::chunks_on_pipeline(c_, whole, whole / shortest_element, depth));
  }
  [[nodiscard]] double on_tree(const tree_shape& tree, const peer_fn& parent) const {
    const double k = chunks_of(tree.bytes, tree.depth);
    const double chunk = tree.bytes / k;
    const double slot = std::min(chunk, step_.slot_bytes());
    const double up = dearest(parent, {chunk, true, 1, false});
    const double down = dearest(parent, {chunk, false, 1, false});
    const double more = tree.children - 1.0;
    const double slots = std::ceil(chunk / step_.slot_bytes());
    const double others = more * slots * (step_.take_ns(slot, true) + step_.send_ns() + step_.register_ns());
    const double busy =
        slots * (tree.children * (step_.take_ns(slot, true) + step_.send_ns()) + step_.take_ns(slot, false) +
                 step_.send_ns() + 4 * step_.wake_ns() + 4 * step_.task_switch_ns());
    return tree.depth * (up + down + others) + (k - 1) * busy * tree.trees +
           tree.depth * tree.children * step_.first_use_ns(pair_registers) + end_ns();
  }
  [[nodiscard]] static peer_fn parent_of(comm::tree_node (*tree)(std::uint32_t, std::uint32_t),
                                         std::uint32_t ranks) {
    return [tree, ranks](std::uint32_t r) -> std::optional<std::uint32_t> { return tree(r, ranks).parent; };
  }
  [[nodiscard]] estimate tree_binary() const {
    return {on_tree({comm::depth_of_binary(p_), 2, n_, 1}, parent_of(comm::binary_tree, p_)),
            interface_ns(3 * n_)};
  }
  [[nodiscard]] estimate double_binary_tree() const {
    return {on_tree({comm::depth_of_binary(p_) + 1, 2, n_ / 2, 2}, parent_of(comm::in_order_tree, p_)),
            interface_ns(2 * n_)};
  }
  [[nodiscard]] estimate p2p_tree() const {
    const std::uint32_t depth = comm::depth_of_binomial(p_);
    return {on_tree({depth, 1, n_, 1}, parent_of(comm::binomial_tree, p_)), interface_ns(depth * n_)};
  }

  // --- everybody at once ------------------------------------------------------------------------

  /// One message to and one from each of the others.
  [[nodiscard]] double to_all(double bytes, bool reduces) const {
    const double slot = std::min(bytes, step_.slot_bytes());
    const double slots = std::ceil(bytes / step_.slot_bytes());
    const double far = dearest([this](std::uint32_t r) { return std::optional((r + p_ / 2) % p_); },
                               {bytes, reduces, 1, false});
    const double busy = step_.send_ns() + step_.take_ns(slot, reduces) + step_.wake_ns() +
                        step_.task_switch_ns() + 2 * step_.register_ns();
    return far + (p_ - 2.0) * slots * busy;
  }
  [[nodiscard]] double touch_all() const { return step_.first_use_ns(pair_registers * (p_ - 1)); }
  [[nodiscard]] estimate direct_one_shot() const {
    return {touch_all() + to_all(n_, true) + step_.vector_ns(n_, false) * 2 + end_ns(), all_pairs_ns(n_)};
  }
  [[nodiscard]] estimate direct_two_shot() const {
    const double own = part(d(p_));
    return {touch_all() + to_all(own, true) + to_all(own, false) + end_ns(), 2 * all_pairs_ns(own)};
  }
  [[nodiscard]] estimate pairwise() const {
    const double own = part(d(p_));
    const double far = dearest([this](std::uint32_t r) { return std::optional((r + p_ / 2) % p_); },
                               {own, r_.what == collective::reduce_scatter});
    return {touch_all() + (p_ - 1.0) * far + end_ns(), all_pairs_ns(own)};
  }
  [[nodiscard]] estimate direct() const {
    const double own = part(d(p_));
    return {touch_all() + to_all(own, false) + end_ns(), all_pairs_ns(own)};
  }
  /// A step for every rank, as long as its slots take in the firmware or on the wire, or as the way of the
  /// first one where blocks are too short to cover it with the steps that go ahead.
  [[nodiscard]] estimate mesh_steps() const {
    constexpr double ahead = comm::most_steps_ahead + 1;
    const double own = part(d(p_));
    const double slot = std::min(own, step_.slot_bytes());
    const double slots = std::ceil(own / step_.slot_bytes());
    const double far = dearest([this](std::uint32_t r) { return std::optional((r + p_ / 2) % p_); },
                               {slot, false, 1, false});
    const double busy = slots * (step_.send_ns() + step_.take_ns(slot, false) + 2 * step_.register_ns());
    const double steps = p_ - 1.0;
    return {touch_all() + far + steps * std::max({busy, interface_ns(own), far / ahead}) + end_ns(),
            all_pairs_ns(own)};
  }
  /// Rounds of distance 1, 2, 4, ... with `bytes(round)` each.
  [[nodiscard]] double rounds(const std::function<double(double)>& bytes, bool reduces) const {
    double ns = end_ns();
    for (std::uint32_t far = 1; far < p_; far *= 2) {
      ns += step_.first_use_ns(2 * half_registers) +
            dearest([this, far](std::uint32_t r) { return std::optional((r + far) % p_); },
                    {bytes(far), reduces});
    }
    return ns;
  }
  [[nodiscard]] estimate bruck_all_gather() const {
    const auto bytes = [this](double far) { return std::min(far, p_ - far) * part(d(p_)); };
    return {rounds(bytes, false) + step_.vector_ns(n_, false), 2 * halves_ns(n_ / 2)};
  }
  [[nodiscard]] estimate recursive_halving() const {
    const auto bytes = [this](double far) { return std::min(far, p_ - far) * part(d(p_)); };
    return {rounds(bytes, true) + step_.vector_ns(n_, false), 2 * halves_ns(n_ / 2)};
  }
  [[nodiscard]] estimate bruck_all_to_all() const {
    const double each = n_ / 2;
    const double many = std::bit_width(p_ - 1U);
    return {rounds([each](double) { return each; }, false) + 2 * many * step_.vector_ns(each, false),
            many * halves_ns(each)};
  }

  // --- grids and levels -------------------------------------------------------------------------

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
    return {ns, interface_ns(2 * n_ * (p_ - 1.0) / p_)};
  }
  [[nodiscard]] estimate mesh_2d() const { return grid(false); }
  [[nodiscard]] estimate torus_2d() const { return grid(true); }

  /// Hops of the whole vector towards leaders and back, at most two messages taken per hop.
  [[nodiscard]] double level(std::uint32_t size, const pe_coord& a, const pe_coord& b) const {
    if (size < 2) return 0;
    const double hops = std::ceil((size - 1) / 2.0);
    const double both =
        step_.exchange_ns(a, b, {n_, true, 1, false}) + step_.exchange_ns(b, a, {n_, false, 1, false});
    const double slots = std::ceil(n_ / step_.slot_bytes());
    return hops * both + (size > 2 ? slots * step_.take_ns(std::min(n_, step_.slot_bytes()), true) : 0);
  }
  /// The largest ring of each level sets the pace of it.
  [[nodiscard]] double levels() const {
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
    if (members.most_pes > 1) ns += level(members.most_pes, (*most_pes)[0], (*most_pes)[1]);
    if (members.most_cubes > 1)
      ns += level(members.most_cubes, (*most_cubes)[0].pes[0], (*most_cubes)[1].pes[0]);
    const auto sips = static_cast<std::uint32_t>(members.sips.size());
    if (sips > 1) ns += level(sips, members.sips[0].cubes[0].pes[0], members.sips[1].cubes[0].pes[0]);
    return ns;
  }
  [[nodiscard]] estimate hierarchical_3level() const { return {levels(), interface_ns(3 * n_)}; }
  [[nodiscard]] estimate hierarchical_pipelined() const {
    const double k = chunks_of(n_, comm::member_levels(t_.shape(), r_.ranks).hops());
    const double slot = std::min(n_ / k, step_.slot_bytes());
    const double busy = std::ceil(n_ / k / step_.slot_bytes()) *
                        (3 * step_.take_ns(slot, true) + 3 * step_.send_ns() + 6 * step_.wake_ns());
    return {levels() / k + (k - 1) * busy, interface_ns(3 * n_)};
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

  // --- rings within SIPs and between them -------------------------------------------------------

  /// A lap of blocks that go half way round each way: as many steps as the farthest goes, each the mean way
  /// over the ring's edges, or as many slots as a member passes on each way.
  [[nodiscard]] double half_lap(const std::vector<pe_coord>& ring, const exchange& e) const {
    if (ring.size() < 2) return 0;
    exchange first = e;
    first.bytes = std::min(e.bytes, step_.slot_bytes());
    double ways = 0;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      ways += step_.exchange_ns(ring[i], ring[(i + 1) % ring.size()], first);
    }
    const double slots = (d(ring.size()) - 1) / 2 * std::ceil(e.bytes / step_.slot_bytes());
    return std::max(d(ring.size() / 2) * ways / d(ring.size()),
                    slots * step_.slot_interval_ns(ring[0], ring[1], first));
  }
  /// As many laps of the row as there are rows, and one of the column, whose every step needs a lap or feeds
  /// one.
  [[nodiscard]] double two_level_pass(const comm::sip_rows& g, bool reduces) const {
    std::vector<pe_coord> row, column;
    for (const std::uint32_t place : comm::row_ring({c_, t_.shape(), r_.ranks}, g, 0)) {
      row.push_back(at(g.rank_at(0, place)));
    }
    for (std::uint32_t s = 0; s < g.rows; ++s) column.push_back(at(g.rank_at(s, 0)));
    const exchange e{part(p_), reduces, 2, true, true};
    const double lap = half_lap(row, e);
    return lap + std::max((g.rows - 1.0) * lap, half_lap(column, e));
  }
  /// What the cuts let through: over those between SIPs columns go, over those within SIPs rows.
  [[nodiscard]] double two_level_wires(const comm::sip_rows& g, double passes) const {
    double most = interface_ns(passes * n_ * (p_ - 1.0) / p_);
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
  [[nodiscard]] estimate two_level() const {
    const comm::sip_rows g = comm::sip_rows_of(r_.ranks);
    return {two_level_pass(g, true) + two_level_pass(g, false) + two_level_ends(g), two_level_wires(g, 2)};
  }
  [[nodiscard]] estimate two_level_once() const {
    const comm::sip_rows g = comm::sip_rows_of(r_.ranks);
    const bool reduces = r_.what == collective::reduce_scatter;
    return {two_level_pass(g, reduces) + two_level_ends(g), two_level_wires(g, 1)};
  }

  // --- one to all, all to one -------------------------------------------------------------------

  [[nodiscard]] estimate chain() const {
    const exchange e{n_ / 2, r_.what == collective::reduce, 2};
    const double slot = std::min(e.bytes, step_.slot_bytes());
    const double hop = mean_on_ring({slot, e.reduces, 2});
    const double slots = std::ceil(e.bytes / step_.slot_bytes());
    return {(p_ - 1) * hop + (slots - 1) * step_.slot_interval_ns(at(0), at(1 % p_), e) + end_ns(),
            interface_ns(n_)};
  }
  [[nodiscard]] estimate binomial() const {
    double ns = end_ns();
    for (std::uint32_t far = 1; far < p_; far *= 2) {
      ns += step_.first_use_ns(half_registers) +
            dearest([this, far](std::uint32_t r) { return std::optional((r + far) % p_); },
                    {n_, r_.what == collective::reduce, 1, false});
    }
    return {ns, interface_ns(n_ * std::bit_width(p_ - 1U))};
  }

  /// Half of the vector down each of two trees, slot by slot.
  [[nodiscard]] estimate broadcast_trees() const {
    const double slot = std::min(n_ / 2, step_.slot_bytes());
    const double depth = std::bit_width(p_ - 1U) + 1.0;
    const double hop = dearest([this](std::uint32_t r) { return std::optional((r + p_ / 2) % p_); },
                               {slot, false, 1, true, true});
    const double slots = std::ceil(n_ / 2 / step_.slot_bytes());
    const double busy = 2 * (step_.take_ns(slot, false) + step_.send_ns() + step_.register_ns());
    return {depth * hop + (slots - 1) * busy + step_.first_use_ns(4 * half_registers) + end_ns(),
            interface_ns(n_)};
  }

  /// The same down trees of neighbors; the last slot goes in halves. The core is faster than the wire.
  [[nodiscard]] estimate packed_trees() const {
    const comm::packed_trees plan({c_, t_.shape(), r_.ranks, r_.root});
    const double depth = std::max(plan.depth(0), plan.depth(1));
    const double piece = std::min(n_ / 2, step_.slot_bytes() / 2);
    const double hop = mean_on_ring({piece, false, 2});
    const double slots = std::ceil(n_ / 2 / step_.slot_bytes());
    const double slot = std::min(n_ / 2, step_.slot_bytes());
    const double busy = 2 * (step_.hold_ns(slot) + step_.send_ns() + step_.register_ns());
    return {depth * hop + (slots - 1) * std::max(busy, interface_ns(2 * slot)) +
                step_.first_use_ns(4 * half_registers) + end_ns(),
            interface_ns(n_)};
  }

  // --- in the network ---------------------------------------------------------------------------

  [[nodiscard]] estimate multicast() const { return tree_cost(t_, c_, r_, r_.root).multicast(); }
  [[nodiscard]] estimate reduction() const { return tree_cost(t_, c_, r_, r_.root).reduction(); }
  [[nodiscard]] estimate up_and_down() const {
    return tree_cost(t_, c_, r_, comm::central_rank(t_.shape(), r_.ranks)).both();
  }

  const fabric::topology& t_;
  const config::machine_config& c_;
  const bound_request& r_;
  step_cost step_;
  wire_rates wires_;
  std::uint32_t p_;
  double n_;
};

const std::map<std::pair<collective, std::string>, algorithms::formula>& algorithms::table() {
  using a = algorithms;
  static const std::map<std::pair<collective, std::string>, formula> all{
      {{collective::all_reduce, "ring_1d"}, &a::ring_1d},
      {{collective::all_reduce, "ring_1d_unidir"}, &a::ring_1d_unidir},
      {{collective::all_reduce, "ring_full_tile"}, &a::ring_full_tile},
      {{collective::all_reduce, "intercube"}, &a::intercube},
      {{collective::all_reduce, "mesh_2d"}, &a::mesh_2d},
      {{collective::all_reduce, "torus_2d"}, &a::torus_2d},
      {{collective::all_reduce, "tree_binary"}, &a::tree_binary},
      {{collective::all_reduce, "double_binary_tree"}, &a::double_binary_tree},
      {{collective::all_reduce, "p2p_tree"}, &a::p2p_tree},
      {{collective::all_reduce, "hierarchical_3level"}, &a::hierarchical_3level},
      {{collective::all_reduce, "hierarchical_pipelined"}, &a::hierarchical_pipelined},
      {{collective::all_reduce, "recursive_doubling"}, &a::recursive_doubling},
      {{collective::all_reduce, "rabenseifner"}, &a::rabenseifner},
      {{collective::all_reduce, "swing"}, &a::swing},
      {{collective::all_reduce, "direct_one_shot"}, &a::direct_one_shot},
      {{collective::all_reduce, "direct_two_shot"}, &a::direct_two_shot},
      {{collective::all_reduce, "two_level"}, &a::two_level},
      {{collective::reduce_scatter, "two_level"}, &a::two_level_once},
      {{collective::all_gather, "two_level"}, &a::two_level_once},
      {{collective::reduce_scatter, "ring_1d"}, &a::ring_reduce_scatter},
      {{collective::reduce_scatter, "recursive_halving"}, &a::recursive_halving},
      {{collective::reduce_scatter, "pairwise"}, &a::pairwise},
      {{collective::all_gather, "ring_1d"}, &a::ring_all_gather},
      {{collective::all_gather, "bruck"}, &a::bruck_all_gather},
      {{collective::all_to_all, "pairwise"}, &a::pairwise},
      {{collective::all_to_all, "direct"}, &a::direct},
      {{collective::all_to_all, "bruck"}, &a::bruck_all_to_all},
      {{collective::all_to_all, "mesh_steps"}, &a::mesh_steps},
      {{collective::broadcast, "ring_1d"}, &a::chain},
      {{collective::broadcast, "binomial"}, &a::binomial},
      {{collective::broadcast, "double_binary_tree"}, &a::broadcast_trees},
      {{collective::broadcast, "packed_trees"}, &a::packed_trees},
      {{collective::reduce, "ring_1d"}, &a::chain},
      {{collective::reduce, "binomial"}, &a::binomial},
      {{collective::broadcast, "multicast"}, &a::multicast},
      {{collective::reduce, "in_network"}, &a::reduction},
      {{collective::all_reduce, "in_network"}, &a::up_and_down},
  };
  return all;
}

/// Chunk after chunk: the first comes in and the last goes out alone, the others while one is worked on, over
/// the same network interface.
estimate on_chunks(const config::machine_config& c, const bound_request& r,
                   const std::function<estimate(std::uint64_t)>& of_chunk) {
  const auto ranks = static_cast<std::uint32_t>(r.ranks.members.size());
  const std::uint64_t chunk = expected_chunk_bytes(c, ranks, r.bytes);
  const double chunks = std::ceil(static_cast<double>(r.bytes) / static_cast<double>(chunk));
  const wire_rates rates(c);
  staged_wire busiest;
  double in = 0, out = 0;  // of the rank that takes longest
  for (const bool root : {true, false}) {
    const staged_bytes b = staged_bytes_of(r.what, static_cast<double>(chunk), ranks, root);
    const staged_wire wire = staged_wire_of(c, b);
    in = std::max(in, b.read * rates.copy_bytes_per_byte() / rates.noc_gbytes_s());
    out = std::max(out, b.written * rates.copy_bytes_per_byte() / rates.noc_gbytes_s());
    busiest = {std::max(busiest.in, wire.in), std::max(busiest.out, wire.out)};
  }
  const double beside = std::max(busiest.in, busiest.out) / rates.noc_gbytes_s();
  const estimate one = of_chunk(chunk);
  return {in + chunks * one.steps_ns + out, in + chunks * (one.wires_ns + beside) + out};
}

}  // namespace

std::optional<estimate> estimate_of(const fabric::topology& t, const config::machine_config& c,
                                    const bound_request& r, const std::string& algorithm) {
  const auto found = algorithms::table().find({r.what, algorithm});
  if (found == algorithms::table().end()) return std::nullopt;
  const bool tree = algorithm == "multicast" || algorithm == "in_network";
  const bool sums = algorithm == "in_network";
  if (tree && (!c.noc.multicast || (sums && !c.noc.reduce))) return std::nullopt;  // no such routers here
  if (r.ranks.members.size() < 2) return estimate{};
  const auto of_bytes = [&](std::uint64_t bytes) {
    bound_request part = r;
    part.bytes = bytes;
    const algorithms a(t, c, part);
    return (a.*found->second)();
  };
  if (!has_hbm_tensors(c, r.what) || r.bytes == 0) return of_bytes(r.bytes);
  return on_chunks(c, r, of_bytes);
}

}  // namespace diecast::cost
