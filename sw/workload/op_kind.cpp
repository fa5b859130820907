// SPDX-License-Identifier: Apache-2.0
#include "sw/workload/op_kind.hpp"

#include <algorithm>

#include "models/comm/collective.hpp"

namespace diecast::sw {

op_table builtin_ops(const kernel_table& kernels) {
  op_table ops{compute_op(), delay_op(), memory_op(), barrier_op()};
  for (op_kind& k : message_ops()) ops.push_back(std::move(k));
  for (const kernel_entry& k : kernels) {
    const auto same = [&k](const op_kind& known) { return known.schema.name == k.collective; };
    if (std::ranges::none_of(ops, same)) ops.push_back(collective_op(k.collective));
  }
  return ops;
}

std::uint64_t data_seed(const config::machine_config& config, std::uint32_t op, std::uint64_t iteration) {
  return events::mix(events::mix(config.sim.seed, op), iteration);
}

}  // namespace diecast::sw
