// SPDX-License-Identifier: Apache-2.0
#include "platforms/observe/scope.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/config/population.hpp"
#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/observe/dram_taps.hpp"

namespace diecast::observe {
namespace {

void need_a_match(const char* flag, const std::string& glob, const instances& all, bool has_drivers) {
  const auto matches = [&glob](const std::string& name) { return config::matches(glob, name); };
  const auto link = [&](const std::string& name) {
    return matches(name) || (has_drivers && matches(name.substr(0, name.rfind('.'))));
  };
  if (std::any_of(all.pes.begin(), all.pes.end(), matches) ||
      std::any_of(all.links.begin(), all.links.end(), link) ||
      std::any_of(all.channels.begin(), all.channels.end(), matches)) {
    return;
  }
  std::string example;
  for (const auto* list : {&all.pes, &all.links, &all.channels})
    if (example.empty() && !list->empty()) example = " such as " + list->front();
  throw user_error(
      problem{flag, "matches nothing of this run", glob, fmt::format("a name{}, with * and ?", example)});
}

}  // namespace

std::vector<std::string> link_names(const fabric::topology& topology) {
  std::vector<std::string> names;
  names.reserve(topology.links().size());
  for (const fabric::link& l : topology.links()) names.push_back(l.name);
  return names;
}

instances instances_of(const config::machine_config& config, const fabric::topology& topology) {
  instances all{{}, link_names(topology), dram_channel_paths(config, topology)};
  for (const pe_coord pe : config::population(config).pes()) all.pes.push_back(pe_path(config.shape(), pe));
  return all;
}

void check_scopes(const config::trace_block& scopes, const instances& all, bool vcd, bool timeline) {
  if (vcd) need_a_match("--vcd-scope", scopes.vcd_scope, all, true);
  if (timeline) need_a_match("--timeline-scope", scopes.timeline_scope, all, false);
}

}  // namespace diecast::observe
