// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/prepare.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <set>

#include "models/abi/address.hpp"
#include "models/comm/collective.hpp"
#include "models/config/faults.hpp"
#include "models/config/population.hpp"
#include "models/config/text.hpp"
#include "models/fabric/fault_places.hpp"
#include "models/types/error.hpp"
#include "platforms/config_io/workload_json.hpp"
#include "platforms/run/bound.hpp"
#include "platforms/run/simulate.hpp"
#include "sw/host/hbm_tensors.hpp"

namespace diecast::platforms {
namespace {

/// Memory channels that overrides have not left out.
std::uint64_t channels_left(const machine_model& machine) {
  const machine_shape shape = machine.config.shape();
  std::uint64_t left = 0;
  for (std::uint32_t n = 0; n < shape.cubes(); ++n)
    left += machine.topology.channels().count_of(sip_id{n / shape.cubes_per_sip()},
                                                 cube_id{n % shape.cubes_per_sip()});
  return left;
}

/// TCM of the PE with the most rings, without them. Rings lie at its top, whatever the tensors need.
std::uint64_t tcm_below_rings(const config::machine_config& c, const std::vector<comm::edge>& edges) {
  const std::uint64_t tcm = c.pe.tcm_kib * 1024;
  if (c.ipcq.rings != config::buffer_kind::tcm) return tcm;
  std::map<pe_coord, std::uint64_t> rings;
  std::uint64_t most = 0;
  for (const comm::queue_pair_install& q :
       comm::build_install_plan(edges, comm::options_from(c, 0)).queue_pairs)
    if (q.rx) most = std::max(most, ++rings[q.owner]);
  return tcm - most * c.ipcq.n_slots * c.ipcq.slot_bytes;
}

/// The plan, with `tensors` bytes of TCM kept free. Where the rings would fit without tensors, it throws
/// shortage_error; `can_move`: the tensors can be in HBM.
comm::install_plan place_rings(const std::vector<comm::edge>& edges, const config::machine_config& c,
                               std::uint64_t tensors, bool can_move) {
  try {
    return comm::build_install_plan(edges, comm::options_from(c, tensors));
  } catch (const user_error& e) {
    if (c.ipcq.rings != config::buffer_kind::tcm) throw;
    const std::uint64_t room = tcm_below_rings(c, edges);  // throws what the tensors are no cause of
    const std::uint64_t tcm = c.pe.tcm_kib * 1024;
    std::vector<problem> problems = e.problems();
    const std::string less = problems.front().expected;
    for (problem& p : problems) p.expected += can_move ? ", or ccl.tensor_kind=hbm" : "";
    throw shortage_error(std::move(problems),
                         {"TCM", tensors + tcm - room, tcm, can_move ? "ccl.tensor_kind=hbm" : "", less});
  }
}

/// Rejects a defect that the run never meets: it would pass for one that does no harm. Under --hide-faults
/// injected faults are not rejected: the rejection would reveal them.
void refuse_defects_of_barriers(const config::machine_config& c, bool tell_faults) {
  if (c.ccl.errata != "none")
    throw user_error(problem{"ccl.errata", "applies to barriers only, and this job has none", c.ccl.errata,
                             "none, --collective barrier or a workload with one",
                             problem_kind::barriers_only});
  for (std::size_t i = 0; tell_faults && i < c.faults.size(); ++i) {
    const config::fault_kind_entry& kind = config::entry_of(c.faults[i].kind);
    if (!kind.barriers_only) continue;
    throw user_error(problem{fmt::format("faults[{}].kind", i),
                             "acts in barriers only, and this job has none", kind.name,
                             "--collective barrier or a workload with one", problem_kind::barriers_only});
  }
}

/// The algorithm of the user's first rule for the barrier, whose size is 0 bytes, becomes the point's.
/// Returns the reason; empty when there is no such rule.
std::string ask_rules(const machine_model& machine, const app::registries& tables, run_point& point) {
  const comm::rank_set set = point.ranks.value_or(comm::rank_set::cube);
  const std::size_t ranks =
      point.team ? comm::ranks_of(*point.team).size() : comm::world_size(machine.topology.population(), set);
  const auto rules = user_rules(machine.config.ccl, tables);
  const auto* const rule = cost::first_match(rules, {comm::collective::barrier, 0, set, ranks});
  if (rule == nullptr) return "";
  point.algorithm = rule->algorithm;
  return fmt::format("rule {}", rule->where);
}

/// The point; a size that is none is refused before a program is read and set up.
run_point of_whole_elements(run_point point) {
  const std::uint64_t element = numeric::size_of(point.type);
  if (point.bytes % element == 0) return point;
  throw user_error(problem{"--bytes",
                           fmt::format("not a whole number of {} elements", numeric::to_string(point.type)),
                           std::to_string(point.bytes), fmt::format("a multiple of {}", element)});
}

/// What to change where routes can deadlock.
const char* way_out_of_a_cycle(const config::machine_config& c) {
  const auto kind = c.noc.topology;
  const bool wraps = kind != config::noc_topology::mesh && kind != config::noc_topology::crossbar;
  if (!c.noc.leg_vcs) return "an acyclic dependency graph: noc.leg_vcs=true";
  if (wraps && !c.noc.dateline_vcs) return "an acyclic dependency graph: noc.dateline_vcs=true";
  if (kind == config::noc_topology::ring)
    return "an acyclic dependency graph: noc.topology mesh, torus or crossbar (all routes through a cube "
           "share the links of a ring, which works up to 3 x 3 cubes)";
  if (c.placement.sip_ports != "auto")
    return "an acyclic dependency graph: SIP ports elsewhere (placement.sip_ports)";
  return "an acyclic dependency graph: another noc.topology or pod.topology";
}

}  // namespace

machine_model::machine_model(config::machine_config c) : config(std::move(c)), topology(config) {
  comm::check_launch_packet(config);
  check_message_config(config);
  if (auto wrong = fabric::check_faults(config, topology); !wrong.empty()) throw user_error(std::move(wrong));
  const auto cycle = fabric::find_dependency_cycle(topology);
  if (cycle.empty()) return;
  std::string text;
  for (const auto& link : cycle) text += "\n  waits for " + link;
  throw user_error(problem{"noc", "the routes can deadlock: this cycle of buffers waits for itself" + text,
                           "", way_out_of_a_cycle(config)});
}

std::vector<std::string> algorithms_of(const app::registries& tables, const std::string& collective,
                                       std::optional<comm::rank_set> ranks) {
  std::vector<std::string> names;
  std::set<std::string> collectives;
  for (const auto& k : tables.kernels) {
    collectives.insert(k.collective);
    if (k.collective != collective) continue;
    const bool fits =
        !ranks || std::find(k.rank_sets.begin(), k.rank_sets.end(), *ranks) != k.rank_sets.end();
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

prepared_run::prepared_run(const machine_model& m, const app::registries& tables, run_point what)
    : point(of_whole_elements(std::move(what))),
      job(job_of(point.collective, point.workload)),
      setup(job == job_kind::program ? std::optional(set_up_program(m, point)) : std::nullopt),
      own_machine(setup ? std::move(setup->machine) : machine_for(m, point.algorithm)),
      machine(own_machine ? *own_machine : m) {
  if (job == job_kind::workload) {
    load_file(tables);
    complete();
    return;
  }
  if (job != job_kind::barrier) refuse_defects_of_barriers(machine.config, point.tell_faults);
  if (job == job_kind::barrier) {
    choose_barrier(tables);
  } else if (job == job_kind::collective) {
    choose_kernel(tables);
    if (const auto layout = sharded_layout(machine.config, point, kernel, members.set)) {
      load_shards(tables, *layout);
      complete();
      return;
    }
  } else {
    load_program();
  }
  wire(tables);
  complete();
}

void prepared_run::complete() {
  check_message_run(*this);
  const config::population& there = machine.topology.population();
  const auto note = [this](std::uint64_t missing, std::uint64_t all, const char* what) {
    if (missing > 0) notes.push_back(fmt::format("overrides leave out {} of {} {}", missing, all, what));
  };
  note(there.missing().size(), machine.config.shape().pes(), "PEs");
  const std::uint64_t channels = machine.config.shape().cubes() * machine.config.hbm.ports;
  note(channels - channels_left(machine), channels, "memory channels");
  for (std::string& line : comm::replaced_leaders(there, members)) notes.push_back(std::move(line));
  const config::machine_config& c = machine.config;
  if (c.pod.topology == config::pod_topology::torus_2d) {
    const config::pod_grid grid = config::pod_grid_of(c.pod);
    if (grid.columns <= 2 && grid.rows <= 2)
      notes.push_back(
          fmt::format("pod.topology torus_2d of {} x {} SIPs is a mesh: two SIPs in a row are joined by one "
                      "pair of links",
                      grid.columns, grid.rows));
  }
  if (c.hbm.ports == 1 && c.hbm.controller_ns == 0 && c.cube.pes > 1)
    notes.push_back(
        fmt::format("the {} PEs of a cube share one memory channel without controller latency (hbm.ports 1, "
                    "hbm.controller_ns 0), a reference for memory studies",
                    c.cube.pes));
}

void prepared_run::choose_kernel(const app::registries& tables) {
  const auto known = algorithms_of(tables, point.collective);
  algorithm_reason = point.algorithm_reason;
  const auto found =
      std::find_if(tables.kernels.begin(), tables.kernels.end(), [this](const sw::kernel_entry& k) {
        return k.collective == point.collective && k.name == point.algorithm;
      });
  if (found == tables.kernels.end()) {
    const std::string what = fmt::format("no such {} algorithm", point.collective);
    throw user_error(problem{"--algorithm", config::with_nearest(what, point.algorithm, known),
                             point.algorithm, config::join(known)});
  }
  kernel = *found;
  members = members_for(tables, machine.config, kernel, point);
  launch.emplace(sw::argument_context{machine.config, machine.config.shape(), members,
                                      point.bytes / numeric::size_of(point.type), point.type, point.op});
  launch->root = static_cast<std::uint32_t>(machine.config.ccl.root_rank);
}

void prepared_run::choose_barrier(const app::registries& tables) {
  auto known = algorithms_of(tables, point.collective);
  known.emplace_back("auto");
  if (point.algorithm.empty()) point.algorithm = "auto";
  if (std::find(known.begin(), known.end(), point.algorithm) == known.end())
    throw user_error(problem{"--algorithm",
                             config::with_nearest("no such barrier algorithm", point.algorithm, known),
                             point.algorithm, config::join(known)});
  if (point.algorithm == "auto") point.chosen_by = chooser::estimate;
  const std::string rule = point.algorithm == "auto" ? ask_rules(machine, tables, point) : "";
  if (!rule.empty()) point.chosen_by = chooser::rule;
  barrier = plan_barrier(machine, point, members);
  if (!rule.empty()) barrier->reason = rule;
  point.bytes = 0;
  point.algorithm = comm::to_string(barrier->algorithm);
  algorithm_reason = barrier->reason;
  const auto found =
      std::find_if(tables.kernels.begin(), tables.kernels.end(), [this](const sw::kernel_entry& k) {
        return k.collective == point.collective && k.name == point.algorithm;
      });
  if (found == tables.kernels.end())
    throw user_error(problem{"--algorithm", "this program has no kernel for the barrier " + barrier->reason,
                             point.algorithm, config::join(known)});
  kernel = *found;
  launch.emplace(
      sw::argument_context{machine.config, machine.config.shape(), members, 0, point.type, point.op});
}

void prepared_run::load_program() {
  for (const auto* const list : {&setup->file.warnings, &setup->file.notes, &setup->notes})
    notes.insert(notes.end(), list->begin(), list->end());
  const comm::program& p = setup->file.program;
  point.collective = comm::to_string(p.collective);
  point.algorithm = p.name;
  algorithm_reason = "the program of --workload";
  if (machine.config.comm.deterministic_reduction && p.collective == comm::collective::all_reduce)
    notes.emplace_back("comm.deterministic_reduction does not apply: a program has its own order of sums");
  members = setup->members;
  launch.emplace(sw::argument_context{machine.config, machine.config.shape(), members,
                                      point.bytes / numeric::size_of(point.type), point.type, point.op});
  launch->in_place = setup->in_place();
  program = sw::make_msccl_run(p, *launch);
  kernel = program->kernel;
  notes.insert(notes.end(), program->notes.begin(), program->notes.end());
}

void prepared_run::load_file(const app::registries& tables) {
  std::vector<comm::op_schema> kinds;
  for (const sw::op_kind& k : tables.ops) kinds.push_back(k.schema);
  workload_file = load_workload(point.workload, kinds);
  load_streams(tables);
  if (!workload->uses_signals()) refuse_defects_of_barriers(machine.config, point.tell_faults);
  point.collective = "workload";
  point.algorithm = std::filesystem::path(point.workload).stem().string();
  algorithm_reason = "the streams of --workload";
  point.bytes = 0;
  for (std::uint32_t i = 0; i < workload->workload().ops.size(); ++i) {
    const auto& stream = workload->workload().streams[workload->workload().ops[i].stream];
    point.bytes += workload->op(i).bytes() * stream.stream->repeat;
    const std::string reason = workload->op(i).reason();
    if (!reason.empty()) notes.push_back(fmt::format("{}: {}", workload->workload().ops[i].op->id, reason));
  }
}

void prepared_run::load_shards(const app::registries& tables, const comm::tensor_layout& layout) {
  if (machine.config.ccl.tensors == config::tensor_kind::hbm)
    throw user_error(problem{"ccl.tensor_kind", "collectives shard by shard have their tensors in TCM", "hbm",
                             "tcm, or an algorithm without cube_layout and pe_layout"});
  shards = comm::shard_groups(machine.topology.population(), layout, launch->count);
  workload_file = streams_of(shards, kernel, point, launch->root);
  launch.reset();
  load_streams(tables);
  notes.push_back(fmt::format("shard-wise over SIPs, {}: {} shards of each SIP's vector",
                              comm::to_string(layout), shards.size()));
}

void prepared_run::load_streams(const app::registries& tables) {
  workload =
      std::make_unique<sw::workload_program>(workload_file,
                                             sw::workload_tables{tables.ops, tables.kernels, tables.patterns,
                                                                 user_rules(machine.config.ccl, tables)},
                                             machine.config);
  plan = workload->install();
  prove_again();
  members = {comm::rank_set::pe, workload->workload().participants};
}

void prepared_run::wire(const app::registries& tables) {
  std::vector<comm::edge> edges;
  if (program) {
    edges = program->edges;
  } else {
    pattern_ = pattern_for(tables, machine.config, kernel);
    edges = pattern_.build(sw::pattern_context_of(*launch));
  }
  if (sw::lies_in_hbm(kernel, *launch)) launch->tcm_room = tcm_below_rings(machine.config, edges);
  sw::check_launch(kernel, *launch);
  config::machine_config rings = machine.config;
  if (program) {
    rings.ipcq.n_slots = program->ring.number;
    rings.ipcq.slot_bytes = program->ring.bytes;
  }
  plan = place_rings(edges, rings, sw::lay_out(kernel, *launch).end, !sw::lies_in_hbm(kernel, *launch));
  prove_again();
  grow_tree();
}

void prepared_run::prove_again() {
  const machine_shape shape = machine.config.shape();
  if (spoil_install(machine.config, plan)) comm::prove_install_plan(plan, &shape);
}

/// The tree that the plan needs, proven free of cycles together with nothing else: its VCs are its own.
void prepared_run::grow_tree() {
  if (!plan.tree) return;
  plan.tree->arithmetic = sw::tree_arithmetic_of(kernel, *launch);
  const auto terminal_of = [this](pe_coord pe) { return machine.topology.locate(abi::mailbox_of(pe)); };
  std::vector<abi::node_address> leaves;
  for (const comm::tree_install::member& m : plan.tree->members) leaves.push_back(terminal_of(m.pe));
  tree = fabric::make_tree(machine.topology, terminal_of(plan.tree->root), leaves);
  const auto cycle = fabric::find_tree_cycle(machine.topology, std::span(&*tree, 1));
  if (cycle.empty()) return;
  std::string text;
  for (const auto& link : cycle) text += "\n  waits for " + link;
  throw user_error(problem{"noc.multicast",
                           "the tree can deadlock: this cycle of buffers waits for itself" + text, "",
                           "routes without a cycle"});
}

void prepared_run::describe(run_outcome& o) const {
  o.collective = point.collective;
  o.algorithm = point.algorithm;
  o.algorithm_reason = algorithm_reason;
  o.algorithm_chosen_by = to_string(point.chosen_by);
  o.fidelity = config::to_text(config::get_value(machine.config, "sim.fidelity"));
  o.job = job;
  o.dtype = o.op = "mixed";
  if (!workload || !shards.empty()) {
    o.dtype = numeric::to_string(point.type);
    const auto what = comm::collective_named(kernel.collective);
    o.op = what && comm::reduces(*what) ? numeric::to_string(point.op) : "none";
  }
  const comm::group& ranks = shards.empty() ? members : shards.front().members;
  o.rank_set = comm::to_string(ranks.set);
  o.bytes = point.bytes;
  o.ranks = barrier ? barrier->ranks : ranks.members.size();
  if (barrier) o.team = comm::to_text(barrier->team);
  o.notes = notes;
  add_bound(*this, o);
}

run_names prepared_run::names() const {
  return {point,           job,
          machine.config,  machine.topology,
          members.members, [this](pe_coord pe, comm::direction d) { return direction_name(pe, d); }};
}

std::string prepared_run::direction_name(pe_coord pe, comm::direction d) const {
  if (workload) return workload->direction_name(pe, d);
  if (!program) return comm::direction_name(pattern_, d);
  const auto rank = std::find(members.members.begin(), members.members.end(), pe) - members.members.begin();
  const auto& own = program->wiring.queue_pairs[static_cast<std::size_t>(rank)];
  return d < own.size() ? own[d].name() : comm::direction_name(d);
}

}  // namespace diecast::platforms
