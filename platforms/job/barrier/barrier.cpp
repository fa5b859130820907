// SPDX-License-Identifier: Apache-2.0
#include "sw/host/barrier.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "models/comm/collective.hpp"
#include "models/config/text.hpp"
#include "models/cost/barrier_cost.hpp"
#include "models/types/error.hpp"
#include "platforms/job/algorithms.hpp"
#include "platforms/job/jobs.hpp"
#include "platforms/job/kernel_run.hpp"
#include "platforms/job/signal_judge.hpp"

namespace diecast::platforms {
namespace {

/// Team and algorithm, `auto` resolved.
struct barrier_plan {
  comm::team_spec team;
  comm::barrier_algorithm algorithm{};
  std::string reason;  ///< why this algorithm
  std::uint32_t ranks{};
};

/// The ranks of the point's team, all their PEs as `members`. Throws user_error when the team, the radix or
/// the memory do not fit.
barrier_plan plan_barrier(const machine_model& machine, const run_point& point, comm::group& members) {
  const config::machine_config& c = machine.config;
  const comm::rank_set set = point.ranks.value_or(comm::rank_set::cube);
  barrier_plan plan;
  plan.team =
      point.team.value_or(comm::team_spec{0, 1, comm::world_size(machine.topology.population(), set), {}});
  comm::check_sync_memory(c);
  members = comm::barrier_members(machine.topology.population(), set, plan.team);
  comm::check_sync_homes(c, members);
  plan.ranks = static_cast<std::uint32_t>(comm::ranks_of(plan.team).size());
  if (point.algorithm == "auto") {
    const cost::barrier_costs costs = cost::barrier_costs_of(machine.topology, c, members);
    plan.algorithm = costs.cheapest();
    plan.reason = costs.reason();
  } else {
    plan.algorithm = *comm::barrier_named(point.algorithm);
    plan.reason = "given";
  }
  comm::check_team_flags(plan.algorithm, plan.ranks, c.ccl.barrier_radix,
                         abi::parse_errata(c.ccl.errata)->has(abi::erratum::unchecked_radix));
  return plan;
}

class barrier_judge final : public signal_judge {
 public:
  barrier_judge(const prepared_run& run, const barrier_plan& plan, events::hub& events)
      : signal_judge(run, events), plan_(plan) {
    checker_.expect("", run.members.members, comm::rank_cores(run.members).rank_of());
  }

 private:
  void judge_barriers(const host_side& s, const barrier_counts& sum, run_outcome& o) const override {
    o.wrong_elements = checker_.escapes();  // a barrier has no others
    if (s.finished()) o.verified = true;
    report_escapes(o);
    o.verified_how = "no PE left a barrier before every PE of the team had entered it";

    using abi::firmware_count;
    const double barriers = static_cast<double>(sum.of(firmware_count::barriers)) /
                            static_cast<double>(run_.members.members.size());
    const auto each = [&](std::uint64_t n) { return barriers > 0 ? static_cast<double>(n) / barriers : 0.0; };
    const std::uint64_t radix = run_.machine.config.ccl.barrier_radix;
    const auto work = comm::work_of(plan_.algorithm, plan_.ranks, static_cast<std::uint32_t>(radix));
    const auto add = [&o](const char* name, double value) { o.stats.emplace_back(name, value); };
    const auto formula = [&](const char* name, std::uint64_t of_rank) {
      add(name, static_cast<double>(of_rank * plan_.ranks));
    };
    add("barriers", barriers);
    for (const barrier_counter& c : barrier_counters())
      o.stats.emplace_back(fmt::format("{}_per_barrier", c.name), each(c.of(sum)));
    if (work) formula("signals_set_formula", work->signals_set);
    if (work) formula("flags_checked_formula", work->flags_checked);
    add("barrier_escapes", static_cast<double>(checker_.escapes()));
    add("barrier_escapes_ranks", static_cast<double>(checker_.escaped_ranks()));
  }

