// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/app.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <set>
#include <systemc>
#include <unistd.h>

#include "models/config/suggestion.hpp"
#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/app/command_line.hpp"
#include "platforms/app/options.hpp"
#include "platforms/app/prepare_all.hpp"
#include "platforms/app/run_report.hpp"
#include "platforms/config_io/config_json.hpp"
#include "platforms/files/input.hpp"
#include "platforms/files/output_dir.hpp"
#include "platforms/observe/dram_taps.hpp"
#include "platforms/result/result_json.hpp"
#include "platforms/result/result_table.hpp"
#include "platforms/run/bound.hpp"
#include "platforms/run/child.hpp"
#include "platforms/run/collect.hpp"
#include "platforms/run/kernel.hpp"
#include "platforms/run/prepare.hpp"
#include "platforms/run/processes.hpp"
#include "platforms/run/simulate.hpp"
#include "sw/collectives/base/kernel_table.hpp"

namespace diecast::app {
namespace {

using platforms::job_kind;
using platforms::run_outcome;

bool is_data_flag(const std::string& flag) {
  static const std::set<std::string> flags{"--bytes", "--dtype", "--op", "--data", "--no-data"};
  return flags.contains(flag);
}

/// A workload file says itself what runs how often on whom.
void check_workload_flags(const options& o, job_kind job) {
  if (!o.workload.empty() && !platforms::read_input("--workload", o.workload).failure.empty())
    return;  // told of the file
  const bool program = job == job_kind::program, streams = job == job_kind::workload;
  std::vector<problem> problems;
  for (const std::string& flag : o.run_flags) {
    if (program && flag == "--collective")
      problems.push_back({flag, "cannot be combined with an MSCCL program", o.workload,
                          "the collective of the program (coll)"});
    if (!streams || flag == "--no-data") continue;  // which means the same of every op
    problems.push_back({flag, "cannot be combined with a --workload of streams", o.workload,
                        "fields of the ops in the file"});
  }
  if (o.isolate && !streams)
    problems.push_back({"--isolate", "requires a workload of streams", o.workload, "a --workload in JSON"});
  if (!problems.empty()) throw user_error(std::move(problems));
}

/// Prints what needs no machine; false when there is more to do.
bool inform(const registries& tables, const options& o) {
  if (o.help) return print(help_text(tables.platform)), true;
  if (o.version) return print(fmt::format("{} {}\n", tables.platform.name, DIECAST_VERSION)), true;
  if (o.schema) return print(platforms::config_schema()), true;
  if (!o.list.empty()) return print(list_text(tables, o.list)), true;
  if (!o.doc.empty()) return print(doc_text(tables, o.doc)), true;
  return false;
}

/// Every name must be known, also of an algorithm that a key of the config replaces.
void check_names(const std::vector<std::string>& given, const std::vector<std::string>& known,
                 const std::string& collective) {
  for (const std::string& name : given) {
    if (name == platforms::automatic_algorithm) continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw user_error(problem{
        "--algorithm", config::with_nearest(fmt::format("no such {} algorithm", collective), name, known),
        name, config::join(known)});
  }
}

/// A barrier moves no data.
void check_barrier_flags(const options& o) {
  std::vector<problem> problems;
  for (const std::string& flag : o.run_flags) {
    if (!is_data_flag(flag)) continue;
    problems.push_back({flag, "does not apply to barriers", o.collective, "a collective that moves data"});
  }
  if (!problems.empty()) throw user_error(std::move(problems));
}

/// What all points of the invocation share.
platforms::run_point asked(const options& o) {
  platforms::run_point p;
  p.collective = o.collective;
  p.type = o.type;
  p.op = o.op;
  p.ranks = o.ranks;
  p.iters = o.iters;
  p.warmup = o.warmup;
  p.data = !o.no_data;
  p.pattern_data = o.pattern_data;
  p.workload = o.workload;
  return p;
}

/// A run per algorithm and team.
std::vector<platforms::run_point> barrier_points(const options& o, const std::vector<std::string>& algorithms,
                                                 bool if_possible) {
  check_barrier_flags(o);
  std::vector<std::optional<comm::team_spec>> teams(o.teams.begin(), o.teams.end());
  if (teams.empty()) teams.emplace_back();
  std::vector<platforms::run_point> points;
  for (const auto& algorithm : algorithms) {
    for (const auto& team : teams) {
      platforms::run_point& p = points.emplace_back(asked(o));
      p.algorithm = algorithm;
      p.team = team;
      p.if_possible = if_possible;
    }
  }
  return points;
}

/// What an algorithm runs on without --ranks.
std::optional<comm::rank_set> usual_ranks_of(const registries& tables, const std::string& collective,
                                             const std::string& algorithm) {
  for (const sw::kernel_entry& k : tables.kernels)
    if (k.collective == collective && k.name == algorithm) return k.rank_sets.front();
  return std::nullopt;
}

/// Those that run on the same ranks one after the other: a table compares equal ranks.
void sort_by_ranks(std::vector<std::string>& algorithms, const registries& tables,
                   const std::string& collective) {
  std::stable_sort(algorithms.begin(), algorithms.end(), [&](const std::string& a, const std::string& b) {
    return usual_ranks_of(tables, collective, a) < usual_ranks_of(tables, collective, b);
  });
}

std::vector<platforms::run_point> jobs_of(const registries& tables, const options& o,
                                          const config::machine_config& config) {
  std::vector<std::string> algorithms = o.algorithms;
  if (!o.workload.empty() && !algorithms.empty()) {  // whatever the file is, which may not be there
    throw user_error(
        problem{"--algorithm", "cannot be combined with --workload", algorithms.front(), "one of the two"});
  }
  const job_kind job = platforms::job_of(o.collective, o.workload);
  const bool named = job == job_kind::collective || job == job_kind::barrier;  // by the command line
  check_workload_flags(o, job);
  const bool all = algorithms == std::vector<std::string>{"all"};
  const bool by_key = config.comm.deterministic_reduction && named && o.collective == "all_reduce";
  if (named) {
    const auto known = platforms::algorithms_of(tables, o.collective);
    if (by_key && !all) check_names(algorithms, known, o.collective);
    if (algorithms.empty()) algorithms = {platforms::automatic_algorithm};
    if (all) algorithms = platforms::algorithms_of(tables, o.collective, o.ranks);
    if (all && !o.ranks) sort_by_ranks(algorithms, tables, o.collective);
  } else {
    algorithms = {""};
  }
  std::string replaced;  // by the key
  std::optional<comm::rank_set> ranks = o.ranks;
  if (by_key) {
    if (!o.algorithms.empty() && !all && algorithms.front() != "auto")
      replaced = " instead of " + algorithms.front();
    if (!ranks && !replaced.empty()) ranks = usual_ranks_of(tables, o.collective, algorithms.front());
    algorithms.assign(1, sw::deterministic_all_reduce);
  }
  if (!o.teams.empty() && job != job_kind::barrier)
    throw user_error(problem{"--team", "applies to barriers only", comm::to_text(o.teams.front()),
                             "--collective barrier", problem_kind::barriers_only});
  if (job == job_kind::barrier) return barrier_points(o, algorithms, all);
  std::vector<platforms::run_point> points;
  for (const auto& algorithm : algorithms) {
    for (const std::uint64_t bytes : o.bytes) {
      platforms::run_point& p = points.emplace_back(asked(o));
      p.algorithm = algorithm;
      if (by_key) {
        p.algorithm_reason = "comm.deterministic_reduction" + replaced;
        p.chosen_by = platforms::chooser::key;
      }
      p.bytes = bytes;
      p.ranks = ranks;
      p.if_possible = all && named;
    }
  }
  return points;
}

/// What is run, with what is watched of it, whatever it is.
std::vector<platforms::run_point> points_of(const registries& tables, const options& o,
                                            const config::machine_config& config) {
  std::vector<platforms::run_point> points = jobs_of(tables, o, config);
  const auto alone = [&](const char* flag, const std::string& file, const char* what) {
    if (file.empty() || points.size() == 1) return;
    throw user_error(problem{flag, fmt::format("{} runs cannot share one {}", points.size(), what), file,
                             platforms::job_of(o.collective, o.workload) == job_kind::barrier
                                 ? "a single algorithm and team"
                                 : "a single algorithm and size"});
  };
  alone("--vcd", o.vcd, "waveform");
  alone("--timeline", o.timeline, "timeline");
  for (platforms::run_point& p : points) {
    p.vcd = o.vcd;
    p.timeline = o.timeline;
    p.critical_path = !o.out.empty() && o.parallel.processes == 1;  // one process must hear of every event
    p.waits = !o.out.empty();
    p.ccl_trace = o.ccl_trace;
    p.tell_faults = !o.hide_faults;
    p.progress = o.progress;
    p.jitter_runs = o.jitter_runs;
    p.jitter_ns = o.jitter_ns.value_or(config.ccl.jitter_ns);
    p.inspect = o.inspect;
    p.record = o.double_run || !o.record.empty() || !o.verify.empty();
  }
  return points;
}

/// What counts runs, which are fewer than the points when some are left out.
void number(const std::vector<std::unique_ptr<platforms::prepared_run>>& runs, const options& o) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string which = runs.size() == 1 ? "" : fmt::format("_{}", i);
    runs[i]->point.progress_label = progress_label(i, runs.size());
    runs[i]->point.flight_file = o.out.empty() ? fmt::format("flight{}.{}.json", which, getpid())
                                               : fmt::format("{}/flight{}.json", o.out, which);
  }
}

