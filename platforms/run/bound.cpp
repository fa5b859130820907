// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/bound.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

#include "models/comm/collective.hpp"
#include "models/cost/lower_bound.hpp"
#include "models/types/error.hpp"
#include "platforms/run/child.hpp"
#include "platforms/run/simulate.hpp"
#include "sw/mock_machine/race.hpp"
#include "sw/mock_machine/timed_run.hpp"

namespace diecast::platforms {

namespace {

/// The bound of a run of one kernel; nothing for collectives without a known bound.
std::optional<cost::bound_request> request_of(const prepared_run& run) {
  const auto what = comm::collective_named(run.point.collective);
  if (!what) return std::nullopt;
  return cost::bound_request{*what, run.members, run.point.bytes, run.launch()->arguments.root};
}

/// What an estimate that was cut off would have come to, from the share of its bytes that have arrived.
std::optional<double> by_progress(const prepared_run& run, const sw::timed_outcome& o) {
  const auto r = request_of(run);
  if (!r || !o.limited) return std::nullopt;
  const fabric::topology& t = run.machine.topology;
  const config::machine_config& c = run.machine.config;
  const std::string& name = run.launch()->kernel.name;
  return sw::end_by_progress(o, cost::bound_of(t, c, *r, cost::lower_bound(t, c, *r), name));
}

}  // namespace

void add_bound(const prepared_run& run, run_outcome& outcome) {
  const auto r = request_of(run);
  if (!r) return;
  const cost::bound b = cost::lower_bound(run.machine.topology, run.machine.config, *r);
  if (b.terms.empty()) return;
  outcome.bound_ns = b.ns;
  outcome.bound_kind = b.kind;
  outcome.bound_detail = b.terms.front().detail;
}

std::optional<double> expected_ns(const prepared_run& run) {
  if (run.machine.config.sim.fidelity == config::run_fidelity::message)
    return std::nullopt;  // as long as the run
  const kernel_launch* const l = run.launch();
  if (l == nullptr || !sw::not_estimated(run.plan, l->kernel).empty()) return std::nullopt;
  const sw::timed_limits limits{sim_time::never(), sw::most_events(run.machine.config.shape().pes())};
  try {
    const auto o = sw::run_timed(run.machine.topology, run.plan, l->kernel, l->arguments, limits);
    return o.finished ? o.time_ns : by_progress(run, o);
  } catch (const std::exception&) {
    return std::nullopt;  // the run itself will report the error
  }
}

void rate_against_bound(run_outcome& outcome) {
  if (outcome.bound_ns > 0 && outcome.time_ns > 0) outcome.efficiency = outcome.bound_ns / outcome.time_ns;
}

void report_bandwidth(run_outcome& o) {
  if (o.time_ns <= 0) return;
  o.algbw_gbytes_s = static_cast<double>(o.bytes) / o.time_ns;
  o.busbw_gbytes_s =
      o.algbw_gbytes_s * comm::bus_bandwidth_factor(*comm::collective_named(o.collective), o.ranks);
}

namespace {

run_estimate row_of(const run_point& p) {
  run_estimate e;
  e.collective = p.collective;
  e.algorithm = p.algorithm;
  e.rank_set = p.ranks ? comm::to_string(*p.ranks) : "";
  e.bytes = p.bytes;
  return e;
}

std::string not_modelled(const prepared_run& run) {
  const config::machine_config& c = run.machine.config;
  if (run.launch() == nullptr) return "operations of a workload";
  if (!c.faults.empty()) return "injected faults";
  if (c.comm.checksum != config::packet_checksum::none) return "checksums of packets (comm.checksum)";
  return sw::not_estimated(run.plan, run.launch()->kernel);
}

/// Wall seconds of a run's simulation, elaboration apart; empty when it does not end well.
std::optional<double> simulation_seconds(const prepared_run& run, const app::registries& tables) {
  const auto begin = std::chrono::steady_clock::now();
  const run_outcome o = run_in_child([&] { return simulate(run, tables); });
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  if (o.status != run_status::ok) return std::nullopt;
  return std::max(0.0, wall.count() - o.elaborate_s);
}

void add_wall_times(std::vector<run_estimate>& rows, const std::vector<std::unique_ptr<prepared_run>>& runs,
                    const app::registries& tables) {
  std::optional<std::size_t> shortest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].expected_ns || rows[i].packet_hops == 0) continue;
    if (!shortest || rows[i].packet_hops < rows[*shortest].packet_hops) shortest = i;
  }
  if (!shortest) return;
  const auto seconds = simulation_seconds(*runs[*shortest], tables);
  if (!seconds) return;
  const double per_hop = *seconds / static_cast<double>(rows[*shortest].packet_hops);
  for (run_estimate& row : rows)
    if (row.expected_ns) row.wall_s = per_hop * static_cast<double>(row.packet_hops);
}

/// The kernel run on the timed mock machine (sw/mock_machine/timed_run.hpp).
run_estimate estimate_of(const prepared_run& run) {
  run_outcome described;
  run.describe(described);
  run_estimate e = row_of(run.point);
  e.rank_set = comm::to_string(run.members.set);
  e.ranks = run.members.members.size();
  e.bound_ns = described.bound_ns;
  e.bound_kind = described.bound_kind;
  e.fits = true;
  if (const std::string what = not_modelled(run); !what.empty()) {
    e.why_not = "not estimated: " + what;
    return e;
  }
  const sw::timed_outcome o =
      sw::run_timed(run.machine.topology, run.plan, run.launch()->kernel, run.launch()->arguments);
  e.messages = o.messages;
  e.packet_hops = o.packet_hops;
  if (o.finished) e.expected_ns = o.time_ns;
  e.why_not = o.why_not;
  return e;
}

}  // namespace

std::vector<run_estimate> estimates_of(const machine_model& machine, const app::registries& tables,
                                       const std::vector<run_point>& points) {
  std::vector<run_estimate> rows;
  std::vector<std::unique_ptr<prepared_run>> runs;
  for (const run_point& p : points) {
    try {
      runs.push_back(prepare_point(machine, tables, p));
      rows.push_back(estimate_of(*runs.back()));
    } catch (const user_error& e) {
      if (runs.size() == rows.size()) runs.emplace_back();
      run_estimate row = row_of(p);
      const auto* const lack = dynamic_cast<const shortage_error*>(&e);
      row.why_not = lack == nullptr ? to_string(e.problems().front())
                                    : fmt::format("needs {} KiB of the {} of {} KiB",
                                                  (lack->lacks().needed + 1023) / 1024, lack->lacks().memory,
                                                  lack->lacks().of / 1024);
      rows.push_back(std::move(row));
    }
  }
  add_wall_times(rows, runs, tables);
  return rows;
}

}  // namespace diecast::platforms
