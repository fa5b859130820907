// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/bound.hpp"

#include "models/cost/algorithm_cost.hpp"
#include "models/cost/lower_bound.hpp"
#include "platforms/run/shards.hpp"

namespace diecast::platforms {
namespace {

cost::bound_request request_of(const prepared_run& run, comm::collective what) {
  return {what, run.members, run.point.bytes, run.launch ? run.launch->root : 0};
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
  const auto what = comm::collective_named(run.point.collective);
  if (!what || run.program || !run.shards.empty()) return std::nullopt;
  const auto expected = cost::estimate_of(run.machine.topology, run.machine.config, request_of(run, *what),
                                          run.point.algorithm);
  return expected ? std::optional(expected->ns()) : std::nullopt;
}

void rate_against_bound(const prepared_run& run, run_outcome& outcome) {
  outcome.stats.emplace_back("latency_goal_ns",
                             cost::latency_goal_ns(run.machine.topology, run.machine.config, run.members));
  if (const auto expected = expected_ns(run)) outcome.stats.emplace_back("expected_ns", *expected);
  if (outcome.bound_ns > 0 && outcome.time_ns > 0) outcome.efficiency = outcome.bound_ns / outcome.time_ns;
}

}  // namespace diecast::platforms
