// SPDX-License-Identifier: Apache-2.0
// Rings: a step for every other rank, each with both neighbors.
#include <algorithm>

#include "models/cost/formula_base.hpp"

namespace diecast::cost {
namespace {

using comm::collective;

class rings : public formula_base {
 public:
  using formula_base::formula_base;

  [[nodiscard]] estimate ring_1d() const { return ring_steps(2, 2, true); }
  [[nodiscard]] estimate ring_1d_unidir() const { return ring_steps(2, 1, true); }
  [[nodiscard]] estimate ring_reduce_scatter() const { return ring_steps(1, 2, true); }
  [[nodiscard]] estimate ring_all_gather() const { return ring_steps(1, 2, false); }
  [[nodiscard]] estimate ring_full_tile() const {
    const double steps = p_ - 1.0;
    const double one = mean_on_ring({n_, false}) + step_.vector_ns(n_, true);
    return {steps * one + 2 * step_.vector_ns(n_, false), interface_ns(steps * n_)};
  }

 private:
  [[nodiscard]] estimate ring_steps(double passes, unsigned lanes, bool reduces) const {
    // A long segment hides the way of its first slot: a step is as long as its slots take, or as the way.
    const double bytes = part(d(p_) * lanes);
    const double slot = std::min(bytes, step_.slot_bytes());
    const exchange e{slot, reduces, lanes, true, true};
    const exchange copy{slot, false, lanes, true, true};
    const double steps = p_ - 1.0;
    const double slots = step_.slots_of(bytes);
    const auto step_ns = [&](const exchange& one) {
      return std::max(mean_on_ring(one), slots * slowest_on_ring(one));
    };
    double ns = step_.first_use_ns(lanes > 1 ? 2 * pair_registers : 2 * half_registers - 1) + end_ns();
    // Two looks before the first message. Once the free slots are used up, every message needs a look at them
    // and one at what has come; an all-reduce of single slots is woken by events before it would look.
    const double messages = passes < 2 || slots > 1 ? passes * steps * slots : 0;
    ns += (2 + 2 * std::max(0.0, messages - d(c_.ipcq.n_slots))) * step_.register_ns();
    ns += steps * step_ns(reduces ? e : copy);
    if (passes > 1) ns += steps * step_ns(copy);
    const double around =
        laps_ns({comm::ring_order(t_.shape(), r_.ranks)}, passes * steps * bytes, lanes > 1);
    return {ns, std::max(interface_ns(passes * steps * part(d(p_))), around)};
  }
};

}  // namespace

std::vector<formula_row> ring_formulas() {
  using f = rings;
  return {
      {collective::all_reduce, "ring_1d", formula_of(&f::ring_1d)},
      {collective::all_reduce, "ring_1d_unidir", formula_of(&f::ring_1d_unidir)},
      {collective::all_reduce, "ring_full_tile", formula_of(&f::ring_full_tile)},
      {collective::reduce_scatter, "ring_1d", formula_of(&f::ring_reduce_scatter)},
      {collective::all_gather, "ring_1d", formula_of(&f::ring_all_gather)},
  };
}

}  // namespace diecast::cost
