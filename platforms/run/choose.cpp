// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/choose.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

#include "models/config/text.hpp"
#include "models/cost/algorithm_cost.hpp"
#include "models/cost/rules.hpp"
#include "models/types/error.hpp"

namespace diecast::platforms {
namespace {

struct candidate {
  std::string name;
  double ns{};
};

/// What the user wants instead of the model's choice; the rule list comes first.
std::vector<cost::algorithm_rule> user_rules(const config::ccl_block& ccl, const app::registries& tables) {
  std::vector<problem> problems;
  std::vector<cost::algorithm_rule> rules = cost::parse_rules(ccl.algorithm_rules, problems);
  if (!ccl.tuner.empty()) {
    std::ifstream file(ccl.tuner);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) {
      problems.push_back({"ccl.tuner", "the table cannot be read", ccl.tuner, "a CSV file"});
    } else {
      for (auto& rule : cost::parse_tuner(ccl.tuner, text.str(), problems)) rules.push_back(std::move(rule));
    }
  }
  for (const cost::algorithm_rule& rule : rules) {
    std::vector<std::string> known;
    for (const auto& k : tables.kernels) {
      if (k.collective == comm::to_string(rule.what)) known.push_back(k.name);
    }
    if (std::find(known.begin(), known.end(), rule.algorithm) != known.end()) continue;
    problems.push_back({fmt::format("ccl: {}", rule.where),
                        fmt::format("no such {} algorithm", comm::to_string(rule.what)), rule.algorithm,
                        config::join(known)});
  }
  if (!problems.empty()) throw user_error(std::move(problems));
  return rules;
}

comm::rank_set rank_set_of(const run_point& point, const app::registries& tables) {
  if (point.ranks) return *point.ranks;
  const auto first = std::find_if(tables.kernels.begin(), tables.kernels.end(),
                                  [&](const auto& k) { return k.collective == point.collective; });
  return first->rank_sets.front();
}

/// Candidates by expected time, those nothing is known of left out.
std::vector<candidate> by_expected_time(const machine_model& machine, const std::vector<std::string>& names,
                                        const cost::bound_request& request) {
  std::vector<candidate> ranked;
  for (const std::string& name : names) {
    try {
      const auto expected = cost::estimate_of(machine.topology, machine.config, request, name);
      if (expected) ranked.push_back({name, expected->ns()});
    } catch (const user_error&) {
      continue;  // these ranks do not form what it needs
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const candidate& a, const candidate& b) { return a.ns < b.ns; });
  return ranked;
}

std::unique_ptr<prepared_run> cheapest(const machine_model& machine, const app::registries& tables,
                                       run_point point, const std::vector<candidate>& ranked) {
  std::string refused;
  std::vector<problem> problems;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    point.algorithm = ranked[i].name;
    point.algorithm_reason =
        fmt::format("auto: {} expected to take {:.0f} ns by the cost model", ranked[i].name, ranked[i].ns);
    if (i + 1 < ranked.size()) {
      point.algorithm_reason += fmt::format(", {} {:.0f} ns", ranked[i + 1].name, ranked[i + 1].ns);
    }
    point.algorithm_reason += refused;
    try {
      return std::make_unique<prepared_run>(machine, tables, point);
    } catch (const user_error& e) {
      refused += fmt::format("; {} cannot run here", ranked[i].name);
      problems.insert(problems.end(), e.problems().begin(), e.problems().end());
    }
  }
  if (problems.empty()) {
    problems.push_back({"--algorithm", "the cost model knows no algorithm to choose from", point.collective,
                        "the name of one"});
  }
  throw user_error(std::move(problems));
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
  point.ranks = set;
  const auto rules = user_rules(machine.config.ccl, tables);
  const auto what = comm::collective_named(point.collective);
  const comm::group members = comm::map_ranks(machine.config.shape(), set);
  if (what) {
    const auto* rule = cost::first_match(rules, {*what, point.bytes, set, members.members.size()});
    if (rule != nullptr) {
      point.algorithm = rule->algorithm;
      point.algorithm_reason = fmt::format("rule {}", rule->where);
      return std::make_unique<prepared_run>(machine, tables, std::move(point));
    }
  }
  const std::vector<candidate> ranked =
      what ? by_expected_time(machine, names, {*what, members, point.bytes}) : std::vector<candidate>{};
  return cheapest(machine, tables, std::move(point), ranked);
}

}  // namespace diecast::platforms
