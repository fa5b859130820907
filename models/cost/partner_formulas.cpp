// SPDX-License-Identifier: Apache-2.0
// Another partner in every step, log2(ranks) steps; neighbors fold what does not fit.
#include <algorithm>
#include <bit>
#include <vector>

#include "models/comm/trees.hpp"
#include "models/cost/formula_base.hpp"

namespace diecast::cost {
namespace {

using comm::collective;

class partners : public formula_base {
 public:
  using formula_base::formula_base;

  [[nodiscard]] estimate recursive_doubling() const {
    const comm::fold f = comm::fold_to_power_of_two(p_);
    double ns = fold_ns(f) + end_ns(), wires = fold_wires_ns(f);
    for (std::uint32_t s = 0; s < f.steps; ++s) {
      const peer_fn peer = by_number(f, bit_peer(s));
      const double on_wires = swap_wires_ns(peer, n_);
      // What comes is added to what was sent: whether that has been read is one more look.
      ns +=
          step_.first_use_ns(pair_registers) + std::max(dearest(peer, {n_}), on_wires) + step_.register_ns();
      wires += on_wires;
    }
    return {ns, wires};
  }
  [[nodiscard]] estimate rabenseifner() const {
    return halving(comm::fold_to_power_of_two(p_), [](std::uint32_t s) { return bit_peer(s); });
  }
  [[nodiscard]] estimate swing() const {
    const comm::fold f = comm::fold_to_even(p_);
    const auto peer_in = [&f](std::uint32_t s) -> number_fn {
      return [&f, s](std::uint32_t number) { return comm::swing_peer(number, s, f.active); };
    };
    return std::has_single_bit(f.active) ? halving(f, peer_in) : by_parts(f, peer_in);
  }

 private:
  using number_fn = std::function<std::uint32_t(std::uint32_t)>;  ///< whom an active rank meets, by number

  [[nodiscard]] static number_fn bit_peer(std::uint32_t step) {
    return [step](std::uint32_t number) { return number ^ (1U << step); };
  }
  [[nodiscard]] static peer_fn by_number(const comm::fold& f, number_fn peer) {
    return [&f, peer = std::move(peer)](std::uint32_t rank) -> std::optional<std::uint32_t> {
      if (f.is_folded(rank)) return std::nullopt;
      return f.rank_of(peer(f.number_of(rank)));
    };
  }

  /// Reduce-scatter by halving, all-gather by doubling.
  [[nodiscard]] estimate halving(const comm::fold& f,
                                 const std::function<number_fn(std::uint32_t)>& peer_in) const {
    double ns = fold_ns(f) + end_ns(), wires = fold_wires_ns(f);
    double bytes = n_;
    for (std::uint32_t s = 0; s < f.steps; ++s) {
      const peer_fn peer = by_number(f, peer_in(s));
      bytes /= 2;
      const double on_wires = swap_wires_ns(peer, bytes);
      ns += step_.first_use_ns(pair_registers) + std::max(dearest(peer, {bytes}), on_wires) +
            std::max(dearest(peer, {bytes, false}), on_wires);
      wires += 2 * on_wires;
    }
    return {ns, wires};
  }

  /// The same with parts that do not lie together where ranks are no power of two: those that do are a
  /// message of their own. They follow each other without waiting for what comes; all ranks have about as
  /// many. So a long way costs much in few pairs, others in every step: a step of a pair begins when both are
  /// through with the one before.
  [[nodiscard]] estimate by_parts(const comm::fold& f,
                                  const std::function<number_fn(std::uint32_t)>& peer_in) const {
    const auto sent = comm::swing_parts(0, f.active);
    std::vector<double> through(f.active);  // by number
    double wires = 0;
    const auto take_step = [&](std::uint32_t s, bool reduces) {
      const double bytes = part(d(f.active)) * d(sent[s].size());
      // More ranks than elements: some parts are empty.
      const double messages = std::max(1.0, std::min(d(runs_of(sent[s])), bytes / d(shortest_element)));
      const double on_wires = swap_wires_ns(by_number(f, peer_in(s)), bytes);
      wires += on_wires;
      const exchange e{bytes / messages, reduces};
      const number_fn peer = peer_in(s);
      for (std::uint32_t a = 0; a < f.active; ++a) {
        const std::uint32_t b = peer(a);
        if (b < a) continue;
        const pe_coord from = at(f.rank_of(a)), to = at(f.rank_of(b));
        const double swap =
            step_.exchange_ns(from, to, e) + (messages - 1) * step_.slot_interval_ns(from, to, e);
        through[a] = through[b] = std::max(through[a], through[b]) + std::max(swap, on_wires);
      }
    };
    for (std::uint32_t s = 0; s < f.steps; ++s) take_step(s, true);
    for (std::uint32_t s = f.steps; s-- > 0;) take_step(s, false);
    const double steps = *std::max_element(through.begin(), through.end());
    return {fold_ns(f) + steps + f.steps * step_.first_use_ns(pair_registers) + end_ns(),
            wires + fold_wires_ns(f)};
  }
  /// Runs of numbers that follow each other.
  [[nodiscard]] static std::size_t runs_of(const std::vector<std::uint32_t>& numbers) {
    std::size_t runs = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      runs += i == 0 || numbers[i] != numbers[i - 1] + 1 ? 1 : 0;
    return runs;
  }

  /// Giving the vector to the holder and getting the result back, where some ranks fold.
  [[nodiscard]] double fold_ns(const comm::fold& f) const {
    double dearest_pair = 0;
    for (std::uint32_t pair = 0; pair < f.pairs; ++pair) {
      const pe_coord holder = at(f.holder(pair)), folded = at(f.holder(pair) + 1);
      dearest_pair = std::max(dearest_pair, step_.exchange_ns(folded, holder, {n_, true, 1, false}) +
                                                step_.exchange_ns(holder, folded, {n_, false, 1, false}));
    }
    return f.pairs == 0 ? 0 : step_.first_use_ns(pair_registers) + dearest_pair;
  }
  /// There and back.
  [[nodiscard]] double fold_wires_ns(const comm::fold& f) const {
    if (f.pairs == 0) return 0;
    return 2 * swap_wires_ns(
                   [&f](std::uint32_t rank) -> std::optional<std::uint32_t> {
                     if (!f.is_folded(rank)) return std::nullopt;
                     return rank - 1;
                   },
                   n_);
  }

  /// The wires of a step in which ranks and their peers swap `bytes`: a step begins when the one before has
  /// ended, so each waits for the narrowest place it crosses.
  [[nodiscard]] double swap_wires_ns(const peer_fn& peer, double bytes) const {
    return std::max(interface_ns(bytes), peers_ns(peer, bytes));
  }
};

}  // namespace

std::vector<formula_row> partner_formulas() {
  using f = partners;
  return {
      {collective::all_reduce, "recursive_doubling", formula_of(&f::recursive_doubling)},
      {collective::all_reduce, "rabenseifner", formula_of(&f::rabenseifner)},
      {collective::all_reduce, "swing", formula_of(&f::swing)},
  };
}

}  // namespace diecast::cost
