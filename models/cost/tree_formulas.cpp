// SPDX-License-Identifier: Apache-2.0
// Trees of messages, chunk by chunk.
#include <algorithm>
#include <bit>
#include <cmath>

#include "models/comm/trees.hpp"
#include "models/cost/formula_base.hpp"

namespace diecast::cost {
namespace {

using comm::collective;

class trees : public formula_base {
 public:
  using formula_base::formula_base;

  [[nodiscard]] estimate tree_binary() const {
    const peer_fn up = parent_of(comm::binary_tree, p_);
    return {on_tree({comm::depth_of_binary(p_), 2, n_, 1}, up),
            std::max(interface_ns(3 * n_), up_and_down_ns({up}, n_))};
  }
  [[nodiscard]] estimate double_binary_tree() const {
    return {on_tree({comm::depth_of_binary(p_) + 1, 2, n_ / 2, 2}, parent_of(comm::in_order_tree, p_)),
            std::max(interface_ns(2 * n_), up_and_down_ns({parent_of(comm::in_order_tree, p_),
                                                           parent_of(comm::complementary_tree, p_)},
                                                          n_ / 2))};
  }
  [[nodiscard]] estimate p2p_tree() const {
    const std::uint32_t depth = comm::depth_of_binomial(p_);
    // The root has a child for every bit of a rank.
    const auto children = static_cast<std::uint32_t>(std::bit_width(p_ - 1U));
    const peer_fn up = parent_of(comm::binomial_tree, p_);
    return {on_tree({depth, 1, n_, 1, children}, up),
            std::max(interface_ns(children * n_), up_and_down_ns({up}, n_))};
  }

 private:
  /// One chunk up and down: over `depth` edges, at inner nodes `children` messages taken and sent.
  struct tree_shape {
    std::uint32_t depth{};
    std::uint32_t children{};
    double bytes{};
    unsigned trees{1};
    std::uint32_t most_children{2};  ///< of the node that sets the pace of the chunks behind the first
  };
  [[nodiscard]] double on_tree(const tree_shape& tree, const peer_fn& parent) const {
    const double k = chunks_of(tree.bytes, tree.depth);
    const double chunk = tree.bytes / k;
    const double slot = std::min(chunk, step_.slot_bytes());
    const double up = dearest(parent, {chunk, true, 1, false});
    const double down = dearest(parent, {chunk, false, 1, false});
    const double more = tree.children - 1.0;
    const double slots = std::ceil(chunk / step_.slot_bytes());
    const double others = more * slots * (step_.take_ns(slot, true) + step_.send_ns() + step_.register_ns());
    const double busy = slots * (tree.most_children * (step_.take_ns(slot, true) + step_.send_ns()) +
                                 step_.take_ns(slot, false) + step_.send_ns() + 4 * step_.wake_ns() +
                                 4 * step_.task_switch_ns());
    return tree.depth * (up + down + others) + (k - 1) * busy * tree.trees +
           tree.depth * tree.children * step_.first_use_ns(pair_registers) + end_ns();
  }
  /// As many bytes over every edge of some trees, both ways.
  [[nodiscard]] double up_and_down_ns(const std::vector<peer_fn>& parents, double bytes) const {
    std::vector<way> ways;
    for (const peer_fn& parent : parents) {
      for (std::uint32_t r = 0; r < p_; ++r) {
        const auto above = parent(r);
        if (!above) continue;
        ways.emplace_back(r, *above);
        ways.emplace_back(*above, r);
      }
    }
    return ways_ns(ways, bytes);
  }
  [[nodiscard]] static peer_fn parent_of(comm::tree_node (*tree)(std::uint32_t, std::uint32_t),
                                         std::uint32_t ranks) {
    return [tree, ranks](std::uint32_t r) -> std::optional<std::uint32_t> { return tree(r, ranks).parent; };
  }
};

}  // namespace

std::vector<formula_row> tree_formulas() {
  using f = trees;
  return {
      {collective::all_reduce, "tree_binary", formula_of(&f::tree_binary)},
      {collective::all_reduce, "double_binary_tree", formula_of(&f::double_binary_tree)},
      {collective::all_reduce, "p2p_tree", formula_of(&f::p2p_tree)},
  };
}

}  // namespace diecast::cost
