// SPDX-License-Identifier: Apache-2.0
// All-reduce by recursive doubling: in step s swap the whole vector with the rank whose number differs in
// bit s, and add. Beyond a power of two some ranks first give their vector to a neighbor and get the result
// back. Both ends of a swap add the same two numbers, so all ranks end with the same bits.
#include "models/comm/trees.hpp"
#include "sw/kernels/builtin.hpp"
#include "sw/kernels/fold.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {
namespace recursive_doubling_kernel {

void run(pe_context& pe) {
  start_in_output(pe);
  with_folded(pe, [&pe] {
    for (std::uint32_t s = 0; s < fold_steps(pe); ++s) {
      pe.step("double", s);
      swap_and_reduce(pe, comm::partner(s), whole(pe));
    }
    finish_average(pe, whole(pe));
  });
}

}  // namespace recursive_doubling_kernel

kernel_entry recursive_doubling_entry() {
  using namespace recursive_doubling_kernel;
  kernel_entry e{"recursive_doubling", "all_reduce",     "log2(n) swaps of the whole vector",
                 "recursive_doubling", any_ranks,        run,
                 without_scratch,      fill_power_of_two};
  e.sums = numeric::summation::pairwise;
  return e;
}

}  // namespace diecast::sw
