// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/isolate.hpp"

#include <fmt/format.h>

#include "platforms/run/child.hpp"
#include "platforms/run/simulate.hpp"

namespace diecast::platforms {

void add_isolated_times(const prepared_run& run, const app::registries& tables, run_outcome& o) {
  if (o.status != run_status::ok && o.status != run_status::wrong) return;
  for (std::uint32_t i = 0; i < o.streams.size(); ++i) {
    stream_row& stream = o.streams[i];
    stream.not_isolated = run.workload->needs_others(i);
    if (!stream.not_isolated.empty()) continue;
    const run_outcome alone = run_in_child([&] { return simulate(run, tables, i); });
    o.wall_s += alone.wall_s;
    if (alone.status == run_status::deadlock || alone.status == run_status::limit) {
      // Messages that balance by number may still be for another stream; the run of all has shown no fault.
      stream.not_isolated =
          fmt::format("{} {}", to_string(alone.status), alone.message.substr(0, alone.message.find('\n')));
      continue;
    }
    if (alone.status != run_status::ok || i >= alone.streams.size()) {
      o.status = alone.status == run_status::ok ? run_status::internal : alone.status;
      o.message = fmt::format("stream {} alone: {}", stream.name, alone.message);
      return;
    }
    stream.isolated_ns = alone.streams[i].time_ns;
    if (stream.time_ns && stream.isolated_ns.value_or(0) > 0)
      stream.slowdown = *stream.time_ns / *stream.isolated_ns;
  }
}

}  // namespace diecast::platforms
