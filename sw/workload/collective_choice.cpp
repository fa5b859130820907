// SPDX-License-Identifier: Apache-2.0
#include "sw/workload/collective_choice.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "models/comm/collective.hpp"
#include "models/comm/install_plan.hpp"
#include "models/comm/network_tree.hpp"
#include "models/config/text.hpp"
#include "sw/collectives/base/kernel_table.hpp"
#include "sw/host/collective.hpp"
#include "sw/mock_machine/race.hpp"

namespace diecast::sw {
namespace {

constexpr const char* automatic = "auto";

bool runs_on(const kernel_entry& k, comm::rank_set set) {
  return std::ranges::find(k.rank_sets, set) != k.rank_sets.end();
}

/// The collective's kernel of that name; null when there is none.
const kernel_entry* kernel_named(const op_request& r, const std::string& name) {
  for (const kernel_entry& k : r.kernels) {
    if (k.collective == r.op.kind && k.name == name) return &k;
  }
  return nullptr;
}

std::vector<const kernel_entry*> kernels_for(const op_request& r) {
  std::vector<const kernel_entry*> fitting;
  for (const kernel_entry& k : r.kernels) {
    if (k.collective == r.op.kind && runs_on(k, r.members.set)) fitting.push_back(&k);
  }
  if (!fitting.empty()) return fitting;
  throw user_error(problem{r.op.where, fmt::format("no {} algorithm runs on this rank set", r.op.kind),
                           comm::to_string(r.members.set), "a group of other ranks"});
}

const kernel_entry& given(const op_request& r, const std::string& name) {
  if (const kernel_entry* const k = kernel_named(r, name)) return *k;
  std::vector<std::string> names{automatic};
  for (const kernel_entry& k : r.kernels) {
    if (k.collective == r.op.kind) names.push_back(k.name);
  }
  throw user_error(problem{r.op.where + ".algorithm",
                           config::with_nearest(fmt::format("no such {} algorithm", r.op.kind), name, names),
                           name, config::join(names)});
}

using directions_of = std::map<pe_coord, std::set<comm::direction>>;

bool all_within(const directions_of& in_use, std::uint64_t queue_pairs) {
  return std::ranges::all_of(in_use, [&](const auto& pe) { return pe.second.size() <= queue_pairs; });
}

/// No PE has more directions in use than queue pairs: a workload gives each the next free one, whatever its
/// number. The edges that leave a PE are quick to count and decide most cases: a PE that sends to all others.
bool has_queue_pairs(const std::vector<comm::edge>& edges, std::uint64_t queue_pairs) {
  directions_of in_use;
  for (const comm::edge& e : edges) in_use[e.from].insert(e.dir);
  if (!all_within(in_use, queue_pairs)) return false;
  std::vector<problem> problems;
  for (const comm::queue_pair_half& h : comm::pair_directions(edges, problems)) in_use[h.owner].insert(h.dir);
  return problems.empty() && all_within(in_use, queue_pairs);
}

/// Why the kernel cannot run this op; empty when it can. It needs nothing that the machine or the group
/// lacks, nor the tree of routers, which serves no ops.
std::string obstacle(const op_request& r, const argument_context& launch, const kernel_entry& k) {
  try {
    check_launch(k, launch);
    const std::vector<comm::edge> edges = pattern_of(r, k).build(pattern_context_of(launch));
    if (comm::uses_tree(edges)) return "ops of a workload cannot use the tree of routers";
    if (!has_queue_pairs(edges, r.config.ipcq.queue_pairs)) return "a PE has too few queue pairs";
    return "";
  } catch (const user_error& e) {
    return e.what();
  }
}

/// The op alone on the machine, on queue pairs of its own.
std::unique_ptr<timed_run> run_alone(const op_request& r, const argument_context& launch,
                                     const kernel_entry& k) {
  const std::vector<comm::edge> edges = pattern_of(r, k).build(pattern_context_of(launch));
  comm::plan_options options = comm::options_from(r.config, lay_out(k, launch).end);
  options.queue_pairs = std::numeric_limits<comm::direction>::max();  // obstacle() has counted them
  const comm::install_plan plan = comm::build_install_plan(edges, options);
  return std::make_unique<timed_run>(r.topology(), plan, k, launch);
}

kernel_choice choose_automatically(const op_request& r, const argument_context& launch) {
  const std::uint64_t bytes = launch.count * numeric::size_of(launch.type);
  const comm::collective what = *comm::collective_named(r.op.kind);
  const auto* const rule = cost::first_match(r.rules, {what, bytes, r.members.set, r.members.members.size()});
  if (rule != nullptr) return {given(r, rule->algorithm), fmt::format("rule {}", rule->where)};
  const cost::bound_request request{what, r.members, bytes, launch.root};
  const cost::bound any = cost::lower_bound(r.topology(), r.config, request);
  std::vector<algorithm_candidate> candidates;
  std::vector<std::pair<std::string, std::vector<std::string>>> refused;  // a reason and its algorithms
  const std::string where = r.op.where + ".algorithm";
  for (const kernel_entry* const k : kernels_for(r)) {
    if (k->by_config) continue;
    const std::string why = obstacle(r, launch, *k);
    if (why.empty()) {
      candidates.push_back({k->name, cost::bound_of(r.topology(), r.config, request, any, k->name),
                            [&r, &launch, k] { return run_alone(r, launch, *k); }});
    } else {
      auto same = std::ranges::find(refused, why, [](const auto& reason) { return reason.first; });
      if (same == refused.end()) same = refused.insert(same, {why, {}});
      same->second.push_back(k->name);
    }
  }
  if (candidates.empty()) {
    std::vector<problem> problems;
    for (const auto& [why, names] : refused)
      problems.push_back({where, fmt::format("{} cannot run: {}", config::join(names), why), automatic, ""});
    throw user_error(std::move(problems));
  }
  const choice found = race(std::move(candidates), r.shape.pes());
  if (found.sorted.empty())
    throw user_error(problem{where, fmt::format("no {} that can run here ends", r.op.kind), automatic,
                             "the name of an algorithm"});
  return {given(r, found.sorted.front().name), found.reason()};
}

}  // namespace

kernel_choice choose_kernel(const op_request& r, const argument_context& launch) {
  const std::string name = r.op.has("algorithm") ? r.op.get<std::string>("algorithm") : "";
  const kernel_entry* const named = name.empty() || name == automatic ? nullptr : &given(r, name);
  if (r.config.comm.deterministic_reduction && r.op.kind == comm::to_string(comm::collective::all_reduce))
    return {given(r, deterministic_all_reduce), "comm.deterministic_reduction"};
  if (name == automatic) return choose_automatically(r, launch);
  return {named == nullptr ? *kernels_for(r).front() : *named, ""};
}

const comm::pattern_entry& pattern_of(const op_request& r, const kernel_entry& kernel) {
  for (const comm::pattern_entry& p : r.patterns) {
    if (p.name == kernel.pattern) return p;
  }
  throw std::logic_error(
      fmt::format("kernel {} names pattern {}, which is in no table", kernel.name, kernel.pattern));
}

}  // namespace diecast::sw
