// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/wait_rows.hpp"

#include <fmt/format.h>

namespace diecast::platforms {

std::string wait_columns() {
  std::string text = "pe";
  for (std::size_t c = 0; c < analysis::wait_causes; ++c)
    text += fmt::format(",{}_ns", events::to_string(static_cast<events::wait_cause>(c)));
  return text + ",poll_ns,never_ended_ns";
}

std::string wait_rows(const prepared_run& run, const analysis::waited_time& waits, sim_time now,
                      const std::function<bool(sip_id)>& here) {
  std::string text;
  for (const pe_coord pe : run.members.members) {
    if (!here(pe.sip)) continue;
    const analysis::core_waits core = waits.of(pe);
    text += pe_path(run.machine.config.shape(), pe);
    for (const sim_time t : core.by_cause) text += fmt::format(",{}", t.ns());
    const sim_time open = core.asleep_since ? now - *core.asleep_since : sim_time{};
    text += fmt::format(",{},{}\n", core.poll.ns(), open.ns());
  }
  return text;
}

}  // namespace diecast::platforms
