// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "models/config/text.hpp"
#include "platforms/app/prepare_all.hpp"
#include "platforms/io/config_json.hpp"
#include "platforms/io/paths.hpp"
#include "platforms/run/kernel.hpp"

namespace diecast::app {
namespace {

std::string algorithms_text(const registries& tables) {
  std::string text =
      fmt::format("{:<14} {:<22} {:<14} {}\n", "collective", "algorithm", "ranks", "description");
  for (const auto& k : tables.kernels) {
    std::vector<std::string> sets;
    for (const auto s : k.rank_sets) sets.emplace_back(comm::to_string(s));
    text += fmt::format("{:<14} {:<22} {:<14} {}\n", k.collective, k.name, config::join(sets), k.description);
  }
  return text;
}

}  // namespace

std::string list_text(const registries& tables, const std::string& what) {
  if (what == "algorithms") return algorithms_text(tables);
  if (what == "faults") return platforms::faults_text();
  std::string text;
  if (what == "patterns") {
    for (const auto& p : tables.patterns) text += fmt::format("{:<22} {}\n", p.name, p.description);
  } else if (what == "ops") {
    for (const auto& k : tables.ops) text += fmt::format("{:<18} {}\n", k.schema.name, k.schema.description);
  } else if (what == "mappers") {
    for (const auto& m : tables.mappers) text += fmt::format("{:<22} {}\n", m.name, m.description);
  } else if (what == "validators") {
    for (const auto& v : tables.validators) text += fmt::format("{:<22} {}\n", v.name, v.description);
  } else {
    for (const auto& p : platforms::list_presets(platforms::presets_dir(tables.platform.data_dir)))
      text += fmt::format("{:<10} {:<18} {}\n", p.block, p.name, p.source);
  }
  return text;
}

/// What overrides leave out, one line each; empty when nothing.
std::string missing_text(const platforms::machine_model& m) {
  std::string text;
  const machine_shape shape = m.config.shape();
  for (const pe_coord pe : m.topology.population().missing())
    text += fmt::format("left out: {}\n", pe_path(shape, pe));
  for (std::uint32_t n = 0; n < shape.cubes(); ++n) {
    const sip_id sip{n / shape.cubes_per_sip()};
    const cube_id cube{n % shape.cubes_per_sip()};
    for (std::uint32_t h = 0; h < m.config.hbm.ports; ++h) {
      if (!m.topology.channels().has(sip, cube, h))
        text += fmt::format("left out: {}.hbm{}\n", cube_path(shape, sip, cube), h);
    }
  }
  return text;
}

std::string balance_text(const platforms::machine_model& m) {
  const auto rows = fabric::balance(m.topology, m.config);
  std::size_t width = 0;
  for (const auto& r : rows) width = std::max(width, r.what.size());
  const auto shape = m.config.shape();
  std::string text =
      fmt::format("{} SIPs x {} x {} cubes x {} PEs = {} PEs; {} links, {} VCs per link ({} legs)\n\n",
                  shape.sips, shape.cube_columns, shape.cube_rows, shape.pes_per_cube, shape.pes(),
                  m.topology.links().size(), m.topology.vcs(), m.topology.legs());
  const std::string missing = missing_text(m);
  text += missing + (missing.empty() ? "" : "\n");
  text += fmt::format("{:<{}}  {:>10}  {}\n", "what", width, "GB/s", "detail");
  std::string warnings;
  for (const auto& r : rows) {
    text += fmt::format("{:<{}}  {:>10.1f}  {}\n", r.what, width, r.gbytes_s, r.detail);
    if (!r.warning.empty()) warnings += fmt::format("warning: {}: {}\n", r.what, r.warning);
  }
  text += "\nDependency graph over links, VCs and message classes: no cycle.\n";
  text += warnings.empty() ? "Balanced: every buffer covers its round trip.\n" : warnings;
  const auto lack = platforms::find_lack_of_stacks(m.topology.population(), platforms::permitted_mappings());
  if (lack) text += fmt::format("warning: it cannot run here: {}\n", to_string(*lack));
  return text;
}

}  // namespace diecast::app