class reporter {
 public:
  reporter(const options& o, platforms::result_context context, const config::machine_config& c)
      : report_(o, std::move(context), c, {{"--record", o.record}}) {}

  void start(const std::vector<std::unique_ptr<platforms::prepared_run>>& runs) {
    planned_ = runs.size();
    std::vector<run_outcome> outcomes(planned_);
    for (std::size_t i = 0; i < planned_; ++i) runs[i]->describe(outcomes[i]);
    table_.emplace(outcomes,
                   std::all_of(runs.begin(), runs.end(), [](const auto& r) { return r->point.data; }),
                   runs.front()->point.jitter_runs > 0);
    report_.start(table_->start());
  }

  void add(run_outcome o) {
    const std::string rows = table_->row(o);
    report_.add(std::move(o), rows);
    for (const platforms::fault_row& f : report_.outcomes().back().faults)
      if (f.met == 0) platforms::tell(platforms::to_text(f));
  }

  [[nodiscard]] bool interrupted() const { return report_.interrupted(); }

  int finish() {
    const std::vector<run_outcome>& runs = report_.outcomes();
    report_.finish([&] { return platforms::result_json(report_.context(), runs); },
                   [&] { return platforms::result_csv(runs); }, [&] { write_files(runs); });
    return report_.exit_code();
  }

