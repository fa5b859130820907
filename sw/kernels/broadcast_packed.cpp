// SPDX-License-Identifier: Apache-2.0
// Broadcast down two trees that are packed into the machine (comm::packed_trees), half of the vector each.
#include <algorithm>
#include <stdexcept>

#include "sw/kernels/blocks.hpp"
#include "sw/kernels/builtin.hpp"
#include "sw/kernels/packed_plan.hpp"

namespace diecast::sw {
namespace broadcast_packed_kernel {

/// Words of kernel_arguments::extra: is this the root; queue pairs of an edge within a SIP and of one between
/// two; per tree, children here, whether the first of them is in another SIP, and whether the parent is.
enum extra : std::size_t {
  is_root,
  width_within,
  width_crossing,
  first_children,
  second_children,
  first_feeds,
  second_feeds,
  first_enters,
  second_enters
};

/// A range in the pieces in which it goes down a tree: slots, where these take turns between queue pairs, or
/// else one stretch of them. The last slot goes in halves: what is left to do when it has left the root is
/// its way down, and a member passes a message on when it has the whole.
std::vector<tcm_range> pieces_of(const tcm_range& range, std::uint64_t slot, std::uint64_t element,
                                 bool take_turns) {
  const std::uint64_t whole_slots = range.bytes == 0 ? 0 : (range.bytes - 1) / slot * slot;
  const std::uint64_t piece = take_turns ? slot : whole_slots;
  const std::uint64_t half = std::max(element, slot / 2 / element * element);
  std::vector<tcm_range> pieces;
  for (std::uint64_t at = 0; at < whole_slots; at += piece) pieces.push_back({range.at + at, piece});
  for (std::uint64_t at = whole_slots; at < range.bytes; at += half) {
    pieces.push_back({range.at + at, std::min(half, range.bytes - at)});
  }
  return pieces;
}

/// An edge: its first direction, its queue pairs, how many of these are used.
struct tree_edge {
  comm::direction first{};
  std::uint32_t width{1}, used{1};
};

/// The root has all pieces from the first: it sends one of each tree in turn, as the ranks below expect them.
std::vector<pe_context::lane> in_turn(const std::vector<pe_context::lane>& first,
                                      const std::vector<pe_context::lane>& second) {
  std::vector<pe_context::lane> all;
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    if (i < first.size()) all.push_back(first[i]);
    if (i < second.size()) all.push_back(second[i]);
  }
  return all;
}

/// The part of a tree at this rank.
class tree_part {
 public:
  /// Directions of its children begin with number `child`.
  tree_part(pe_context& pe, std::uint32_t tree, std::uint32_t child, const tcm_range& half) : tree_(tree) {
    const abi::kernel_arguments& a = pe.args();
    root_ = a.extra[is_root] != 0;
    const auto width = [&a](bool crosses) {
      return static_cast<std::uint32_t>(a.extra[crosses ? width_crossing : width_within]);
    };
    for (std::int64_t i = 0; i < a.extra[first_children + tree]; ++i) {
      const std::uint32_t wide = width(i == 0 && a.extra[first_feeds + tree] != 0);
      children_.push_back({comm::packed_child(child + directions_), wide, 1});
      directions_ += wide;
    }
    if (root_ && children_.empty()) return;  // alone in it
    parent_width_ = root_ ? 1 : width(a.extra[first_enters + tree] != 0);
    const comm::direction any = root_ ? children_.front().first : comm::packed_parent(tree);
    const std::uint64_t element = numeric::size_of(a.type);
    const std::uint64_t slot = pe.message_elements(any) * element;
    // An edge takes turns between its queue pairs, when there are slots enough to fill them all.
    const std::uint64_t rings = (half.bytes + slot - 1) / slot / pe.n_slots(any);
    const auto used_of = [rings](std::uint32_t wide) {
      return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(rings, 1, wide));
    };
    for (tree_edge& e : children_) e.used = used_of(e.width);
    parent_width_ = used_of(parent_width_);
    const bool take_turns = parent_width_ > 1 || std::any_of(children_.begin(), children_.end(),
                                                             [](const tree_edge& e) { return e.used > 1; });
    pieces_ = pieces_of(half, slot, element, take_turns);
  }

