// SPDX-License-Identifier: Apache-2.0
// All-reduce over all PEs, level by level: the PEs of a cube sum to its first, those of a SIP's cubes to its
// first cube, those of the SIPs to the first; then the result goes back the same way. Each level is a ring on
// which two arms flow towards the leader from both sides, ceil((N-1)/2) hops. A level of one is skipped.
//
// hierarchical_pipelined is the same in chunks, so that the levels, and the ways up and down, overlap.
#include <array>

#include "models/comm/member_levels.hpp"
#include "sw/kernels/builtin.hpp"
#include "sw/kernels/tree_all_reduce.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {
namespace hierarchical_kernel {

/// The words of kernel_arguments::extra: place and size per level, then the chunks.
enum extra : std::size_t { at_pe, pes, at_cube, cubes, at_sip, sips, chunks };

/// A PE on the ring of one level; its leader is at 0.
struct level_place {
  std::int64_t at{}, size{1};
  comm::direction forth{}, back{};  ///< to the next place and to the one before

  [[nodiscard]] bool is_leader() const { return at == 0; }
  /// The last place whose way to the leader is `back`; the others go `forth`, over the ring's end.
  [[nodiscard]] std::int64_t turn() const { return size / 2; }
  [[nodiscard]] comm::direction inner() const { return at <= turn() ? back : forth; }
  /// Where sums come from.
  [[nodiscard]] std::vector<comm::direction> outer() const {
    std::vector<comm::direction> d;
    if (at < turn()) d.push_back(forth);
    if (at == 0 ? size > 2 : at > turn() + 1) d.push_back(back);
    return d;
  }
};

/// The levels that this PE has a part in, innermost first: it leads all of them but perhaps the last.
std::vector<level_place> own_levels(const abi::kernel_arguments& a) {
  const std::array all{level_place{a.extra[at_pe], a.extra[pes], comm::east, comm::west},
                       level_place{a.extra[at_cube], a.extra[cubes], comm::north, comm::south},
                       level_place{a.extra[at_sip], a.extra[sips], comm::global_east, comm::global_west}};
  std::vector<level_place> mine;
  for (const level_place& level : all) {
    mine.push_back(level);
    if (!level.is_leader()) break;
  }
  return mine;
}

tree_place place(const abi::kernel_arguments& a) {
  tree_place tree;
  for (const level_place& level : own_levels(a)) {
    tree.children.push_back(level.outer());
    if (!level.is_leader()) tree.parent = level.inner();
  }
  return tree;
}

void run_hierarchical(pe_context& pe) {
  start_in_output(pe);
  tree_all_reduce(pe, place(pe.args()), whole(pe), static_cast<std::uint64_t>(pe.args().extra[chunks]));
}

void fill_places(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const comm::member_levels::place& p = levels_of(c).places.at(rank);
  a.extra[at_pe] = p.pe;
  a.extra[pes] = p.pes;
  a.extra[at_cube] = p.cube;
  a.extra[cubes] = p.cubes;
  a.extra[at_sip] = p.sip;
  a.extra[sips] = p.sips;
  a.extra[chunks] = 1;
}

/// As many chunks everywhere, though cubes may have more or fewer PEs.
void fill_pipelined(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  fill_places(c, rank, a);
  a.extra[chunks] = static_cast<std::int64_t>(chunks_for(c, vector_bytes(c), levels_of(c).hops()));
}

}  // namespace hierarchical_kernel

kernel_entry hierarchical_3level_entry() {
  using namespace hierarchical_kernel;
  return {"hierarchical_3level", "all_reduce",         "PEs of a cube, cubes of a SIP, SIPs; and back",
          "hierarchical_3level", {comm::rank_set::pe}, run_hierarchical,
          without_scratch,       fill_places};
}

kernel_entry hierarchical_pipelined_entry() {
  using namespace hierarchical_kernel;
  return {
      "hierarchical_pipelined", "all_reduce",         "hierarchical_3level in chunks, the levels overlapping",
      "hierarchical_3level",    {comm::rank_set::pe}, run_hierarchical,
      without_scratch,          fill_pipelined};
}

}  // namespace diecast::sw
