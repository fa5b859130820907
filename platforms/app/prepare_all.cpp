// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/prepare_all.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>
#include <optional>
#include <set>
#include <tuple>

#include "models/abi/registers.hpp"
#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/config_io/config_json.hpp"
#include "platforms/config_io/workload_json.hpp"
#include "platforms/diagnose/findings.hpp"
#include "platforms/files/output_dir.hpp"
#include "platforms/job/algorithms.hpp"
#include "platforms/job/signal_judge.hpp"
#include "platforms/result/result_table.hpp"
#include "platforms/run/collect.hpp"
#include "platforms/run/kernel.hpp"

namespace diecast::app {

namespace {

using platforms::run_point;
using platforms::size_text;

/// Runs of one algorithm that are left out for one reason.
struct omission {
  bool has_sizes{};
  std::string algorithm;
  std::vector<std::uint64_t> sizes;
  problem why;
  std::optional<shortage> lack;  ///< shortage of the smallest size
};

/// "8,192"
std::string kib_text(std::uint64_t bytes) {
  std::string digits = std::to_string((bytes + 1023) / 1024);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string sizes_of(const omission& o) {
  if (!o.has_sizes) return "";
  const auto [least, most] = std::ranges::minmax_element(o.sizes);
  return o.sizes.size() == 1 ? size_text(*least)
                             : fmt::format("{} to {}", size_text(*least), size_text(*most));
}

problem problem_of(const omission& o) {
  const std::string sizes = sizes_of(o);
  if (!o.lack) return o.why;
  const bool one = o.sizes.size() == 1;
  const std::string who = o.algorithm == platforms::automatic_algorithm ? "any algorithm"
                          : o.algorithm.empty()                         ? "the program of --workload"
                                                                        : o.algorithm;
  std::string what =
      fmt::format("{} {} not fit the {} with {}: needs {} KiB of {}", sizes, one ? "does" : "do",
                  o.lack->memory, who, kib_text(o.lack->needed), kib_text(o.lack->of));
  if (!o.lack->key.empty()) what += fmt::format("; {} holds {}", o.lack->key, one ? "it" : "them");
  return {"--bytes", what, "", o.lack->smaller};
}

std::string text_of(const omission& o) {
  if (o.lack) return "left out: " + problem_of(o).what;
  const std::string sizes = sizes_of(o);
  return fmt::format("left out: {}{}: {}", o.algorithm, sizes.empty() ? "" : " of " + sizes,
                     to_string(o.why));
}

void add(std::vector<omission>& all, const registries& tables, const run_point& point, const user_error& e) {
  const auto* const lack = dynamic_cast<const shortage_error*>(&e);
  omission found{platforms::job_of(tables, point.collective, point.workload).form.moves_data,
                 point.algorithm,
                 {point.bytes},
                 e.problems().front(),
                 {}};
  if (lack != nullptr) found.lack = lack->lacks();
  const auto same = std::ranges::find_if(all, [&found](const omission& o) {
    if (o.algorithm != found.algorithm || o.lack.has_value() != found.lack.has_value()) return false;
    return found.lack ? o.lack->memory == found.lack->memory : to_string(o.why) == to_string(found.why);
  });
  if (same == all.end()) return all.push_back(std::move(found));
  same->sizes.push_back(point.bytes);
  if (found.lack && found.lack->needed < same->lack->needed) same->lack = found.lack;
}

}  // namespace

std::vector<std::unique_ptr<platforms::prepared_run>> prepare_all(const platforms::machine_model& machine,
                                                                  const registries& tables,
                                                                  const std::vector<run_point>& points) {
  std::vector<std::unique_ptr<platforms::prepared_run>> runs;
  std::vector<problem> problems;
  std::set<std::string> reported;
  std::vector<omission> left_out;
  for (const run_point& p : points) {
    try {
      runs.push_back(platforms::prepare_point(machine, tables, p));
    } catch (const user_error& e) {
      if (p.if_possible || dynamic_cast<const shortage_error*>(&e) != nullptr) {
        add(left_out, tables, p, e);
        continue;
      }
      for (const auto& found : e.problems())
        if (reported.insert(to_string(found)).second) problems.push_back(found);
    }
  }
  if (problems.empty() && runs.empty())
    for (const omission& o : left_out) problems.push_back(problem_of(o));
  constexpr std::size_t most = 10;  // auto has a reason of each algorithm, whatever was wanted
  if (problems.size() > most && points.front().algorithm == platforms::automatic_algorithm) {
    const std::size_t more = problems.size() - (most - 1);
    problems.resize(most - 1);
    problems.push_back(
        {"", fmt::format("and {} more reasons; --algorithm NAME states those of one algorithm", more), "",
         ""});
  }
  if (!problems.empty()) throw user_error(problems);
  for (const omission& o : left_out) platforms::warn(text_of(o));
  return runs;
}

namespace {

using abi::region;

class map_writer {
 public:
  explicit map_writer(const platforms::machine_model& m) : m_(m), c_(m.config), t_(m.topology) {}

  std::string run() {
    text_ = fmt::format("{:<18}  {:<18}  {:<14} {}\n", "first", "last", "region", "answered by");
    const machine_shape& shape = t_.shape();
    for (std::uint32_t s = 0; s < shape.sips; ++s)
      for (std::uint32_t k = 0; k < shape.cubes_per_sip(); ++k) cube(sip_id{s}, cube_id{k});
    if (t_.has_trees()) {
      tree(abi::tree_use::multicast);
      if (c_.noc.reduce) tree(abi::tree_use::reduce);
    }
    return std::move(text_);
  }

