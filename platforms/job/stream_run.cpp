// SPDX-License-Identifier: Apache-2.0
#include "platforms/job/stream_run.hpp"

#include "platforms/job/algorithms.hpp"
#include "platforms/job/session.hpp"

namespace diecast::platforms {

std::unique_ptr<host_side> stream_run::hosts(std::optional<std::uint32_t> only, std::uint64_t sips,
                                             start_agreement& agreement,
                                             std::function<void()> on_round) const {
  return std::make_unique<workload_session>(*this, only, sips, agreement, std::move(on_round));
}

void stream_run::load_streams(const app::registries& tables) {
  const sw::workload_tables known{tables.ops, tables.kernels, tables.patterns,
                                  user_rules(machine.config.ccl, tables)};
  workload = std::make_unique<sw::workload_program>(file, known, machine.config);
  plan = workload->install();
  spoil_plan();
  members = {comm::rank_set::pe, workload->workload().participants};
  uses_signals = workload->uses_signals();
}

}  // namespace diecast::platforms
