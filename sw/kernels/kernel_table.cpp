// SPDX-License-Identifier: Apache-2.0
#include "sw/kernels/kernel_table.hpp"

#include <stdexcept>
#include <utility>

#include "sw/kernels/barrier.hpp"
#include "sw/kernels/builtin.hpp"
#include "sw/kernels/chunked.hpp"
#include "sw/kernels/packed_plan.hpp"
#include "sw/runtime/pe_context.hpp"
#include "sw/runtime/pe_runtime.hpp"

namespace diecast::sw {

kernel_table builtin_kernels() {
  return {ring_1d_entry(),
          ring_1d_unidir_entry(),
          ring_full_tile_entry(),
          intercube_entry(),
          intercube_pipelined_entry(),
          mesh_2d_entry(),
          torus_2d_entry(),
          tree_binary_entry(),
          double_binary_tree_entry(),
          p2p_tree_entry(),
          hierarchical_3level_entry(),
          hierarchical_pipelined_entry(),
          recursive_doubling_entry(),
          rabenseifner_entry(),
          swing_entry(),
          direct_one_shot_entry(),
          direct_two_shot_entry(),
          all_reduce_two_level_entry(),
          all_reduce_three_level_entry(),
          all_reduce_in_network_entry(),
          all_reduce_packed_entry(),
          all_reduce_steps_entry(),
          reduce_scatter_ring_entry(),
          reduce_scatter_halving_entry(),
          reduce_scatter_pairwise_entry(),
          reduce_scatter_two_level_entry(),
          reduce_scatter_three_level_entry(),
          reduce_scatter_routes_entry(),
          reduce_scatter_steps_entry(),
          all_gather_ring_entry(),
          all_gather_bruck_entry(),
          all_gather_two_level_entry(),
          all_gather_three_level_entry(),
          all_gather_routes_entry(),
          all_gather_steps_entry(),
          broadcast_ring_entry(),
          broadcast_binomial_entry(),
          broadcast_trees_entry(),
          broadcast_packed_entry(),
          broadcast_multicast_entry(),
          reduce_ring_entry(),
          reduce_binomial_entry(),
          reduce_packed_entry(),
          reduce_in_network_entry(),
          all_to_all_bruck_entry(),
          all_to_all_pairwise_entry(),
          all_to_all_direct_entry(),
          all_to_all_two_level_entry(),
          all_to_all_steps_entry(),
          all_to_all_lines_entry(),
          gather_binomial_entry(),
          gather_linear_entry(),
          gather_routes_entry(),
          scatter_binomial_entry(),
          scatter_linear_entry(),
          scatter_routes_entry(),
          send_recv_direct_entry(),
          send_recv_ring_entry(),
          centralized_pull_entry(),
          dissemination_entry(),
          group_dissemination_entry()};
}

bool accumulates_wide(const kernel_entry& kernel, config::accumulation mode, numeric::dtype type) {
  return kernel.collective == comm::to_string(comm::collective::all_reduce) && widens(mode, type);
}

comm::tree_arithmetic tree_arithmetic_of(const kernel_entry& kernel, const argument_context& launch) {
  const config::accumulation mode = launch.config.ccl.accumulate;
  if (!accumulates_wide(kernel, mode, launch.type)) return {launch.type, launch.op, false};
  if (mode == config::accumulation::f32_wire) return {numeric::dtype::f32, launch.op, false};
  return {launch.type, launch.op, true};
}

void run_accumulating(const kernel_entry& kernel, pe_context& pe, config::accumulation mode) {
  const bool barrier = kernel.collective == comm::to_string(comm::collective::barrier);
  pe.enter(barrier ? abi::entry_point::barrier : abi::entry_point::collective);
  if (!accumulates_wide(kernel, mode, pe.args().type)) return kernel.run(pe);
  pe.widen();
  kernel.run(pe);
  pe.narrow();
}

void run_programs(const kernel_entry& kernel, pe_runtime& runtime, const abi::kernel_arguments& arguments,
                  const std::function<void(const kernel_entry&, const abi::kernel_arguments&)>& run) {
  runtime.enter_collective(arguments.ranks);
  run(kernel, arguments);
  runtime.leave_collective();
  if (kernel.then == nullptr) return;
  kernel_entry second = kernel;
  second.run = std::exchange(second.then, nullptr);
  abi::kernel_arguments of_second = arguments;
  of_second.input = of_second.output;
  run_programs(second, runtime, of_second, run);
}

void run_kernel(const kernel_entry& kernel, abi::hal& hal, const abi::kernel_arguments& arguments,
                const runtime_options& options) {
  pe_runtime runtime{hal, options};
  runtime.begin();
  run_programs(kernel, runtime, arguments, [&](const kernel_entry& program, const abi::kernel_arguments& a) {
    if (lies_in_hbm(a)) return run_on_hbm(program, runtime, a, options.accumulate);
    pe_context pe{runtime, a, {}};
    run_accumulating(program, pe, options.accumulate);
    pe.finish();
  });
}

comm::collective_shape shape_of(const kernel_entry& kernel, const argument_context& launch) {
  const auto what = comm::collective_named(kernel.collective);
  if (!what) throw std::logic_error("kernel " + kernel.name + " is of no collective: " + kernel.collective);
  return {*what, launch.count, static_cast<std::uint32_t>(launch.members.members.size()), launch.root};
}

comm::pattern_context pattern_context_of(const argument_context& launch) {
  return {launch.config, launch.shape, launch.members, launch.root, launch.in_workload};
}

const comm::packed_trees& packed_trees_of(const argument_context& c, comm::packed_trees::flow to) {
  return c.memo.get<comm::packed_trees>([&c, to] { return comm::packed_trees(pattern_context_of(c), to); },
                                        static_cast<std::uint32_t>(to));
}

}  // namespace diecast::sw
