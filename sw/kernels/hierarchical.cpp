// SPDX-License-Identifier: Apache-2.0
// All-reduce over all PEs, level by level: the PEs of a cube sum to pe0, those of a SIP's cubes to cube 0,
// those of the SIPs to SIP 0; then the result goes back the same way. Each level is a ring on which two arms
// flow towards the leader from both sides, ceil((N-1)/2) hops. A level of one is skipped.
//
// hierarchical_pipelined is the same in chunks, so that the levels, and the ways up and down, overlap.
#include <algorithm>
#include <array>

#include "sw/kernels/builtin.hpp"
#include "sw/kernels/tree_all_reduce.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {
namespace {

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
std::vector<level_place> levels_of(const abi::kernel_arguments& a) {
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
  for (const level_place& level : levels_of(a)) {
    tree.children.push_back(level.outer());
    if (!level.is_leader()) tree.parent = level.inner();
  }
  return tree;
}

void run_hierarchical(pe_context& pe) {
  start_in_output(pe);
  tree_all_reduce(pe, place(pe.args()), whole(pe), static_cast<std::uint64_t>(pe.args().extra[chunks]));
}

/// Place of the group's SIP among its SIPs.
std::int64_t sip_position(const comm::group& g, sip_id self, std::int64_t& count) {
  std::vector<sip_id> found;
  for (const pe_coord& m : g.members) {
    if (found.empty() || found.back() != m.sip) found.push_back(m.sip);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  count = std::ssize(found);
  return std::lower_bound(found.begin(), found.end(), self) - found.begin();
}

void fill_places(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const pe_coord self = c.members.members.at(rank);
  const std::vector<cube_id> ring = comm::cube_ring(c.shape);
  a.extra[at_pe] = self.pe.value;
  a.extra[pes] = c.shape.pes_per_cube;
  a.extra[at_cube] = std::find(ring.begin(), ring.end(), self.cube) - ring.begin();
  a.extra[cubes] = std::ssize(ring);
  a.extra[at_sip] = sip_position(c.members, self.sip, a.extra[sips]);
  a.extra[chunks] = 1;
}

void fill_pipelined(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  fill_places(c, rank, a);
  const auto hops = static_cast<std::uint32_t>(a.extra[pes] / 2 + a.extra[cubes] / 2 + a.extra[sips] / 2);
  a.extra[chunks] = static_cast<std::int64_t>(chunks_for(c, vector_bytes(c), hops));
}

}  // namespace

kernel_entry hierarchical_3level_entry() {
  return {"hierarchical_3level", "all_reduce",         "PEs of a cube, cubes of a SIP, SIPs; and back",
          "hierarchical_3level", {comm::rank_set::pe}, run_hierarchical,
          without_scratch,       fill_places};
}

kernel_entry hierarchical_pipelined_entry() {
  return {
      "hierarchical_pipelined", "all_reduce",         "hierarchical_3level in chunks, the levels overlapping",
      "hierarchical_3level",    {comm::rank_set::pe}, run_hierarchical,
      without_scratch,          fill_pipelined};
}

}  // namespace diecast::sw
