// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/reruns.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "models/random/stream.hpp"
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

namespace {

/// The largest delay that a draw gives a PE of the run, in ns.
double largest_delay_ns(const prepared_run& run, std::uint64_t draw) {
  sim_time largest;
  for (const pe_coord pe : run.members.members) largest = std::max(largest, jitter_delay(run, draw, pe));
  return largest.ns();
}

double median_of(const std::vector<double>& sorted) {
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/// Largest less smallest, in percent of `median`.
double spread_percent(const std::vector<double>& sorted, double median) {
  return median > 0 ? 100 * (sorted.back() - sorted.front()) / median : 0;
}

}  // namespace

sim_time jitter_delay(const prepared_run& run, std::uint64_t draw, pe_coord pe) {
  if (draw == 0) return {};
  const config::machine_config& c = run.machine.config;
  const random::stream source(c.sim.seed, pe_path(c.shape(), pe), "jitter");
  return picoseconds(source.below(draw, run.point.jitter_ns * 1000 + 1));
}

jitter_times summary_of(std::vector<double> times_ns, std::vector<double> delays_ns) {
  jitter_times j;
  std::vector<double> sorted = times_ns, without;
  for (std::size_t i = 0; i < times_ns.size(); ++i) without.push_back(times_ns[i] - delays_ns[i]);
  std::sort(sorted.begin(), sorted.end());
  std::sort(without.begin(), without.end());
  j.median_ns = median_of(sorted);
  j.min_ns = sorted.front();
  j.max_ns = sorted.back();
  j.spread_percent = spread_percent(sorted, j.median_ns);
  j.spread_without_delay_percent = spread_percent(without, median_of(without));
  j.times_ns = std::move(times_ns);
  j.delays_ns = std::move(delays_ns);
  return j;
}

void add_jitter(const prepared_run& run, const app::registries& tables, run_outcome& o) {
  if (o.status != run_status::ok) return;
  std::vector<double> times{o.time_ns}, delays{0.0};
  for (std::uint64_t draw = 1; draw < run.point.jitter_runs; ++draw) {
    const run_outcome drawn = run_in_child([&] { return simulate(run, tables, {}, draw); });
    o.wall_s += drawn.wall_s;
    if (drawn.status != run_status::ok) {
      o.status = drawn.status;
      o.message = fmt::format("draw {} of --jitter: {}", draw, drawn.message);
      return;
    }
    if (drawn.data_fingerprint != o.data_fingerprint)
      o.notes.push_back(fmt::format(
          "the results of draw {} of --jitter differ from those of the run without delays", draw));
    times.push_back(drawn.time_ns);
    delays.push_back(largest_delay_ns(run, draw));
  }
  o.jitter = summary_of(std::move(times), std::move(delays));
  o.jitter->limit_ns = run.point.jitter_ns;
}

}  // namespace diecast::platforms
