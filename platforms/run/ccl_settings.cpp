// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>

#include "models/comm/patterns.hpp"
#include "models/config/suggestion.hpp"
#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/run/choose.hpp"
#include "platforms/run/prepare.hpp"
#include "platforms/run/shards.hpp"

namespace diecast::platforms {
namespace {

template <class Entry>
const Entry* named(const std::vector<Entry>& entries, const std::string& name) {
  const auto at =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.name == name; });
  return at == entries.end() ? nullptr : &*at;
}

template <class Entry>
std::vector<std::string> names_of(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& e : entries)
    if (std::find(names.begin(), names.end(), e.name) == names.end()) names.push_back(e.name);
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
  if (name && named(entries, *name) == nullptr)
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
  const comm::mapper_entry* const entry = named(tables.mappers, mapper);
  if (entry == nullptr) throw std::logic_error("mapper " + mapper + " is in no table");
  return entry->map({config::population(config), s.members, path_of(algorithm)});
}

void check_layout(const app::registries& tables, const config::machine_config& config,
                  const std::string& algorithm, const config::algorithm_settings& s,
                  const comm::group& members) {
  if (!s.validator && !s.cube_layout && !s.pe_layout) return;  // every member has a share of its own
  const std::string name = s.validator.value_or(comm::validator_of(members.set));
  const comm::validator_entry* const validator = named(tables.validators, name);
  if (validator == nullptr) throw std::logic_error("validator " + name + " is in no table");
  comm::tensor_layout layout = comm::layout_of(members.set);
  layout.cube = s.cube_layout.value_or(layout.cube);
  layout.pe = s.pe_layout.value_or(layout.pe);
  if (const auto wrong = validator->check({config::population(config), members, layout, path_of(algorithm)}))
    throw user_error(*wrong);
}

}  // namespace

void check_ccl(const app::registries& tables, const config::machine_config& config) {
  std::vector<problem> problems;
  std::vector<comm::pattern_entry> patterns = tables.patterns;
  for (const config::custom_pattern& p : config.ccl_named.patterns) {
    if (named(tables.patterns, p.name) != nullptr) {
      problems.push_back(
          {"ccl.patterns." + p.name, "a pattern of that name is built in", "", "another name"});
    }
    patterns.push_back(comm::custom_pattern(p));
  }
  for (const config::algorithm_settings& s : config.ccl_named.algorithms) {
    const std::string path = path_of(s.name);
    need(std::optional{s.name}, tables.kernels, path, "algorithm", problems);
    need(s.pattern, patterns, path + ".pattern", "pattern", problems);
    need(s.mapper, tables.mappers, path + ".mapper", "mapper", problems);
    need(s.validator, tables.validators, path + ".validator", "validator", problems);
    if (!s.members.empty() && s.mapper != "custom") {
      problems.push_back(
          {path + ".members", "is read only by mapper custom", s.mapper.value_or("none"), "mapper custom"});
    }
  }
  if (!problems.empty()) throw user_error(std::move(problems));
  (void)user_rules(config.ccl, tables);  // wrong ones are told, asked or not
}

config::algorithm_settings settings_of(const config::machine_config& config, const std::string& algorithm) {
  const auto* const s = named(config.ccl_named.algorithms, algorithm);
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
  if (std::find(sets.begin(), sets.end(), members.set) == sets.end()) {
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
  if (const auto* const built_in = named(tables.patterns, name)) return *built_in;
  if (const auto* const own = named(config.ccl_named.patterns, name)) return comm::custom_pattern(*own);
  throw std::logic_error(fmt::format("kernel {} names pattern {}, which is in no table", kernel.name, name));
}

}  // namespace diecast::platforms
