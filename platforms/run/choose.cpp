// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/choose.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/cost/algorithm_cost.hpp"
#include "models/cost/choice.hpp"
#include "models/types/shortage.hpp"
#include "platforms/run/ccl_settings.hpp"
#include "platforms/run/shards.hpp"
#include "platforms/run/user_rules.hpp"

namespace diecast::platforms {
namespace {

using cost::candidate;

comm::rank_set rank_set_of(const run_point& point, const app::registries& tables) {
  if (point.ranks) return *point.ranks;
  const auto first = std::find_if(tables.kernels.begin(), tables.kernels.end(),
                                  [&](const auto& k) { return k.collective == point.collective; });
  return first->rank_sets.front();
}

/// The point as an algorithm runs it: on the ranks the user gave, by the mapper of the algorithm's own
/// settings, else on the set that all candidates share.
run_point point_for(const config::machine_config& config, run_point point, const std::string& name,
                    comm::rank_set shared) {
  point.algorithm = name;
  if (!point.ranks && !settings_of(config, name).mapper) point.ranks = shared;
  return point;
}

const sw::kernel_entry& kernel_of(const app::registries& tables, const run_point& point) {
  return *std::find_if(tables.kernels.begin(), tables.kernels.end(), [&](const sw::kernel_entry& k) {
    return k.collective == point.collective && k.name == point.algorithm;
  });
}

comm::group members_of(const machine_model& machine, const app::registries& tables, const run_point& point) {
  return members_for(tables, machine.config, kernel_of(tables, point), point);
}

/// The first rule for the point on the ranks that its algorithm has.
const cost::algorithm_rule* matching_rule(const machine_model& machine, const app::registries& tables,
                                          const run_point& point,
                                          const std::vector<cost::algorithm_rule>& rules,
                                          comm::rank_set shared) {
  const comm::collective what = *comm::collective_named(point.collective);
  const comm::group common = comm::map_ranks(machine.topology.population(), shared);
  for (const cost::algorithm_rule& rule : rules) {
    if (rule.what != what || point.bytes < rule.from_bytes || point.bytes > rule.to_bytes) continue;
    const run_point ruled = point_for(machine.config, point, rule.algorithm, shared);
    const comm::group members = ruled.ranks ? common : members_of(machine, tables, ruled);
    if (cost::first_match({rule}, {what, point.bytes, members.set, members.members.size()}) != nullptr)
      return &rule;
  }
  return nullptr;
}

/// The run that a rule asks for. Ranks that nobody gave are the rule's affair.
std::unique_ptr<prepared_run> ruled_run(const machine_model& machine, const app::registries& tables,
                                        run_point point, const cost::algorithm_rule& rule, bool ranks_given) {
  point.algorithm_reason = fmt::format("rule {}", rule.where);
  try {
    return std::make_unique<prepared_run>(machine, tables, std::move(point));
  } catch (const user_error& e) {
    std::vector<problem> problems = e.problems();
    for (problem& p : problems) {
      if (p.where == "--ranks" && !ranks_given) p.where = "ccl: " + rule.where;
    }
    throw user_error(std::move(problems));
  }
}

/// Candidates by expected time; skips algorithms without an estimate. They do the same job: an algorithm
/// whose own settings put it on another number of ranks than `shared` has is none of them.
std::vector<candidate> by_expected_time(const machine_model& machine, const app::registries& tables,
                                        const run_point& point, const std::vector<std::string>& names,
                                        comm::rank_set shared) {
  const comm::collective what = *comm::collective_named(point.collective);
  const comm::group common = comm::map_ranks(machine.topology.population(), shared);
  const std::size_t ranks = common.members.size();
  const auto root = static_cast<std::uint32_t>(machine.config.ccl.root_rank);
  // No candidate has another rank for it.
  if (comm::has_root(what)) (void)comm::root_of({machine.config, machine.topology.shape(), common, root});
  std::vector<candidate> ranked;
  for (const std::string& name : names) {
    try {
      const run_point own = point_for(machine.config, point, name, shared);
      const comm::group members = members_of(machine, tables, own);
      if (sharded_layout(machine.config, own, kernel_of(tables, own), members.set)) continue;
      if (members.set != shared || members.members.size() != ranks) continue;
      const auto expected =
          cost::estimate_of(machine.topology, machine.config, {what, members, point.bytes, root}, name);
      if (expected) ranked.push_back({name, expected->ns()});
    } catch (const user_error&) {
      continue;  // these ranks do not form what it needs
    }
  }
  cost::sort_by_time(ranked);
  return ranked;
}

/// What each candidate that cannot run is short of or lacks otherwise.
class refusals {
 public:
  void add(const user_error& e) {
    problems.insert(problems.end(), e.problems().begin(), e.problems().end());
    const auto* const lack = dynamic_cast<const shortage_error*>(&e);
    if (lack == nullptr || (least_ && least_->needed <= lack->lacks().needed)) return;
    least_ = lack->lacks();
  }
  [[noreturn]] void raise() const {
    if (least_) throw shortage_error(problems, *least_);
    throw user_error(problems);
  }

