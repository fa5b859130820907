// SPDX-License-Identifier: Apache-2.0
#include "platforms/job/algorithms.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <stdexcept>

#include "models/config/population.hpp"
#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/files/input.hpp"

namespace diecast::platforms {
namespace {

template <class Entry>
const Entry* entry_named(const std::vector<Entry>& entries, const std::string& name) {
  const auto at = std::ranges::find(entries, name, &Entry::name);
  return at == entries.end() ? nullptr : &*at;
}

template <class Entry>
std::vector<std::string> names_of(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& e : entries)
    if (std::ranges::find(names, e.name) == names.end()) names.push_back(e.name);
  return names;
}

std::string path_of(const std::string& algorithm) { return "ccl.algorithms." + algorithm; }

problem unknown(const std::string& where, const char* what, const std::string& name,
                const std::vector<std::string>& known) {
  return {where, config::with_nearest(fmt::format("no such {}", what), name, known), name,
          config::join(known)};
}

template <class Entry>
void need(const std::optional<std::string>& name, const std::vector<Entry>& entries, const std::string& where,
          const char* what, std::vector<problem>& problems) {
  if (name && entry_named(entries, *name) == nullptr)
    problems.push_back(unknown(where, what, *name, names_of(entries)));
}

std::string sets_text(const sw::kernel_entry& k) {
  std::vector<std::string> names;
  for (const auto s : k.rank_sets) names.emplace_back(comm::to_string(s));
  return config::join(names);
}

comm::group map_members(const app::registries& tables, const config::machine_config& config,
                        const std::string& mapper, const config::algorithm_settings& s,
                        const std::string& algorithm) {
  const comm::mapper_entry* const entry = entry_named(tables.mappers, mapper);
  if (entry == nullptr) throw std::logic_error("mapper " + mapper + " is in no table");
  return entry->map({config::population(config), s.members, path_of(algorithm)});
}

void check_layout(const app::registries& tables, const config::machine_config& config,
                  const std::string& algorithm, const config::algorithm_settings& s,
                  const comm::group& members) {
  if (!s.validator && !s.cube_layout && !s.pe_layout) return;  // every member has a share of its own
  const std::string name = s.validator.value_or(comm::validator_of(members.set));
  const comm::validator_entry* const validator = entry_named(tables.validators, name);
  if (validator == nullptr) throw std::logic_error("validator " + name + " is in no table");
  comm::tensor_layout layout = comm::layout_of(members.set);
  layout.cube = s.cube_layout.value_or(layout.cube);
  layout.pe = s.pe_layout.value_or(layout.pe);
  if (const auto wrong = validator->check({config::population(config), members, layout, path_of(algorithm)}))
    throw user_error(*wrong);
}

void refuse_what_streams_cannot(const config::algorithm_settings& s, const run_point& point) {
  std::vector<problem> problems;
  const auto refuse = [&problems](const char* where, std::string value, const char* expected) {
    problems.push_back({where, "does not apply to a shard-wise run (--ranks sip with a sharded layout)",
                        std::move(value), expected});
  };
  if (point.iters != 1) refuse("--iters", std::to_string(point.iters), "1");
  if (point.warmup != 0) refuse("--warmup", std::to_string(point.warmup), "0");
  if (point.pattern_data != "exact") refuse("--data", point.pattern_data, "exact");
  if (s.pattern) refuse("ccl.algorithms: pattern", *s.pattern, "the algorithm's own");
  if (!problems.empty()) throw user_error(std::move(problems));
}

/// Groups the algorithms that run on the same ranks: a table compares equal ranks.
void sort_by_ranks(std::vector<std::string>& algorithms, const app::registries& tables,
                   const std::string& collective) {
  std::ranges::stable_sort(algorithms, {},
                           [&](const std::string& name) { return usual_ranks_of(tables, collective, name); });
}

}  // namespace

const sw::kernel_entry* kernel_of(const app::registries& tables, const run_point& point) {
  const auto at = std::ranges::find_if(tables.kernels, [&](const sw::kernel_entry& k) {
    return k.collective == point.collective && k.name == point.algorithm;
  });
  return at == tables.kernels.end() ? nullptr : &*at;
}

