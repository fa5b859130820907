// SPDX-License-Identifier: Apache-2.0
// All-reduce on a ring: reduce-scatter, then all-gather. ring_1d sends both ways round at once, half
// of the vector each; ring_1d_unidir sends one way (E out, W in).
#include "sw/kernels/builtin.hpp"
#include "sw/kernels/ring.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {
namespace ring_1d_kernel {

constexpr std::size_t extra_position = 0;  ///< on the ring

ring_place place(pe_context& pe) {
  return {static_cast<std::uint32_t>(pe.args().extra[extra_position]), pe.args().ranks};
}

void run_ring_1d(pe_context& pe) {
  start_in_output(pe);
  all_reduce(pe, both_directions(place(pe), whole(pe)));
}

void run_ring_1d_unidir(pe_context& pe) {
  start_in_output(pe);
  all_reduce(pe, {{place(pe), whole(pe)}});
}

void fill(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  a.extra[extra_position] = ring_position(c, rank);
}

}  // namespace ring_1d_kernel

kernel_entry ring_1d_entry() {
  using namespace ring_1d_kernel;
  return {"ring_1d",       "all_reduce", "ring reduce-scatter and all-gather, two counter-rotating halves",
          "ring_1d",       any_ranks,    run_ring_1d,
          without_scratch, fill};
}

kernel_entry ring_1d_unidir_entry() {
  using namespace ring_1d_kernel;
  return {"ring_1d_unidir", "all_reduce", "ring reduce-scatter and all-gather, one direction",
          "ring_1d_unidir", any_ranks,    run_ring_1d_unidir,
          without_scratch,  fill};
}

}  // namespace diecast::sw
