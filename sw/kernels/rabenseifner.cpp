// SPDX-License-Identifier: Apache-2.0
// All-reduce by halving and doubling: reduce-scatter in log2(n) steps, each half as long as the one before,
// then all-gather back the same way. Nearest partners come first, so that the longest messages go the
// shortest way. Beyond a power of two neighbors fold. (Rabenseifner, "Optimization of
// collective reduction operations", ICCS 2004.)
#include "sw/kernels/builtin.hpp"
#include "sw/kernels/fold.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {
namespace rabenseifner_kernel {

void run(pe_context& pe) {
  const std::uint32_t number = fold_number(pe);
  start_in_output(pe);
  with_folded(pe, [&] {
    // The partner of step s differs in bit s.
    halve_and_double(pe, fold_steps(pe), [number](std::uint32_t s) { return (number >> s & 1) != 0; });
  });
}

}  // namespace rabenseifner_kernel

kernel_entry rabenseifner_entry() {
  using namespace rabenseifner_kernel;
  kernel_entry e{"rabenseifner",       "all_reduce",     "halving reduce-scatter, doubling all-gather",
                 "recursive_doubling", any_ranks,        run,
                 without_scratch,      fill_power_of_two};
  e.sums = numeric::summation::pairwise;
  return e;
}

}  // namespace diecast::sw
