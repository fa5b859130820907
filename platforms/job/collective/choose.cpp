// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "models/comm/collective.hpp"
#include "models/cost/lower_bound.hpp"
#include "models/types/error.hpp"
#include "platforms/job/algorithms.hpp"
#include "platforms/job/collective/collective.hpp"
#include "sw/mock_machine/race.hpp"
#include "sw/mock_machine/timed_run.hpp"

namespace diecast::platforms {

namespace {

/// The point as an algorithm runs it: on the ranks the user gave, by the mapper of the algorithm's own
/// settings, else on the set that all candidates share.
run_point point_for(const config::machine_config& config, run_point point, const std::string& name,
                    comm::rank_set shared) {
  point.algorithm = name;
  if (!point.ranks && !settings_of(config, name).mapper) point.ranks = shared;
  return point;
}

comm::group members_of(const machine_model& machine, const app::registries& tables, const run_point& point) {
  return members_for(tables, machine.config, *kernel_of(tables, point), point);
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

/// The run that a rule requires. Without given ranks the rule determines them.
std::unique_ptr<prepared_run> ruled_run(const machine_model& machine, const app::registries& tables,
                                        run_point point, const cost::algorithm_rule& rule, bool ranks_given) {
  point.algorithm_reason = fmt::format("rule {}", rule.where);
  point.chosen_by = chooser::rule;
  try {
    return prepare_named(machine, tables, point);
  } catch (const user_error& e) {
    std::vector<problem> problems = e.problems();
    for (problem& p : problems)
      if (p.where == "--ranks" && !ranks_given) p.where = "ccl: " + rule.where;
    throw user_error(std::move(problems));
  }
}

/// Reasons why candidates cannot run.
class refusals {
 public:
  void add(const std::string& name, const user_error& e) {
    refused_.emplace_back(name, e.problems());
    const auto* const lack = dynamic_cast<const shortage_error*>(&e);
    if (lack == nullptr || (least_ && least_->needed <= lack->lacks().needed)) return;
    least_ = lack->lacks();
  }
  [[noreturn]] void raise() const {
    if (least_) throw shortage_error(problems(), *least_);
    if (!refused_.empty()) throw user_error(problems());
    throw user_error(problem{"--algorithm", "none that can run can be estimated", "auto", "the name of one"});
  }

 private:
  /// The reasons, each with its algorithm's name; without names where all are equal.
  [[nodiscard]] std::vector<problem> problems() const {
    const auto& first = refused_.front().second;
    const auto text = [](const std::vector<problem>& all) { return std::string(user_error(all).what()); };
    const bool alike =
        std::ranges::all_of(refused_, [&](const auto& r) { return text(r.second) == text(first); });
    if (alike && refused_.size() > 1) return first;
    std::vector<problem> named;
    for (const auto& [name, all] : refused_) {
      for (problem p : all) {
        p.what.insert(0, name + " cannot run: ");
        named.push_back(std::move(p));
      }
    }
    return named;
  }

  std::vector<std::pair<std::string, std::vector<problem>>> refused_;  ///< by algorithm
  std::optional<shortage> least_;  ///< the smallest of those that a smaller job would not have
};

/// The candidates of a choice, each prepared when its turn comes. They do the same job: an algorithm whose
/// settings give it another number of ranks than `shared` has is no candidate.
class contest {
 public:
  contest(const machine_model& machine, const app::registries& tables, const run_point& point,
          comm::rank_set shared)
      : machine_(machine),
        tables_(tables),
        point_(point),
        shared_(shared),
        what_(*comm::collective_named(point.collective)),
        common_(comm::map_ranks(machine.topology.population(), shared)) {}

  std::unique_ptr<prepared_run> winner(const std::vector<std::string>& names) {
    const auto root = static_cast<std::uint32_t>(machine_.config.ccl.root_rank);
    // All candidates have the same root.
    if (comm::has_root(what_))
      (void)comm::root_of({machine_.config, machine_.topology.shape(), common_, root});
    const cost::bound any =
        cost::lower_bound(machine_.topology, machine_.config, {what_, common_, point_.bytes, root});
    std::vector<sw::algorithm_candidate> candidates;
    for (const std::string& name : names) {
      try {
        const run_point own = point_for(machine_.config, point_, name, shared_);
        const sw::kernel_entry& kernel = *kernel_of(tables_, own);
        if (kernel.by_config) continue;
        const comm::group members = members_for(tables_, machine_.config, kernel, own);
        if (sharded_layout(machine_.config, own, kernel, members.set)) continue;
        if (members.set != shared_ || members.members.size() != common_.members.size()) continue;
        const cost::bound_request r{what_, members, point_.bytes, root};
        candidates.push_back({name, cost::bound_of(machine_.topology, machine_.config, r, any, name),
                              [this, name] { return start(name); }});
      } catch (const user_error& e) {
        refused_.add(name, e);
      }
    }
    const sw::choice found = sw::race(std::move(candidates), machine_.config.shape().pes());
    if (!found.sorted.empty()) return chosen(found.sorted.front().name, found.reason());
    refused_.raise();
  }

 private:
  /// Null where it cannot run.
  const prepared_run* prepared(const std::string& name) {
    const auto [at, fresh] = runs_.try_emplace(name);
    if (!fresh) return at->second.get();
    try {
      at->second = prepare_named(machine_, tables_, point_for(machine_.config, point_, name, shared_));
    } catch (const user_error& e) {
      if (e.problems().front().kind == problem_kind::barriers_only) throw;  // every candidate has this
      refused_.add(name, e);
      passed_over_ += (passed_over_.empty() ? "; " : ", ") + name;
    }
    return at->second.get();
  }

  std::optional<std::unique_ptr<sw::timed_run>> start(const std::string& name) {
    const prepared_run* const r = prepared(name);
    if (r == nullptr || r->launch() == nullptr) return std::nullopt;
    const auto& [arguments, kernel] = *r->launch();
    if (!sw::not_estimated(r->plan, kernel).empty()) return nullptr;
    return std::make_unique<sw::timed_run>(r->machine.topology, r->plan, kernel, arguments);
  }

  std::unique_ptr<prepared_run> chosen(const std::string& name, const std::string& reason) {
    std::unique_ptr<prepared_run> run = std::move(runs_.at(name));
    run->point.chosen_by = chooser::estimate;
    run->algorithm_reason = reason + passed_over_ + (passed_over_.empty() ? "" : " cannot run here");
    return run;
  }

  const machine_model& machine_;
  const app::registries& tables_;
  const run_point& point_;
  comm::rank_set shared_;
  comm::collective what_;
  comm::group common_;
  std::map<std::string, std::unique_ptr<prepared_run>> runs_;
  refusals refused_;
  std::string passed_over_;  ///< algorithms left out, for the text of the reason
};

}  // namespace

std::unique_ptr<prepared_run> prepare_chosen(const machine_model& machine, const app::registries& tables,
                                             const run_point& point) {
  (void)algorithms_of(tables, point.collective);  // throws when there are none
  const auto first = std::ranges::find(tables.kernels, point.collective, &sw::kernel_entry::collective);
  const comm::rank_set set = point.ranks.value_or(first->rank_sets.front());
  const std::vector<std::string> names = algorithms_of(tables, point.collective, set);
  const auto rules = user_rules(machine.config.ccl, tables);
  if (const auto* rule = matching_rule(machine, tables, point, rules, set))
    return ruled_run(machine, tables, point_for(machine.config, point, rule->algorithm, set), *rule,
                     point.ranks.has_value());
  return contest(machine, tables, point, set).winner(names);
}

}  // namespace diecast::platforms
