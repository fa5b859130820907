// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/prepare.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/comm/collective.hpp"
#include "models/comm/mappers.hpp"
#include "models/config/faults.hpp"
#include "models/config/field.hpp"
#include "models/config/population.hpp"
#include "models/config/text.hpp"
#include "models/fabric/fault_places.hpp"
#include "models/types/error.hpp"
#include "platforms/run/simulate.hpp"

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

/// Rejects a defect that cannot act in the run: it would look like a harmless one. Under --hide-faults
/// injected faults are not rejected: the rejection would reveal them.
void refuse_defects_of_barriers(const config::machine_config& c, bool report_faults) {
  if (c.ccl.errata != "none")
    throw user_error(problem{"ccl.errata", "applies to barriers only, and this job has none", c.ccl.errata,
                             "none, --collective barrier or a workload with one",
                             problem_kind::barriers_only});
  for (std::size_t i = 0; report_faults && i < c.faults.size(); ++i) {
    const config::fault_kind_entry& kind = config::entry_of(c.faults[i].kind);
    if (!kind.barriers_only) continue;
    throw user_error(problem{fmt::format("faults[{}].kind", i),
                             "acts in barriers only, and this job has none", kind.name,
                             "--collective barrier or a workload with one", problem_kind::barriers_only});
  }
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
const char* change_against_cycles(const config::machine_config& c) {
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
  name_pes_of(config.shape());
  comm::check_launch_packet(config);
  check_message_config(config);
  if (auto wrong = fabric::check_faults(config, topology); !wrong.empty()) throw user_error(std::move(wrong));
  const auto cycle = fabric::find_dependency_cycle(topology);
  if (cycle.empty()) return;
  std::string text;
  for (const auto& link : cycle) text += "\n  waits for " + link;
  throw user_error(problem{"noc", "the routes can deadlock: this cycle of buffers waits for itself" + text,
                           "", change_against_cycles(config)});
}

std::vector<run_point> job_request::points(const std::vector<std::string>& named) const {
  std::vector<run_point> all;
  for (const std::string& algorithm : named) {
    for (const std::uint64_t size : bytes) {
      run_point& p = all.emplace_back(point);
      p.algorithm = algorithm;
      p.bytes = size;
    }
  }
  return all;
}

const job_entry& job_of(const app::registries& tables, const std::string& collective,
                        const std::string& workload) {
  const auto kind = std::find_if(tables.jobs.rbegin(), tables.jobs.rend(),
                                 [&](const job_entry& j) { return j.runs(collective, workload); });
  if (kind != tables.jobs.rend()) return *kind;
  throw user_error(problem{workload.empty() ? "--collective" : "--workload", "no kind of job runs this",
                           workload.empty() ? collective : workload, ""});
}

std::unique_ptr<prepared_run> prepare_point(const machine_model& machine, const app::registries& tables,
                                            run_point point) {
  const job_entry& kind = job_of(tables, point.collective, point.workload);
  auto run = kind.prepare(machine, tables, of_whole_elements(std::move(point)));
  run->form = kind.form;
  return run;
}

prepared_run::prepared_run(const machine_model& given_machine, std::unique_ptr<const machine_model> own,
                           run_point what)
    : point(std::move(what)),
      given(given_machine),
      own_machine(std::move(own)),
      machine(own_machine ? *own_machine : given) {}

void prepared_run::complete() {
  if (!uses_signals) refuse_defects_of_barriers(machine.config, point.report_faults);
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

void prepared_run::describe(run_outcome& o) const {
  o.collective = point.collective;
  o.algorithm = point.algorithm;
  o.algorithm_reason = algorithm_reason;
  o.algorithm_chosen_by = to_string(point.chosen_by);
  o.fidelity = config::to_text(config::get_value(machine.config, "sim.fidelity"));
  o.form = form;
  const auto what = comm::collective_named(point.collective);  // nothing for streams with several collectives
  o.dtype = what ? numeric::to_string(point.type) : "mixed";
  o.op = !what ? "mixed" : comm::reduces(*what) ? numeric::to_string(point.op) : "none";
  o.rank_set = comm::to_string(members.set);
  o.bytes = point.bytes;
  o.ranks = members.members.size();
  o.notes = notes;
}

run_names prepared_run::names() const {
  return {point,           form,
          machine.config,  machine.topology,
          members.members, [this](pe_coord pe, comm::direction d) { return direction_name(pe, d); }};
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
    const auto first = std::ranges::find_if(plan.queue_pairs, [&q](const auto& other) {
      return other.owner == q.peer && other.peer == q.owner && other.rx;
    });
    if (first == plan.queue_pairs.end() || first->rx_base == q.peer_rx_base) continue;
    q.peer_rx_base = first->rx_base;
    changed = true;
  }
  return changed;
}

}  // namespace

/// Changes the queue pairs of every PE that such a fault names. `swap` installs the first two directions that
/// receive as each other, `overlap` puts the second ring half a slot into the first. `first_match` makes
/// every direction write into the first ring of its peer that comes from this PE; the host that pairs so
/// proves nothing. Throws user_error when a PE has too few directions for it.
void prepared_run::spoil_plan() {
  const config::machine_config& config = machine.config;
  const machine_shape shape = config.shape();
  bool changed = false;
  for (std::size_t i = 0; i < config.faults.size(); ++i) {
    const config::fault_setting& f = config.faults[i];
    if (f.kind != config::fault_kind::wrong_install) continue;
    for (const pe_coord pe : config::population(config).pes()) {
      if (!config::matches(f.where, pe_path(shape, pe))) continue;
      if (f.variant == "first_match") {
        if (pair_by_first_match(plan, pe)) continue;
        throw user_error(problem{fmt::format("faults[{}].where", i),
                                 "names a PE with no two directions to one peer in this run",
                                 pe_path(shape, pe), "a PE of a ring of two"});
      }
      const rings of_pe = rings_of(plan, pe);
      if (of_pe.size() < 2)
        throw user_error(problem{fmt::format("faults[{}].where", i),
                                 "names a PE with fewer than two receiving directions in this run",
                                 pe_path(shape, pe), "a PE with two"});
      if (f.variant == "overlap") {
        of_pe[1]->rx_base = of_pe[0]->rx_base + of_pe[0]->slot_bytes / 2;
      } else {
        std::swap(of_pe[0]->rx_base, of_pe[1]->rx_base);
      }
      changed = true;
    }
  }
  if (changed) comm::prove_install_plan(plan, &shape);
}

}  // namespace diecast::platforms
