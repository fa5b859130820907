// SPDX-License-Identifier: Apache-2.0
// Another partner in every step, log2(ranks) steps; neighbors fold what does not fit.
#include <algorithm>
#include <bit>

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
    estimate e = halving(f, [&f](std::uint32_t s) -> number_fn {
      return [&f, s](std::uint32_t number) { return comm::swing_peer(number, s, f.active); };
    });
    // Parts of other than a power of two are messages of their own.
    if (!std::has_single_bit(f.active))
      e.steps_ns += 2.0 * f.active * (step_.send_ns() + step_.take_ns(part(d(f.active)), true));
    return e;
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
