// SPDX-License-Identifier: Apache-2.0
// One to all, all to one; trees of messages, and trees in the network.
#include <algorithm>
#include <bit>
#include <cmath>

#include "models/comm/network_tree.hpp"
#include "models/comm/packed_trees.hpp"
#include "models/cost/formula_base.hpp"
#include "models/cost/tree_cost.hpp"

namespace diecast::cost {
namespace {

using comm::collective;

class rooted : public formula_base {
 public:
  using formula_base::formula_base;

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

  /// The same down trees of neighbors; the last slot goes in halves.
  [[nodiscard]] estimate packed_trees() const {
    const comm::packed_trees plan({c_, t_.shape(), r_.ranks, r_.root});
    const double depth = std::max(plan.depth(0), plan.depth(1));
    const double piece = std::min(n_ / 2, step_.slot_bytes() / 2);
    const double hop = mean_on_ring({piece, false, 2});
    const double slots = std::ceil(n_ / 2 / step_.slot_bytes());
    const double slot = std::min(n_ / 2, step_.slot_bytes());
    const double busy = 2 * (step_.take_ns(slot, false) + step_.send_ns() + step_.register_ns());
    return {depth * hop + (slots - 1) * busy + step_.first_use_ns(4 * half_registers) + end_ns(),
            interface_ns(n_)};
  }

  [[nodiscard]] estimate multicast() const { return tree_cost(t_, c_, r_, r_.root).multicast(); }
  [[nodiscard]] estimate reduction() const { return tree_cost(t_, c_, r_, r_.root).reduction(); }
  [[nodiscard]] estimate up_and_down() const {
    return tree_cost(t_, c_, r_, comm::central_rank(t_.shape(), r_.ranks)).both();
  }

 private:
};

}  // namespace

std::vector<formula_row> rooted_formulas() {
  using f = rooted;
  return {
      {collective::broadcast, "ring_1d", formula_of(&f::chain)},
      {collective::broadcast, "binomial", formula_of(&f::binomial)},
      {collective::broadcast, "double_binary_tree", formula_of(&f::broadcast_trees)},
      {collective::broadcast, "packed_trees", formula_of(&f::packed_trees)},
      {collective::broadcast, "multicast", formula_of(&f::multicast)},
      {collective::reduce, "ring_1d", formula_of(&f::chain)},
      {collective::reduce, "binomial", formula_of(&f::binomial)},
      {collective::reduce, "in_network", formula_of(&f::reduction)},
      {collective::all_reduce, "in_network", formula_of(&f::up_and_down)},
  };
}

}  // namespace diecast::cost