  std::vector<problem> problems;

 private:
  std::optional<shortage> least_;  ///< the smallest of those that a smaller job would not have
};

/// Where no time is known there is no choice but the algorithm that can run while no other can. Throws
/// user_error with why each cannot.
std::unique_ptr<prepared_run> only_one(const machine_model& machine, const app::registries& tables,
                                       const run_point& asked, comm::rank_set shared,
                                       const std::vector<std::string>& names) {
  std::vector<std::unique_ptr<prepared_run>> runs;
  refusals refused;
  for (const std::string& name : names) {
    run_point point = point_for(machine.config, asked, name, shared);
    point.algorithm_reason = fmt::format("auto: {} is the only algorithm that can run", name);
    try {
      runs.push_back(std::make_unique<prepared_run>(machine, tables, point));
    } catch (const user_error& e) {
      const std::size_t known = refused.problems.size();
      refused.add(e);
      for (std::size_t i = known; i < refused.problems.size(); ++i)
        refused.problems[i].what.insert(0, name + " cannot run: ");
    }
  }
  if (runs.size() == 1) return std::move(runs.front());
  if (runs.size() > 1) {
    throw user_error(problem{"--algorithm", "the cost model has no estimate for any algorithm",
                             asked.collective, "the name of one"});
  }
  refused.raise();
}

std::unique_ptr<prepared_run> cheapest(const machine_model& machine, const app::registries& tables,
                                       const run_point& asked, comm::rank_set shared,
                                       const std::vector<std::string>& names,
                                       const std::vector<candidate>& ranked) {
  if (ranked.empty()) return only_one(machine, tables, asked, shared, names);
  std::string others;
  refusals refused;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    run_point point = point_for(machine.config, asked, ranked[i].name, shared);
    point.algorithm_reason = cost::reason_for(ranked, i) + others;
    try {
      return std::make_unique<prepared_run>(machine, tables, point);
    } catch (const user_error& e) {
      others += fmt::format("; {} cannot run here", ranked[i].name);
      refused.add(e);
    }
  }
  refused.raise();
}

}  // namespace

std::unique_ptr<prepared_run> prepare_point(const machine_model& machine, const app::registries& tables,
                                            run_point point) {
  // Barriers choose by themselves (barrier_run).
  const bool barrier = point.collective == comm::to_string(comm::collective::barrier);
  if (barrier || point.algorithm != automatic_algorithm || !point.workload.empty()) {
    return std::make_unique<prepared_run>(machine, tables, std::move(point));
  }
  const comm::rank_set set = [&] {
    (void)algorithms_of(tables, point.collective);  // throws when there are none
    return rank_set_of(point, tables);
  }();
  const std::vector<std::string> names = algorithms_of(tables, point.collective, set);
  const auto rules = user_rules(machine.config.ccl, tables);
  if (const auto* rule = matching_rule(machine, tables, point, rules, set)) {
    return ruled_run(machine, tables, point_for(machine.config, point, rule->algorithm, set), *rule,
                     point.ranks.has_value());
  }
  return cheapest(machine, tables, point, set, names, by_expected_time(machine, tables, point, names, set));
}

}  // namespace diecast::platforms
