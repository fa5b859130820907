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

std::vector<std::string> pe_names(const config::machine_config& config) {
  std::vector<std::string> names;
  for (const pe_coord pe : config::population(config).pes()) names.push_back(pe_path(config.shape(), pe));
  return names;
}

}  // namespace

std::vector<std::string> waveform_instances(const config::machine_config& config,
                                            const fabric::topology* topology,
                                            const std::vector<std::string>& channels) {
  std::vector<std::string> names = pe_names(config);
  if (topology != nullptr) {
    for (const fabric::link& l : topology->links()) {
      names.push_back(l.name.substr(0, l.name.rfind('.')));
      names.push_back(l.name);
    }
  }
  names.insert(names.end(), channels.begin(), channels.end());
  return names;
}

std::vector<std::string> timeline_instances(const config::machine_config& config,
                                            const fabric::topology* topology,
                                            const std::vector<std::string>& channels) {
  std::vector<std::string> names = pe_names(config);
  if (topology != nullptr) {
    for (const fabric::link& l : topology->links()) names.push_back(l.name);
  }
  names.insert(names.end(), channels.begin(), channels.end());
  return names;
}

void need_a_match(const char* flag, const std::string& glob, const std::vector<std::string>& names) {
  const auto matches = [&glob](const std::string& name) { return config::matches(glob, name); };
  if (std::any_of(names.begin(), names.end(), matches)) return;
  const std::string example = names.empty() ? "" : fmt::format(" such as {}", names.front());
  throw user_error(
      problem{flag, "matches nothing of this run", glob, fmt::format("a name{}, with * and ?", example)});
}

void check_scopes(const config::machine_config& config, const fabric::topology& topology, bool vcd,
                  bool timeline) {
  const std::vector<std::string> channels = dram_channel_paths(config, topology);
  if (vcd)
    need_a_match("--vcd-scope", config.trace.vcd_scope, waveform_instances(config, &topology, channels));
  if (timeline) {
    need_a_match("--timeline-scope", config.trace.timeline_scope,
                 timeline_instances(config, &topology, channels));
  }
}

}  // namespace diecast::observe
