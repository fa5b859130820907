// SPDX-License-Identifier: Apache-2.0
// Trees of messages, chunk by chunk.
#include <algorithm>
#include <bit>

#include "models/comm/trees.hpp"
#include "models/cost/formula_base.hpp"
#include "models/cost/tree_walk.hpp"

namespace diecast::cost {
namespace {

using comm::collective;

class trees : public formula_base {
 public:
  using formula_base::formula_base;

  [[nodiscard]] estimate tree_binary() const {
    const peer_fn up = parent_of(comm::binary_tree, p_);
    return {on_tree({comm::depth_of_binary(p_), n_}, comm::binary_tree),
            std::max(interface_ns(3 * n_), up_and_down_ns({up}, n_))};
  }
  [[nodiscard]] estimate double_binary_tree() const {
    const double half = n_ / 2;
    const std::uint32_t depth = comm::depth_of_binary(p_) + 1;
    const double dearer = std::max(on_tree({depth, half, 2}, comm::in_order_tree),
                                   on_tree({depth, half, 2}, comm::complementary_tree));
    return {dearer, std::max(interface_ns(2 * n_), up_and_down_ns({parent_of(comm::in_order_tree, p_),
                                                                   parent_of(comm::complementary_tree, p_)},
                                                                  half))};
  }
  [[nodiscard]] estimate p2p_tree() const {
    // The root has a child for every bit of a rank.
    const auto children = static_cast<std::uint32_t>(std::bit_width(p_ - 1U));
    const peer_fn up = parent_of(comm::binomial_tree, p_);
    return {on_tree({comm::depth_of_binomial(p_), n_, 1, children, 1}, comm::binomial_tree),
            std::max(interface_ns(children * n_), up_and_down_ns({up}, n_))};
  }

 private:
  using tree_fn = comm::tree_node (*)(std::uint32_t rank, std::uint32_t ranks);

  /// How chunks go up and down: `bytes` in all, the first over every edge of the tree, the others behind it.
  struct tree_shape {
    std::uint32_t depth{};
    double bytes{};
    unsigned trees{1};
    std::uint32_t children{2};  ///< of the node that sets the pace of the chunks behind the first
    /// Queue pairs that a level of the longest way uses for the first time, one after the other.
    std::uint32_t first_uses{2};
  };
  [[nodiscard]] double on_tree(const tree_shape& shape, tree_fn tree) const {
    const double k = chunks_of(shape.bytes, shape.depth);
    const double chunk = shape.bytes / k;
    const double slot = std::min(chunk, step_.slot_bytes());
    const double slots = step_.slots_of(chunk);
    const double down = step_.take_ns(slot, false) + step_.send_ns();
    const double inner = shape.children * (step_.take_ns(slot, true) + step_.send_ns()) + down +
                         4 * (step_.wake_ns() + step_.task_switch_ns());
    // An inner node of one of two trees is a leaf of the other.
    const double leaf = down + step_.wake_ns() + step_.task_switch_ns();
    const double busy = slots * (inner + (shape.trees - 1) * leaf);
    std::vector<comm::tree_node> nodes;
    for (std::uint32_t r = 0; r < p_; ++r) nodes.push_back(tree(r, p_));
    const tree_walk walk(step_, r_.ranks, nodes);
    const auto bytes = [chunk](std::uint32_t) { return chunk; };
    return walk.up(bytes, true) + walk.down(bytes) + (k - 1) * busy +
           shape.depth * shape.first_uses * step_.first_use_ns(pair_registers) + end_ns();
  }
  /// As many bytes over every edge of some trees, up and then down: where a link has much to carry, those who
  /// are near it have sent all that they have when the first chunk of the farthest comes, and nothing goes
  /// down before.
  [[nodiscard]] double up_and_down_ns(const std::vector<peer_fn>& parents, double bytes) const {
    std::vector<way> up, down;
    for (const peer_fn& parent : parents) {
      for (std::uint32_t r = 0; r < p_; ++r) {
        const auto above = parent(r);
        if (!above) continue;
        up.emplace_back(r, *above);
        down.emplace_back(*above, r);
      }
    }
    return ways_ns(up, bytes) + ways_ns(down, bytes);
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