 private:
  /// Regions in the order of their numbers, as addresses ascend.
  void cube(sip_id sip, cube_id cube) {
    sip_ = sip;
    cube_ = cube;
    const auto pes = t_.population().pes_of(sip, cube);
    const std::uint64_t registers = abi::ipcq_qp_base + c_.ipcq.queue_pairs * abi::ipcq_qp_stride;
    for (const pe_coord pe : pes) row(region::tcm, pe.pe.value, c_.pe.tcm_kib << 10);
    for (const pe_coord pe : pes) row(region::pe_registers, pe.pe.value, registers);
    for (const pe_coord pe : pes) row(region::ipcq_mailbox, pe.pe.value, whole_unit);
    row(region::sram, 0, c_.sram.kib << 10);
    for (std::uint32_t h = 0; h < c_.hbm.ports; ++h)
      if (t_.channels().has(sip, cube, h)) row(region::hbm, h, c_.hbm.port_mib << 20);
    const bool io = cube == t_.io_cube(sip);
    if (io) row(region::host_memory, 0, whole_unit);
    for (const pe_coord pe : pes) row(region::launch_mailbox, pe.pe.value, whole_unit);
    row(region::launch_mailbox, abi::control_cpu_unit, whole_unit);
    if (io) row(region::launch_mailbox, abi::io_cpu_unit, whole_unit);
  }

  void row(region kind, std::uint32_t unit, std::uint64_t bytes) {
    const abi::address base = abi::encode({sip_, cube_, kind, unit, 0});
    const fabric::cube_layout& layout = t_.layout(sip_, cube_);
    const fabric::terminal& terminal = layout.terminals[t_.locate(base).terminal];
    range(base, bytes, kind);
    text_ += fmt::format("{}.{} on router_{}_{}\n", cube_path(t_.shape(), sip_, cube_), terminal.name,
                         terminal.router % layout.columns, terminal.router / layout.columns);
  }

  void tree(abi::tree_use use) {
    range(abi::tree_address(use), whole_unit, region::tree);
    text_ += use == abi::tree_use::multicast ? "routers, which copy down the tree\n"
                                             : "routers, which combine up the tree\n";
  }

  void range(abi::address base, std::uint64_t bytes, region kind) {
    text_ += fmt::format("{:#018x}  {:#018x}  {:<14} ", base, base + bytes - 1, abi::to_string(kind));
  }

  static constexpr std::uint64_t whole_unit = abi::max_offset + 1;

  const platforms::machine_model& m_;
  const config::machine_config& c_;
  const fabric::topology& t_;
  sip_id sip_;
  cube_id cube_;
  std::string text_;
};

}  // namespace

std::string map_text(const platforms::machine_model& machine) { return map_writer(machine).run(); }

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

void check_fidelity(const options& o, const config::machine_config& c) {
  if (c.sim.fidelity != config::run_fidelity::message) return;
  std::vector<problem> problems;
  for (const auto& [flag, given, value] : std::initializer_list<std::tuple<const char*, bool, std::string>>{
           {"--vcd", !o.vcd.empty(), o.vcd},
           {"--timeline", !o.timeline.empty(), o.timeline},
           {"--ccl-trace or DIECAST_CCL_TRACE", o.point.ccl_trace, ""},
           {"--record", !o.record.empty(), o.record},
           {"--verify", !o.verify.empty(), o.verify},
           {"--double-run", o.double_run, ""},
           {"--diagnose", o.diagnose, ""},
           {"--explain", o.explain, ""},
           {"--inspect", o.point.inspect, "dispatch"},
           {"--processes", o.parallel.processes > 1, std::to_string(o.parallel.processes)}})
    if (given) problems.push_back({flag, "requires a run with packets", value, "sim.fidelity=packet"});
  if (!problems.empty()) throw user_error(std::move(problems));
}

std::string doc_text(const registries& tables, const std::string& page) {
  if (page == "config") return platforms::config_markdown();
  if (page == "counters") return platforms::counters_markdown() + platforms::barrier_counters_markdown();
  if (page == "verdicts") return diagnose::verdicts_markdown();
  if (page == "registers") return platforms::registers_markdown();
  std::vector<comm::op_schema> schemas;
  for (const sw::op_kind& k : tables.ops) schemas.push_back(k.schema);
  return platforms::workload_markdown(schemas);
}

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

/// A line for each part that overrides leave out; empty when there is none.
std::string missing_text(const platforms::machine_model& m) {
  std::string text;
  const machine_shape shape = m.config.shape();
  for (const pe_coord pe : m.topology.population().missing())
    text += fmt::format("left out: {}\n", pe_path(shape, pe));
  for (std::uint32_t n = 0; n < shape.cubes(); ++n) {
    const sip_id sip{n / shape.cubes_per_sip()};
    const cube_id cube{n % shape.cubes_per_sip()};
    for (std::uint32_t h = 0; h < m.config.hbm.ports; ++h)
      if (!m.topology.channels().has(sip, cube, h))
        text += fmt::format("left out: {}.hbm{}\n", cube_path(shape, sip, cube), h);
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
