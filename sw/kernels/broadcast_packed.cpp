// SPDX-License-Identifier: Apache-2.0
// Broadcast down two trees that are packed into the machine (comm::packed_trees), half of the vector each.
#include <algorithm>
#include <memory>

#include "models/comm/packed_trees.hpp"
#include "sw/kernels/blocks.hpp"
#include "sw/kernels/builtin.hpp"

namespace diecast::sw {
namespace {

/// Words of kernel_arguments::extra: is this the root; per tree, its number of children here.
enum extra : std::size_t { is_root, first_children, second_children };

/// A range in the pieces in which it goes down a tree. The last slot goes in halves: what is left to do
/// when it has left the root is its way down, and a member passes a piece on when it has the whole.
std::vector<tcm_range> pieces_of(const tcm_range& range, std::uint64_t slot, std::uint64_t element) {
  const std::uint64_t whole_slots = range.bytes == 0 ? 0 : (range.bytes - 1) / slot * slot;
  const std::uint64_t half = std::max(element, slot / 2 / element * element);
  std::vector<tcm_range> pieces{{range.at, whole_slots}};
  for (std::uint64_t at = whole_slots; at < range.bytes; at += half) {
    pieces.push_back({range.at + at, std::min(half, range.bytes - at)});
  }
  return pieces;
}

/// The lane of a tree; its children's directions follow those of `before` children of the other tree.
pe_context::lane down(pe_context& pe, std::uint32_t tree, std::int64_t before, const tcm_range& half) {
  const abi::kernel_arguments& a = pe.args();
  pe_context::lane lane;
  for (std::int64_t i = 0; i < a.extra[first_children + tree]; ++i) {
    lane.send.push_back(comm::packed_child(static_cast<std::uint32_t>(before + i)));
  }
  const bool root = a.extra[is_root] != 0;
  if (!root) lane.recv = {comm::packed_parent(tree)};
  if (root && lane.send.empty()) return lane;  // alone
  const std::uint64_t element = numeric::size_of(a.type);
  const std::uint64_t slot = pe.message_elements(root ? lane.send.front() : lane.recv.front()) * element;
  for (const tcm_range& p : pieces_of(half, slot, element)) {
    if (root) {
      lane.sent.push_back({p.at, p.bytes, {}});
    } else {
      lane.pass({p.at, p.bytes, pe_context::arrival::copy});
    }
  }
  return lane;
}

void run(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  const block_vector v = a.extra[is_root] != 0 ? reduced_in_output(pe) : block_vector(pe, a.output);
  pe.stream(
      {down(pe, 0, 0, v.part_of_whole(1, 2)), down(pe, 1, a.extra[first_children], v.part_of_whole(0, 2))},
      "broadcast");
}

const comm::packed_trees& trees_of(const argument_context& c) {
  if (c.packed == nullptr) {
    c.packed = std::make_shared<const comm::packed_trees>(
        comm::pattern_context{c.config, c.shape, c.members, c.root});
  }
  return *c.packed;
}

void fill(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  a.extra[is_root] = rank == c.root ? 1 : 0;
  for (std::uint32_t tree = 0; tree < comm::packed_trees::trees; ++tree) {
    a.extra[first_children + tree] = std::ssize(trees_of(c).node(tree, rank).children);
  }
}

}  // namespace

kernel_entry broadcast_packed_entry() {
  return {"packed_trees",
          "broadcast",
          "down two shallow trees fitted to the links, half of the vector each",
          "packed_trees",
          {comm::rank_set::pe, comm::rank_set::cube, comm::rank_set::sip},
          run,
          without_scratch,
          fill};
}

}  // namespace diecast::sw
