// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <map>

#include "models/abi/dispatch_table.hpp"
#include "platforms/run/collect.hpp"

namespace diecast::platforms {
namespace {

/// Unless the monitor has saved what it found, nobody has written the entry.
std::uint64_t loaded_target(const abi::dispatch_image& table, unsigned entry) {
  const std::uint64_t found = table.at(abi::entry_points + entry);
  return found != 0 ? found : table.at(entry);
}

}  // namespace

std::vector<std::string> dispatch_lines(const prepared_run& run, netlist::pod& pod) {
  std::map<abi::dispatch_image, std::vector<pe_coord>> alike;
  for (const pe_coord pe : run.members.members) alike[pod.pe(pe).tcm.dispatch_table()].push_back(pe);
  std::vector<std::string> lines;
  for (const auto& [table, pes] : alike) {
    std::string who = pe_path(run.machine.config.shape(), pes.front());
    if (pes.size() > 1) who += fmt::format(" and {} more PEs", pes.size() - 1);
    for (unsigned i = 0; i < abi::entry_points; ++i) {
      const auto e = static_cast<abi::entry_point>(i);
      lines.push_back(fmt::format(
          "dispatch table runtime_calls of {}: index {} ({}) was loaded as {:#x}, is {:#x}: {}", who, i,
          abi::to_string(e), loaded_target(table, i), table.at(i), abi::target_text(table, e)));
    }
  }
  return lines;
}

}  // namespace diecast::platforms