std::vector<std::string> algorithms_of(const app::registries& tables, const std::string& collective,
                                       std::optional<comm::rank_set> ranks) {
  std::vector<std::string> names;
  std::set<std::string> collectives;
  for (const auto& k : tables.kernels) {
    collectives.insert(k.collective);
    if (k.collective != collective) continue;
    const bool fits = !ranks || std::ranges::find(k.rank_sets, *ranks) != k.rank_sets.end();
    if (fits) names.push_back(k.name);
  }
  if (names.empty() && collectives.contains(collective))
    throw user_error(problem{"--ranks", fmt::format("no {} algorithm runs on this rank set", collective),
                             comm::to_string(*ranks), "another rank set"});
  if (names.empty()) {
    const std::vector<std::string> known(collectives.begin(), collectives.end());
    throw user_error(problem{"--collective", config::with_nearest("no such collective", collective, known),
                             collective, config::join(known)});
  }
  return names;
}

std::optional<comm::rank_set> usual_ranks_of(const app::registries& tables, const std::string& collective,
                                             const std::string& algorithm) {
  for (const sw::kernel_entry& k : tables.kernels)
    if (k.collective == collective && k.name == algorithm) return k.rank_sets.front();
  return std::nullopt;
}

bool requests_all(const job_request& request) {
  return request.algorithms == std::vector<std::string>{"all"};
}

std::vector<std::string> requested_algorithms(const app::registries& tables, const job_request& request) {
  if (!requests_all(request)) {
    (void)algorithms_of(tables, request.point.collective);  // throws when there are none
    return request.algorithms.empty() ? std::vector<std::string>{automatic_algorithm} : request.algorithms;
  }
  std::vector<std::string> all = algorithms_of(tables, request.point.collective, request.point.ranks);
  if (!request.point.ranks) sort_by_ranks(all, tables, request.point.collective);
  return all;
}

void refuse_isolate(const job_request& request) {
  if (request.point.isolate)
    throw user_error(problem{"--isolate", "requires a workload of streams", request.point.workload,
                             "a --workload in JSON"});
}

void refuse_teams(const job_request& request) {
  if (!request.teams.empty())
    throw user_error(problem{"--team", "applies to barriers only", comm::to_text(request.teams.front()),
                             "--collective barrier", problem_kind::barriers_only});
}

void check_ccl(const app::registries& tables, const config::machine_config& config) {
  std::vector<problem> problems;
  std::vector<comm::pattern_entry> patterns = tables.patterns;
  for (const config::custom_pattern& p : config.ccl_named.patterns) {
    if (entry_named(tables.patterns, p.name) != nullptr)
      problems.push_back(
          {"ccl.patterns." + p.name, "a pattern of that name is built in", "", "another name"});
    patterns.push_back(comm::custom_pattern(p));
  }
  for (const config::algorithm_settings& s : config.ccl_named.algorithms) {
    const std::string path = path_of(s.name);
    need(std::optional{s.name}, tables.kernels, path, "algorithm", problems);
    need(s.pattern, patterns, path + ".pattern", "pattern", problems);
    need(s.mapper, tables.mappers, path + ".mapper", "mapper", problems);
    need(s.validator, tables.validators, path + ".validator", "validator", problems);
    if (!s.members.empty() && s.mapper != "custom")
      problems.push_back(
          {path + ".members", "is read only by mapper custom", s.mapper.value_or("none"), "mapper custom"});
  }
  if (!problems.empty()) throw user_error(std::move(problems));
  (void)user_rules(config.ccl, tables);  // reports wrong rules, also where they are not used
}

config::algorithm_settings settings_of(const config::machine_config& config, const std::string& algorithm) {
  const auto* const s = entry_named(config.ccl_named.algorithms, algorithm);
  return s == nullptr ? config::algorithm_settings{} : *s;
}

std::unique_ptr<const machine_model> machine_for(const machine_model& machine, const std::string& algorithm) {
  const auto rings = settings_of(machine.config, algorithm).rings;
  if (!rings || *rings == machine.config.ipcq.rings) return nullptr;
  config::machine_config changed = machine.config;
  changed.ipcq.rings = *rings;
  return std::make_unique<const machine_model>(std::move(changed));
}