  const barrier_plan& plan_;
};

/// The algorithm of the user's first rule for the barrier, whose size is 0 bytes, becomes the point's.
/// Returns the reason; empty when there is no such rule.
std::string apply_rules(const machine_model& machine, const app::registries& tables, run_point& point) {
  const comm::rank_set set = point.ranks.value_or(comm::rank_set::cube);
  const std::size_t ranks =
      point.team ? comm::ranks_of(*point.team).size() : comm::world_size(machine.topology.population(), set);
  const auto rules = user_rules(machine.config.ccl, tables);
  const auto* const rule = cost::first_match(rules, {comm::collective::barrier, 0, set, ranks});
  if (rule == nullptr) return "";
  point.algorithm = rule->algorithm;
  return fmt::format("rule {}", rule->where);
}

struct barrier_run final : kernel_run {
  barrier_run(const machine_model& given, const app::registries& tables, const run_point& what);

  [[nodiscard]] std::unique_ptr<judge> watch(events::hub& events) const override {
    return std::make_unique<barrier_judge>(*this, team_plan, events);
  }
  void set_up(abi::host_hal& host, std::span<const abi::kernel_arguments> arguments) const override {
    sw::prepare_barrier(host, launched_->arguments, arguments);
  }
  void describe(run_outcome& o) const override {
    kernel_run::describe(o);
    o.ranks = team_plan.ranks;
    o.team = comm::to_text(team_plan.team);
  }

  barrier_plan team_plan;
};

barrier_run::barrier_run(const machine_model& given, const app::registries& tables, const run_point& what)
    : kernel_run(given, machine_for(given, what.algorithm), what) {
  auto known = algorithms_of(tables, point.collective);
  known.emplace_back(automatic_algorithm);
  if (point.algorithm.empty()) point.algorithm = automatic_algorithm;
  if (std::ranges::find(known, point.algorithm) == known.end())
    throw user_error(problem{"--algorithm",
                             config::with_nearest("no such barrier algorithm", point.algorithm, known),
                             point.algorithm, config::join(known)});
  const bool chosen = point.algorithm == automatic_algorithm;
  const std::string rule = chosen ? apply_rules(machine, tables, point) : "";
  if (chosen) point.chosen_by = rule.empty() ? chooser::estimate : chooser::rule;
  team_plan = plan_barrier(machine, point, members);
  if (!rule.empty()) team_plan.reason = rule;
  point.bytes = 0;
  point.algorithm = comm::to_string(team_plan.algorithm);
  algorithm_reason = team_plan.reason;
  uses_signals = true;
  const sw::kernel_entry* const kernel = kernel_of(tables, point);
  if (kernel == nullptr)
    throw user_error(problem{"--algorithm", "this program has no kernel for the barrier " + algorithm_reason,
                             point.algorithm, config::join(known)});
  launch_with(*kernel, 0);
  wire(tables);
}

/// A barrier moves no data.
void check_flags(const job_request& request) {
  if (request.estimate)
    throw user_error(
        problem{"--estimate", "barriers are not estimated", request.point.collective, "another collective"});
  static const std::set<std::string> of_data{"--bytes", "--dtype", "--op", "--data", "--no-data"};
  std::vector<problem> problems;
  for (const std::string& flag : request.run_flags) {
    if (!of_data.contains(flag)) continue;
    problems.push_back(
        {flag, "does not apply to barriers", request.point.collective, "a collective that moves data"});
  }
  if (!problems.empty()) throw user_error(std::move(problems));
}

/// A run per algorithm and team.
std::vector<run_point> barrier_points(const app::registries& tables, const job_request& request,
                                      const config::machine_config& /*config*/) {
  refuse_isolate(request);
  check_flags(request);
  std::vector<std::optional<comm::team_spec>> teams(request.teams.begin(), request.teams.end());
  if (teams.empty()) teams.emplace_back();
  std::vector<run_point> points;
  for (const std::string& algorithm : requested_algorithms(tables, request)) {
    for (const auto& team : teams) {
      run_point& p = points.emplace_back(request.point);
      p.algorithm = algorithm;
      p.team = team;
      p.if_possible = requests_all(request);
    }
  }
  return points;
}

}  // namespace

job_entry barrier_job() {
  return {"barrier",
          {.moves_data = false},
          [](const std::string& collective, const std::string& workload) {
            return workload.empty() && collective == comm::to_string(comm::collective::barrier);
          },
          barrier_points,
          [](const machine_model& machine, const app::registries& tables,
             const run_point& point) -> std::unique_ptr<prepared_run> {
            return std::make_unique<barrier_run>(machine, tables, point);
          }};
}

}  // namespace diecast::platforms
