// SPDX-License-Identifier: Apache-2.0
// All-reduce by swing: reduce-scatter and all-gather in ceil(log2 n) steps with partners at distances 1, -1,
// 3, -5, 11, ... in turn to either side, which cross fewer links of a torus than the distances 1, 2, 4, ...
// (De Sensi et al., "Swing: Short-cutting Rings for Higher Bandwidth Allreduce", NSDI 2024).
//
// Even n: every part of the vector is summed along a tree of its own that visits each rank once; in a step
// a rank sends the parts whose tree leaves it then. For a power of two the parts of a step are one range, and
// this is halving and doubling. An odd rank out folds into its neighbor.
#include <bit>
#include <string_view>
#include <vector>

#include "models/comm/trees.hpp"
#include "sw/kernels/builtin.hpp"
#include "sw/kernels/fold.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {
namespace swing_kernel {

/// Bit s: the upper half stays here in step s (powers of two).
constexpr std::size_t extra_upper = fold_extra_words;
constexpr std::size_t extra_active = fold_extra_words + 1;  ///< ranks that take the steps

using parts = std::vector<std::uint32_t>;

/// Where parts lie; those that follow each other are one range. Parts ascend.
std::vector<tcm_range> ranges_of(pe_context& pe, const parts& list, std::uint32_t n) {
  std::vector<tcm_range> ranges;
  for (const std::uint32_t p : list) {
    const tcm_range b = in_output(pe, part(whole(pe), p, n));
    if (!ranges.empty() && ranges.back().at + ranges.back().bytes == b.at) {
      ranges.back().bytes += b.bytes;
    } else {
      ranges.push_back(b);
    }
  }
  return ranges;
}

/// Swaps lists of parts with a partner. Parts go one after the other, without waiting for what comes: a swap
/// for each would take the way there as often as there are parts.
void swap_parts(pe_context& pe, comm::direction dir, const parts& sent, const parts& received,
                std::uint32_t n, pe_context::arrival how, std::string_view step_name) {
  pe_context::lane lane{{dir}, {}, {dir}, {}};
  for (const tcm_range& b : ranges_of(pe, sent, n)) lane.sent.push_back({b.at, b.bytes});
  for (const tcm_range& b : ranges_of(pe, received, n)) lane.received.push_back({b.at, b.bytes, how});
  pe.stream({lane}, step_name);
}

void run_by_parts(pe_context& pe, std::uint32_t n) {
  const std::uint32_t number = fold_number(pe);
  const std::uint32_t steps = fold_steps(pe);
  const std::vector<parts> mine = comm::swing_parts(number, n);
  std::vector<parts> theirs;
  for (std::uint32_t s = 0; s < steps; ++s)
    theirs.push_back(comm::swing_parts(comm::swing_peer(number, s, n), n)[s]);
  for (std::uint32_t s = 0; s < steps; ++s) {
    swap_parts(pe, comm::partner(s), mine[s], theirs[s], n, pe_context::arrival::reduce, "reduce_scatter");
  }
  finish_average(pe, part(whole(pe), number, n));
  for (std::uint32_t s = steps; s-- > 0;) {
    swap_parts(pe, comm::partner(s), theirs[s], mine[s], n, pe_context::arrival::copy, "all_gather");
  }
}

void run(pe_context& pe) {
  const auto active = static_cast<std::uint32_t>(pe.args().extra[extra_active]);
  const std::int64_t upper = pe.args().extra[extra_upper];
  start_in_output(pe);
  with_folded(pe, [&] {
    if (!std::has_single_bit(active)) return run_by_parts(pe, active);
    halve_and_double(pe, fold_steps(pe), [upper](std::uint32_t s) { return (upper >> s & 1) != 0; });
  });
}

void fill(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const auto n = static_cast<std::uint32_t>(c.members.members.size());
  const comm::fold f = comm::fold_to_even(n);
  fill_fold(f, rank, a);
  a.extra[extra_active] = f.active;
  if (f.is_folded(rank) || !std::has_single_bit(f.active)) return;
  for (std::uint32_t s = 0; s < f.steps; ++s)
    a.extra[extra_upper] |= std::int64_t{comm::swing_keeps_upper(f.number_of(rank), s, f.active)} << s;
}

}  // namespace swing_kernel

kernel_entry swing_entry() {
  using namespace swing_kernel;
  return {"swing",
          "all_reduce",
          "reduce-scatter and all-gather with partners at distances 1, -1, 3, -5, ...",
          "swing",
          any_ranks,
          run,
          without_scratch,
          fill};
}

}  // namespace diecast::sw
