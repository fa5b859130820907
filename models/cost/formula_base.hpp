// SPDX-License-Identifier: Apache-2.0
// What the formulas of algorithms (algorithm_cost.hpp) share, and the tables of them by family.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/cost/algorithm_cost.hpp"
#include "models/cost/link_loads.hpp"
#include "models/cost/real.hpp"
#include "models/cost/step_cost.hpp"
#include "models/cost/wire_rates.hpp"

namespace diecast::cost {

inline constexpr std::uint64_t shortest_element = 2;  ///< bytes; a request does not say its type

/// A request of two ranks or more on a machine, and the terms that formulas are made of. ns.
class formula_base {
 public:
  formula_base(const fabric::topology& t, const config::machine_config& c, const bound_request& r);

 protected:
  using exchange = step_cost::exchange;
  /// The rank that a rank meets, if any.
  using peer_fn = std::function<std::optional<std::uint32_t>(std::uint32_t)>;

  [[nodiscard]] pe_coord at(std::uint32_t rank) const { return r_.ranks.members[rank]; }
  [[nodiscard]] double part(double parts) const { return n_ / parts; }
  /// What every kernel does at its end: a look whether sources were read, and at the event register.
  [[nodiscard]] double end_ns() const { return 2 * step_.register_ns(); }
  /// The dearest of an exchange of every rank with its peer; ranks without one take no part.
  [[nodiscard]] double dearest(const peer_fn& peer, const exchange& e) const;
  /// The mean over the edges of the ring: word goes round it, over every edge.
  [[nodiscard]] double mean_on_ring(const exchange& e) const;
  /// Between slots on the ring's slowest edge. Everything that goes round comes over it, and credits of a
  /// long edge may come later than the slots before and behind it need.
  [[nodiscard]] double slowest_on_ring(const exchange& e) const;
  [[nodiscard]] double slowest_on_ring(const std::vector<pe_coord>& ring, const exchange& e) const;
  /// `messages` of as many bytes to others and from them at once, the way of one being `far`.
  [[nodiscard]] double at_once_ns(double far, double messages, double bytes, bool reduces) const;
  /// Payload at the rate of a rank's network interface.
  [[nodiscard]] double interface_ns(double bytes) const;
  /// The dearest cut when every rank sends `bytes` to every other.
  [[nodiscard]] double all_pairs_ns(double bytes) const;
  /// The same where nothing keeps their messages apart: all at once, or in rounds of any partners. Where
  /// steps would fill a link (comm::step_timetable) messages of a slot and more meet, and hold up what is
  /// behind them.
  [[nodiscard]] double all_pairs_at_once_ns(double bytes) const;
  /// As many bytes over each of some ways at once: the link that takes longest, or the dearest cut where ways
  /// are too many to be traced.
  using way = link_loads::way;
  [[nodiscard]] double ways_ns(const std::vector<way>& ways, double bytes) const;
  /// Every rank that has a peer to it.
  [[nodiscard]] double peers_ns(const peer_fn& peer, double bytes) const;
  /// Round rings of ranks, over every edge of each, one way or both.
  [[nodiscard]] double laps_ns(const std::vector<std::vector<std::uint32_t>>& rings, double bytes,
                               bool both_ways) const;
  /// Chunks of `bytes` on a pipeline of `depth` messages in a row.
  [[nodiscard]] double chunks_of(double bytes, std::uint32_t depth) const;

  const fabric::topology& t_;
  const config::machine_config& c_;
  const bound_request& r_;
  step_cost step_;
  wire_rates wires_;
  link_loads links_;
  std::uint32_t p_;  ///< ranks
  double n_;         ///< bytes, as --bytes

 private:
  /// The ranks within a cut are taken as the first ones: members of a part of the machine are numbered one
  /// after the other.
  [[nodiscard]] double over_cuts_ns(const std::vector<way>& ways, double bytes) const;
};

using formula =
    std::function<estimate(const fabric::topology&, const config::machine_config&, const bound_request&)>;
/// The formula that is a member function of a family (a class derived from formula_base).
template <class Family>
[[nodiscard]] formula formula_of(estimate (Family::*f)() const) {
  return [f](const fabric::topology& t, const config::machine_config& c, const bound_request& r) {
    return (Family(t, c, r).*f)();
  };
}

struct formula_row {
  comm::collective what{};
  std::string algorithm;
  formula of;
  /// With tensors in HBM that the algorithm does not bring into TCM (comm::moves_out_of_hbm), but for
  /// copies; empty: it works on chunks.
  formula in_hbm{};
};
[[nodiscard]] std::vector<formula_row> ring_formulas();
[[nodiscard]] std::vector<formula_row> partner_formulas();
[[nodiscard]] std::vector<formula_row> tree_formulas();
[[nodiscard]] std::vector<formula_row> direct_formulas();
[[nodiscard]] std::vector<formula_row> level_formulas();
[[nodiscard]] std::vector<formula_row> two_level_formulas();
[[nodiscard]] std::vector<formula_row> three_level_formulas();
[[nodiscard]] std::vector<formula_row> rooted_formulas();
[[nodiscard]] std::vector<formula_row> neighbor_formulas();
[[nodiscard]] std::vector<formula_row> shift_formulas();
/// Those of all families.
[[nodiscard]] std::vector<formula_row> all_formulas();

}  // namespace diecast::cost
