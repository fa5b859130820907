// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/registries.hpp"

#include <fmt/format.h>
#include <set>
#include <utility>

#include "hw/hbm/hbm_controller.hpp"
#include "models/comm/collective.hpp"
#include "models/comm/sync_layout.hpp"
#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "sw/collectives/base/kernel_table.hpp"

namespace diecast::app {
namespace {

netlist::memory_block make_hbm(const char* name, const config::machine_config& config,
                               hw::fault_sink& faults) {
  return netlist::memory_block_of(hw::make_hbm(name, config.hbm, config.sim.strict_memory, faults));
}

void need(bool given, const std::string& where, const char* what, std::vector<problem>& problems) {
  if (!given) problems.push_back({where, fmt::format("the entry has no {}", what), "", ""});
}

void check_patterns(const std::vector<comm::pattern_entry>& patterns, std::set<std::string>& names,
                    std::vector<problem>& problems) {
  for (const auto& p : patterns) {
    const std::string where = fmt::format("pattern {}", p.name);
    if (!names.insert(p.name).second) problems.push_back({where, "is registered twice", "", "another name"});
    need(p.build != nullptr, where, "build function", problems);
  }
}

template <class Entry, class Given>
void check_named(const std::vector<Entry>& entries, const char* kind, Given given,
                 std::vector<problem>& problems) {
  std::set<std::string> names;
  for (const Entry& e : entries) {
    const std::string where = fmt::format("{} {}", kind, e.name);
    if (!names.insert(e.name).second) problems.push_back({where, "is registered twice", "", "another name"});
    need(given(e), where, "function", problems);
  }
}

void check_kernels(const sw::kernel_table& kernels, const std::set<std::string>& patterns,
                   std::vector<problem>& problems) {
  std::set<std::pair<std::string, std::string>> names;
  for (const auto& k : kernels) {
    const std::string where = fmt::format("kernel {} {}", k.collective, k.name);
    if (!names.insert({k.collective, k.name}).second)
      problems.push_back({where, "is registered twice", "", "another name"});
    if (!patterns.contains(k.pattern))
      problems.push_back({where, "its pattern is in no table", k.pattern,
                          config::join(std::vector<std::string>(patterns.begin(), patterns.end()))});
    if (!comm::collective_named(k.collective)) {
      std::vector<std::string> known;
      for (const auto c : comm::all_collectives()) known.emplace_back(comm::to_string(c));
      problems.push_back({where, "no such collective", k.collective, config::join(known)});
    }
    if (k.collective == comm::to_string(comm::collective::barrier) && !comm::barrier_named(k.name))
      problems.push_back({where, "no such barrier: barriers are planned by the names built in", k.name,
                          "centralized_pull, dissemination or group_dissemination"});
    need(!k.rank_sets.empty(), where, "rank set", problems);
    need(k.run != nullptr, where, "run function", problems);
    need(k.scratch_bytes != nullptr, where, "scratch_bytes function", problems);
  }
}

}  // namespace

void check(const registries& tables) {
  std::vector<problem> problems;
  std::set<std::string> patterns;
  check_patterns(tables.patterns, patterns, problems);
  check_kernels(tables.kernels, patterns, problems);
  check_named(
      tables.mappers, "mapper", [](const auto& m) { return m.map != nullptr; }, problems);
  check_named(
      tables.validators, "validator", [](const auto& v) { return v.check != nullptr; }, problems);
  std::set<std::string> ops;
  for (const sw::op_kind& k : tables.ops) {
    const std::string where = fmt::format("op {}", k.schema.name);
    if (!ops.insert(k.schema.name).second)
      problems.push_back({where, "is registered twice", "", "another name"});
    need(k.plan != nullptr, where, "plan function", problems);
  }
  need(tables.hbm != nullptr, tables.platform.name, "HBM factory", problems);
  need(tables.platform.adapt != nullptr, tables.platform.name, "adapt function", problems);
  if (!problems.empty()) throw user_error(problems);
}

registries builtin_registries(platform_entry platform) {
  sw::kernel_table kernels = sw::builtin_kernels();
  sw::op_table ops = sw::builtin_ops(kernels);
  return {std::move(platform),
          std::move(kernels),
          sw::builtin_patterns(),
          comm::builtin_mappers(),
          comm::builtin_validators(),
          std::move(ops),
          make_hbm};
}

platform_entry pod_platform() {
  return {"diecast-pod",
          "a pod of SIPs (packages), each a mesh of cubes (dies) of PEs",
          "pod_default.json",
          [](config::machine_config&) {},
          {}};
}

platform_entry sip_platform() {
  return {"diecast-sip",
          "one SIP: a mesh of cubes of PEs",
          "sip_default.json",
          [](config::machine_config& c) {
            c.pod.sips = 1;
            c.pod.topology = config::pod_topology::ring;
            c.pod.columns = 0;
            c.pod.links.clear();
          },
          {}};
}

platform_entry cube_platform() {
  return {"diecast-cube",
          "one cube of PEs",
          "cube_default.json",
          [](config::machine_config& c) {
            sip_platform().adapt(c);
            c.sip.columns = 1;
            c.sip.rows = 1;
          },
          {}};
}

}  // namespace diecast::app
