// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/base/kernel_table.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/comm/sync_layout.hpp"
#include "models/config/population.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/base/chunked.hpp"
#include "sw/collectives/base/member_levels.hpp"
#include "sw/runtime/pe_context.hpp"
#include "sw/runtime/pe_runtime.hpp"

namespace diecast::sw {

kernel_table builtin_kernels() {
  kernel_table all;
  for (const auto family :
       {ring_kernels, intercube_kernels, grid_kernels, tree_kernels, partners_kernels, direct_kernels,
        block_exchange_kernels, two_level_kernels, three_level_kernels, rooted_kernels, packed_tree_kernels,
        in_network_kernels, packed_route_kernels, all_to_all_kernels, all_to_all_steps_kernels,
        all_to_all_lines_kernels, barrier_kernels}) {
    const kernel_table more = family();
    all.insert(all.end(), more.begin(), more.end());
  }
  std::ranges::stable_sort(all, {},
                           [](const kernel_entry& k) { return comm::collective_named(k.collective); });
  return all;
}

pattern_table builtin_patterns() {
  pattern_table all;
  for (const auto family : {ring_patterns, level_patterns, tree_patterns, partner_patterns, exchange_patterns,
                            in_network_patterns, barrier_patterns}) {
    const pattern_table more = family();
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
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

const std::vector<std::uint32_t>& ring_positions(const argument_context& c) {
  struct ring {
    std::vector<std::uint32_t> positions;
  };
  return c.memo
      .get<ring>([&c] {
        const std::vector<std::uint32_t> order = comm::ring_order(c.shape, c.members);
        ring r{std::vector<std::uint32_t>(order.size())};
        for (std::uint32_t position = 0; position < order.size(); ++position)
          r.positions[order[position]] = position;
        return r;
      })
      .positions;
}

const comm::rank_grid& grid_of(const argument_context& c) {
  return c.memo.get<comm::rank_grid>([&c] { return comm::rank_grid(pattern_context_of(c)); });
}

const config::memory_channels& channels_of(const argument_context& launch) {
  return launch.memo.get<config::memory_channels>(
      [&launch] { return config::memory_channels(launch.config); });
}

const comm::member_levels& levels_of(const argument_context& c) {
  return c.memo.get<comm::member_levels>([&c] { return comm::member_levels(c.shape, c.members); });
}

const comm::rank_cores& rank_cores_of(const argument_context& c) {
  return c.memo.get<comm::rank_cores>([&c] { return comm::rank_cores(c.members); });
}

}  // namespace diecast::sw