 private:
  void write_files(const std::vector<run_outcome>& runs) {
    report_.write("links.csv", platforms::links_csv(runs));
    for (std::size_t i = 0; i < runs.size(); ++i) write_of_run("deadlock", i, runs[i].deadlock_json);
    if (!runs.front().of_packets()) return;  // the other tables are of what packets do
    report_.write("ipcq.csv", platforms::ipcq_csv(runs));
    report_.write("health.csv", platforms::health_csv(runs));
    report_.write("waits.csv", platforms::waits_csv(runs));
    report_.write("hbm.csv", platforms::hbm_csv(runs));
    for (std::size_t i = 0; i < runs.size(); ++i) {
      write_of_run("flight", i, runs[i].flight_json);
      write_of_run("critical_path", i, runs[i].critical_path_json);
    }
  }

  /// A file that one run of several has for itself.
  void write_of_run(const char* name, std::size_t run, const std::string& text) {
    if (text.empty()) return;
    report_.write(planned_ == 1 ? fmt::format("{}.json", name) : fmt::format("{}_{}.json", name, run), text);
  }

  run_report<run_outcome> report_;
  std::optional<platforms::result_table> table_;
  std::size_t planned_{};  ///< runs of this invocation
};

/// What a job of several processes needs is there for all runs.
void check_several(const registries& tables, const options& o,
                   const std::vector<std::unique_ptr<platforms::prepared_run>>& runs) {
  if (o.parallel.processes == 1) return;
  if (tables.platform.name != pod_platform().name)
    throw user_error(problem{"--processes", "the processes have only the kernels of diecast-pod",
                             std::to_string(o.parallel.processes), "diecast-pod, or --processes 1"});
  for (const auto& r : runs) platforms::check_processes(*r, o.parallel);
}

