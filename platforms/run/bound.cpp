// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/bound.hpp"

#include "models/comm/collective.hpp"
#include "models/cost/lower_bound.hpp"
#include "platforms/run/prepare.hpp"
#include "platforms/run/shards.hpp"
#include "sw/mock_machine/race.hpp"

namespace diecast::platforms {
namespace {

cost::bound_request request_of(const prepared_run& run, comm::collective what) {
  return {what, run.members, run.point.bytes, run.launch ? run.launch->root : 0};
}

/// What an estimate that was cut off would have come to, from the share of its bytes that have arrived.
std::optional<double> by_progress(const prepared_run& run, const sw::timed_outcome& o) {
  const auto what = comm::collective_named(run.point.collective);
  if (!what || !o.limited) return std::nullopt;
  const fabric::topology& t = run.machine.topology;
  const config::machine_config& c = run.machine.config;
  const cost::bound_request r = request_of(run, *what);
  return sw::end_by_progress(o, cost::bound_of(t, c, r, cost::lower_bound(t, c, r), run.kernel.name).sent);
}

}  // namespace

void add_bound(const prepared_run& run, run_outcome& outcome) {
  const auto what = comm::collective_named(run.point.collective);
  if (!what) return;  // a workload of streams: no one collective says what it must do
  if (!run.shards.empty()) return add_bound_of_shards(run, outcome);
  const cost::bound b = cost::lower_bound(run.machine.topology, run.machine.config, request_of(run, *what));
  if (b.terms.empty()) return;
  outcome.bound_ns = b.ns;
  outcome.bound_kind = b.kind;
  outcome.bound_detail = b.terms.front().detail;
}

std::optional<double> expected_ns(const prepared_run& run) {
  if (run.machine.config.sim.fidelity == config::run_fidelity::message)
    return std::nullopt;  // as long as the run
  if (!run.launch || run.barrier || !sw::not_estimated(run.plan, run.kernel).empty()) return std::nullopt;
  const sw::timed_limits limits{sim_time::never(), sw::most_events(run.machine.config.shape().pes())};
  try {
    const auto o = sw::run_timed(run.machine.topology, run.plan, run.kernel, *run.launch, limits);
    return o.finished ? o.time_ns : by_progress(run, o);
  } catch (const std::exception&) {
    return std::nullopt;  // the run itself will say what is wrong
  }
}

void rate_against_bound(const prepared_run& run, run_outcome& outcome) {
  outcome.stats.emplace_back("latency_goal_ns",
                             cost::latency_goal_ns(run.machine.topology, run.machine.config, run.members));
  if (outcome.bound_ns > 0 && outcome.time_ns > 0) outcome.efficiency = outcome.bound_ns / outcome.time_ns;
}

void report_bandwidth(run_outcome& o) {
  if (o.time_ns <= 0) return;
  o.algbw_gbytes_s = static_cast<double>(o.bytes) / o.time_ns;
  o.busbw_gbytes_s =
      o.algbw_gbytes_s * comm::bus_bandwidth_factor(*comm::collective_named(o.collective), o.ranks);
}

}  // namespace diecast::platforms