comm::group members_for(const app::registries& tables, const config::machine_config& config,
                        const sw::kernel_entry& kernel, const run_point& point) {
  const config::algorithm_settings s = settings_of(config, kernel.name);
  const std::string mapper = point.ranks ? comm::mapper_of(*point.ranks)
                                         : s.mapper.value_or(comm::mapper_of(kernel.rank_sets.front()));
  comm::group members = map_members(tables, config, mapper, s, kernel.name);
  const auto& sets = kernel.rank_sets;
  if (std::ranges::find(sets, members.set) == sets.end()) {
    const bool by_flag = point.ranks.has_value();
    throw user_error(problem{by_flag ? "--ranks" : path_of(kernel.name) + ".mapper",
                             fmt::format("{} does not run on this rank set", kernel.name),
                             by_flag ? comm::to_string(members.set) : mapper, sets_text(kernel)});
  }
  if (!sharded_layout(config, point, kernel, members.set))
    check_layout(tables, config, kernel.name, s, members);
  return members;
}

comm::pattern_entry pattern_for(const app::registries& tables, const config::machine_config& config,
                                const sw::kernel_entry& kernel) {
  const std::string name = settings_of(config, kernel.name).pattern.value_or(kernel.pattern);
  if (const auto* const built_in = entry_named(tables.patterns, name)) return *built_in;
  if (const auto* const own = entry_named(config.ccl_named.patterns, name)) return comm::custom_pattern(*own);
  throw std::logic_error(fmt::format("kernel {} names pattern {}, which is in no table", kernel.name, name));
}

std::optional<comm::tensor_layout> sharded_layout(const config::machine_config& config,
                                                  const run_point& point, const sw::kernel_entry& kernel,
                                                  comm::rank_set set) {
  const config::algorithm_settings s = settings_of(config, point.algorithm);
  const bool given = s.cube_layout || s.pe_layout;
  const bool demanded = kernel.every_pe && s.validator == "multi_pe_sip_local";
  if (set != comm::rank_set::sip || (s.validator && !demanded) || (!given && !kernel.every_pe))
    return std::nullopt;
  const comm::tensor_layout own = given ? comm::layout_of(set) : comm::tensor_layout{};
  const comm::tensor_layout layout{s.cube_layout.value_or(own.cube), s.pe_layout.value_or(own.pe)};
  const machine_shape shape = config.shape();
  const std::uint64_t shards = comm::shards_per_sip(shape, layout);
  if (shards == 1 || (demanded && shards != std::uint64_t{shape.cubes_per_sip()} * shape.pes_per_cube))
    return std::nullopt;
  refuse_what_streams_cannot(s, point);
  return layout;
}

std::vector<cost::algorithm_rule> user_rules(const config::ccl_block& ccl, const app::registries& tables) {
  std::vector<problem> problems;
  std::vector<cost::algorithm_rule> rules = cost::parse_rules(ccl.algorithm_rules, problems);
  if (!ccl.tuner.empty()) {
    const input_file& file = read_input("ccl.tuner", ccl.tuner);
    if (!file.failure.empty()) {
      problems.push_back(cannot_be_read("ccl.tuner", ccl.tuner, file.failure, "a CSV file"));
    } else {
      for (auto& rule : cost::parse_tuner(ccl.tuner, file.text, problems)) rules.push_back(std::move(rule));
    }
  }
  for (const cost::algorithm_rule& rule : rules) {
    std::vector<std::string> known;
    for (const auto& k : tables.kernels)
      if (k.collective == comm::to_string(rule.what)) known.push_back(k.name);
    if (std::ranges::find(known, rule.algorithm) != known.end()) continue;
    problems.push_back({fmt::format("ccl: {}", rule.where),
                        fmt::format("no such {} algorithm", comm::to_string(rule.what)), rule.algorithm,
                        config::join(known)});
  }
  if (!problems.empty()) throw user_error(std::move(problems));
  return rules;
}

}  // namespace diecast::platforms
