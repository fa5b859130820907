// SPDX-License-Identifier: Apache-2.0
// All-reduce by halving and doubling: reduce-scatter in log2(n) steps, each half as long as the one before,
// then all-gather back the same way. Nearest partners come first, so that the longest messages go the
// shortest way. Ranks beyond the largest power of two fold into a partner. (Rabenseifner, "Optimization of
// collective reduction operations", ICCS 2004.)
#include "models/comm/trees.hpp"
#include "sw/kernels/builtin.hpp"
#include "sw/kernels/fold.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {
namespace {

/// Bit s: the upper half stays here in step s.
constexpr std::size_t extra_upper = fold_extra_words;

void run(pe_context& pe) {
  const std::int64_t upper = pe.args().extra[extra_upper];
  start_in_output(pe);
  with_folded(pe, [&] {
    halve_and_double(pe, fold_steps(pe), [upper](std::uint32_t s) { return (upper >> s & 1) != 0; });
  });
}

void fill(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const auto n = static_cast<std::uint32_t>(c.members.members.size());
  fill_fold(comm::fold_to_power_of_two(n), rank, n, a);
  a.extra[extra_upper] = rank;  // the partner of step s differs in bit s
}

}  // namespace

kernel_entry rabenseifner_entry() {
  return {"rabenseifner",
          "all_reduce",
          "halving reduce-scatter, doubling all-gather",
          "recursive_doubling",
          {comm::rank_set::pe, comm::rank_set::cube, comm::rank_set::sip},
          run,
          without_scratch,
          fill};
}

}  // namespace diecast::sw
