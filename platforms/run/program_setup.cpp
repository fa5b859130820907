// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>
#include <vector>

#include "models/comm/patterns.hpp"
#include "models/config/faults.hpp"
#include "models/config/population.hpp"
#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/run/prepare.hpp"
#include "sw/collectives/msccl/msccl_interpreter.hpp"
#include "sw/host/collective.hpp"

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
    if (named(tables.patterns, p.name) != nullptr)
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

namespace {

constexpr std::uint64_t most_queue_pairs = 512;  // end of the range of ipcq.queue_pairs
constexpr std::uint64_t slot_alignment_bytes = 64;

comm::group members_of(const config::population& machine, comm::rank_set set, std::uint64_t wanted,
                       const std::string& who) {
  comm::group g = comm::map_ranks(machine, set);
  if (g.members.size() < wanted)
    throw user_error(problem{who, fmt::format("needs {} ranks", wanted),
                             fmt::format("{} {}s", g.members.size(), comm::to_string(set)),
                             "a machine with enough of them, or another --ranks"});
  g.members.resize(wanted);
  return g;
}

/// Receive rings of the rank that has the most.
std::uint64_t most_rings(const comm::program_wiring& w) {
  std::ptrdiff_t most = 0;
  for (const auto& of_rank : w.queue_pairs)
    most = std::max(most, std::count_if(of_rank.begin(), of_rank.end(), [](const auto& q) { return q.rx; }));
  return static_cast<std::uint64_t>(most);
}

void wire_queue_pairs(config::machine_config& c, const comm::program_wiring& w,
                      std::vector<std::string>& notes) {
  const std::uint64_t needed = w.queue_pairs_needed();
  if (needed > most_queue_pairs)
    throw user_error(problem{"--workload", "the program needs more queue pairs than a PE has at most",
                             std::to_string(needed), fmt::format("at most {}", most_queue_pairs)});
  if (needed > c.ipcq.queue_pairs) {
    notes.push_back(
        fmt::format("the program needs {0} queue pairs per PE: ipcq.queue_pairs is {0} in place of {1}",
                    needed, c.ipcq.queue_pairs));
    c.ipcq.queue_pairs = needed;
  }
  const std::uint64_t slots = most_rings(w) * c.ipcq.n_slots, half = c.pe.tcm_kib * 1024 / 2;
  if (c.ipcq.rings != config::buffer_kind::tcm || slots * c.ipcq.slot_bytes <= half) return;
  const std::uint64_t fitting = half / slots / slot_alignment_bytes * slot_alignment_bytes;
  if (fitting == 0) return;  // the install plan says what is too small
  notes.push_back(
      fmt::format("{} receive rings per PE take half of the TCM: ipcq.slot_bytes is {} in place of {}",
                  most_rings(w), fitting, c.ipcq.slot_bytes));
  c.ipcq.slot_bytes = fitting;
}

void place_tensors(config::machine_config& c, const program_setup& s, const run_point& point,
                   const comm::program_wiring& w, std::vector<std::string>& notes) {
  if (c.ccl.tensors == config::tensor_kind::hbm) return;
  sw::argument_context launch{c,          c.shape(), s.members,   point.bytes / numeric::size_of(point.type),
                              point.type, point.op,  s.in_place()};
  const sw::msccl_run run = sw::make_msccl_run(s.file.program, launch);
  const bool rings_too = c.ipcq.rings == config::buffer_kind::tcm;
  const std::uint64_t rings = rings_too ? most_rings(w) * run.ring.number * run.ring.bytes : 0;
  const std::uint64_t tcm = c.pe.tcm_kib * 1024;
  // A size that is larger than any memory is compared before laying out, so that no product can wrap.
  const std::uint64_t needed = point.bytes > tcm ? point.bytes : sw::lay_out(run.kernel, launch).end + rings;
  if (needed <= tcm) return;
  notes.push_back(
      fmt::format("the TCM of {} KiB is too small for the tensors: they are in HBM "
                  "(ccl.tensor_kind=hbm)",
                  c.pe.tcm_kib));
  c.ccl.tensors = config::tensor_kind::hbm;
}

}  // namespace

bool program_setup::in_place() const {
  return file.program.in_place || file.program.collective == comm::collective::all_reduce;
}

program_setup set_up_program(const machine_model& machine, const run_point& point) {
  program_setup s{load_msccl(point.workload), {}, nullptr, {}};
  s.members = members_of(machine.topology.population(), point.ranks.value_or(comm::rank_set::pe),
                         static_cast<std::uint64_t>(s.file.program.ranks), point.workload);
  config::machine_config c = machine.config;
  const comm::program_wiring wiring = comm::wire(s.file.program);
  wire_queue_pairs(c, wiring, s.notes);
  place_tensors(c, s, point, wiring, s.notes);
  if (!s.notes.empty()) s.machine = std::make_unique<const machine_model>(std::move(c));
  return s;
}

namespace {

using rings = std::vector<comm::queue_pair_install*>;

rings rings_of(comm::install_plan& plan, pe_coord pe) {
  rings found;
  for (comm::queue_pair_install& q : plan.queue_pairs)
    if (q.owner == pe && q.rx) found.push_back(&q);
  return found;
}

/// False when no two directions of the PE lead to one peer: then the first match is the right one.
bool pair_by_first_match(comm::install_plan& plan, pe_coord pe) {
  bool changed = false;
  for (comm::queue_pair_install& q : plan.queue_pairs) {
    if (q.owner != pe || !q.tx || q.through != comm::carrier::queue_pairs) continue;
    const auto first = std::find_if(
        plan.queue_pairs.begin(), plan.queue_pairs.end(),
        [&q](const auto& other) { return other.owner == q.peer && other.peer == q.owner && other.rx; });
    if (first == plan.queue_pairs.end() || first->rx_base == q.peer_rx_base) continue;
    q.peer_rx_base = first->rx_base;
    changed = true;
  }
  return changed;
}

}  // namespace

bool spoil_install(const config::machine_config& config, comm::install_plan& plan) {
  bool changed = false;
  for (std::size_t i = 0; i < config.faults.size(); ++i) {
    const config::fault_setting& f = config.faults[i];
    if (f.kind != config::fault_kind::wrong_install) continue;
    for (const pe_coord pe : config::population(config).pes()) {
      if (!config::matches(f.where, pe_path(config.shape(), pe))) continue;
      if (f.variant == "first_match") {
        if (pair_by_first_match(plan, pe)) continue;
        throw user_error(problem{fmt::format("faults[{}].where", i),
                                 "names a PE with no two directions to one peer in this run",
                                 pe_path(config.shape(), pe), "a PE of a ring of two"});
      }
      const rings of_pe = rings_of(plan, pe);
      if (of_pe.size() < 2)
        throw user_error(problem{fmt::format("faults[{}].where", i),
                                 "names a PE with fewer than two receiving directions in this run",
                                 pe_path(config.shape(), pe), "a PE with two"});
      if (f.variant == "overlap") {
        of_pe[1]->rx_base = of_pe[0]->rx_base + of_pe[0]->slot_bytes / 2;
      } else {
        std::swap(of_pe[0]->rx_base, of_pe[1]->rx_base);
      }
      changed = true;
    }
  }
  return changed;
}

}  // namespace diecast::platforms