  [[nodiscard]] std::uint32_t directions() const { return directions_; }

  /// Adds lanes in which the pieces come, then those in which they go on.
  void add_to(std::vector<pe_context::lane>& lanes) const {
    const auto base = static_cast<std::int32_t>(lanes.size());
    for (std::uint32_t i = 0; !root_ && i < parent_width_; ++i) lanes.push_back(incoming(i));
    for (const tree_edge& e : children_) {
      for (std::uint32_t i = 0; i < e.used; ++i) lanes.push_back(outgoing(base, e, i));
    }
  }

 private:
  [[nodiscard]] pe_context::lane incoming(std::uint32_t index) const {
    pe_context::lane lane;
    lane.overlaps = true;
    lane.recv = {comm::packed_parent(tree_, index)};
    for (std::size_t i = index; i < pieces_.size(); i += parent_width_) {
      lane.received.push_back({pieces_[i].at, pieces_[i].bytes, pe_context::arrival::copy});
    }
    return lane;
  }
  /// Every piece whose number is `index` modulo the edge's width, as it comes in one of the lanes from `base`
  /// on.
  [[nodiscard]] pe_context::lane outgoing(std::int32_t base, const tree_edge& e, std::uint32_t index) const {
    pe_context::lane lane;
    lane.send = {static_cast<comm::direction>(e.first + index)};
    for (std::size_t i = index; i < pieces_.size(); i += e.used) {
      pe_context::outgoing piece{pieces_[i].at, pieces_[i].bytes, {}};
      if (!root_) {
        piece.after[0] = {static_cast<std::int32_t>(i / parent_width_),
                          base + static_cast<std::int32_t>(i % parent_width_)};
      }
      lane.sent.push_back(piece);
    }
    return lane;
  }

  std::uint32_t tree_;
  bool root_{};
  std::vector<tree_edge> children_;
  std::uint32_t directions_{};     ///< queue pairs of children
  std::uint32_t parent_width_{1};  ///< queue pairs from the parent that are used
  std::vector<tcm_range> pieces_;
};

void run(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  const block_vector v = a.extra[is_root] != 0 ? reduced_in_output(pe) : block_vector(pe, a.output);
  const tree_part first(pe, 0, 0, v.part_of_whole(1, 2));
  const tree_part second(pe, 1, first.directions(), v.part_of_whole(0, 2));
  std::vector<pe_context::lane> lanes;
  first.add_to(lanes);
  if (a.extra[is_root] != 0) {
    std::vector<pe_context::lane> others;
    second.add_to(others);
    lanes = in_turn(lanes, others);
  } else {
    second.add_to(lanes);
  }
  pe.last_stream(lanes, "broadcast");
}

void fill(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const comm::packed_trees& plan = packed_trees_of(c, comm::packed_trees::flow::down);
  a.extra[is_root] = rank == c.root ? 1 : 0;
  for (std::uint32_t tree = 0; tree < comm::packed_trees::trees; ++tree) {
    const comm::tree_node& node = plan.node(tree, rank);
    a.extra[first_children + tree] = std::ssize(node.children);
    for (const std::uint32_t child : node.children) {
      const bool crosses = plan.crosses(rank, child);
      a.extra[crosses ? width_crossing : width_within] = plan.width(rank, child);
      if (!crosses) continue;
      if (child != node.children.front()) throw std::logic_error("a tree leaves a SIP by a later child");
      a.extra[first_feeds + tree] = 1;
    }
    if (!node.parent) continue;
    const bool crosses = plan.crosses(*node.parent, rank);
    a.extra[crosses ? width_crossing : width_within] = plan.width(*node.parent, rank);
    a.extra[first_enters + tree] = crosses ? 1 : 0;
  }
}

}  // namespace broadcast_packed_kernel

kernel_entry broadcast_packed_entry() {
  using namespace broadcast_packed_kernel;
  return {"packed_trees",  "broadcast", "down two shallow trees fitted to the links, half of the vector each",
          "packed_trees",  any_ranks,   run,
          without_scratch, fill};
}

}  // namespace diecast::sw
