// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/isolate.hpp"

#include <fmt/format.h>

#include "platforms/run/child.hpp"
#include "platforms/run/simulate.hpp"

namespace diecast::platforms {

void add_isolated_times(const prepared_run& run, const app::registries& tables, run_outcome& o) {
  if (o.status != run_status::ok && o.status != run_status::wrong) return;
  for (std::uint32_t i = 0; i < o.streams.size(); ++i) {
    const run_outcome alone = run_in_child([&] { return simulate(run, tables, i); });
    if (alone.status != run_status::ok || i >= alone.streams.size()) {
      o.status = alone.status == run_status::ok ? run_status::internal : alone.status;
      o.message = fmt::format("stream {} alone: {}", o.streams[i].name, alone.message);
      return;
    }
    stream_row& stream = o.streams[i];
    stream.isolated_ns = alone.streams[i].time_ns;
    if (stream.time_ns && stream.isolated_ns.value_or(0) > 0)
      stream.slowdown = *stream.time_ns / *stream.isolated_ns;
    o.wall_s += alone.wall_s;
  }
}

}  // namespace diecast::platforms