int run_points(const registries& tables, const options& o, const platforms::machine_model& machine,
               std::vector<platforms::unread_key> unread, int argc, char** argv) {
  if (const auto& all = machine.topology.population(); !o.dump_install && o.parallel.processes == 1)
    platforms::check_stacks(all.pes().size(), all.shape().sips);
  const auto runs = prepare_all(machine, tables, points_of(tables, o, machine.config));
  number(runs, o);
  check_several(tables, o, runs);
  observe::check_scopes(machine.config.trace, observe::instances_of(machine.config, machine.topology),
                        !o.vcd.empty(), !o.timeline.empty());
  if (o.dump_install) {
    for (const auto& r : runs)
      print(
          comm::to_text(r->plan, [&r](pe_coord pe, comm::direction d) { return r->direction_name(pe, d); }));
    return 0;
  }
  reproducer reproduce(o, runs.size());  // reads --verify before --out loses what an earlier run left there
  reporter report(
      o,
      context_of(tables.platform.name, machine.config, std::move(unread), argc, argv, machine.config.shape()),
      machine.config);
  // After --out, in whose directory they may lie.
  claim_files({{"--vcd", o.vcd}, {"--timeline", o.timeline}});  // a record is written whole at the end
  report.start(runs);
  platforms::install_dump_handlers(machine.config.sim.dump_on_sighup);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& r = runs[i];
    const auto simulate = [&] {
      return platforms::run_in_child([&] {
        return o.parallel.processes > 1 ? platforms::run_on_processes(machine, *r, o.parallel)
                                        : platforms::simulate(*r, tables);
      });
    };
    run_outcome outcome = simulate();
    if (outcome.collective.empty()) r->describe(outcome);  // its process died
    reproduce.look_at(i, outcome, simulate);               // a second run has no times of streams alone
    if (o.isolate) platforms::add_isolated_times(*r, tables, outcome);
    if (o.jitter_runs > 0) platforms::add_jitter(*r, tables, outcome);
    if (o.explain) platforms::add_explanation(*r, tables, outcome);
    report.add(std::move(outcome));
    if (report.interrupted()) break;
  }
  reproduce.finish();
  return report.finish();
}

/// Prints the estimates of the algorithms named, or of all where none is. Exit code 2 where none can run.
int print_estimates(const registries& tables, options o, const platforms::machine_model& machine, int argc,
                    char** argv) {
  if (platforms::job_of(o.collective, o.workload) == job_kind::barrier)
    throw user_error(problem{"--estimate", "barriers are not estimated", o.collective, "another collective"});
  if (o.algorithms.empty()) o.algorithms = {"all"};
  o.no_data = true;
  const auto rows = platforms::estimates_of(machine, tables, points_of(tables, o, machine.config));
  if (o.format == output_format::json) {
    print(platforms::estimate_json(
        context_of(tables.platform.name, machine.config, {}, argc, argv, machine.config.shape()), rows));
  } else {
    print(o.format == output_format::csv ? platforms::estimate_csv(rows) : platforms::estimate_table(rows));
  }
  const bool any = std::any_of(rows.begin(), rows.end(), [](const auto& e) { return e.fits; });
  return any ? 0 : platforms::exit_code(platforms::run_status::error);
}

int run_checked(const registries& tables, int argc, char** argv) {
  check(tables);
  const options o = parse_options(argc, argv);
  if (inform(tables, o)) return 0;
  const platforms::loaded_config given =
      load_config(o, tables.platform.default_config, tables.platform.data_dir);
  config::machine_config config = given.config;
  tables.platform.adapt(config);
  platforms::check_ccl(tables, config);
  check_fidelity(o, config);
  if (o.diagnose) return run_diagnosis(o, config, argc, argv);
  if (o.dump_config) return print(platforms::dump_config(config)), 0;
  const platforms::machine_model machine(config);
  if (o.estimate) return print_estimates(tables, o, machine, argc, argv);
  if (o.check_config) return print(balance_text(machine)), 0;
  if (o.print_map) return print(map_text(machine)), 0;
  return run_points(tables, o, machine, platforms::unread_keys(given, config), argc, argv);
}

}  // namespace

int run(const registries& tables, int argc, char** argv) {
  return exit_code_of([&] { return run_checked(tables, argc, argv); });
}

int start(int argc, char** argv) {
  platforms::hold_standard_streams();
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}

}  // namespace diecast::app
