// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/app.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <systemc>
#include <unistd.h>

#include "models/types/error.hpp"
#include "platforms/app/command_line.hpp"
#include "platforms/app/options.hpp"
#include "platforms/app/prepare_all.hpp"
#include "platforms/app/run_report.hpp"
#include "platforms/config_io/config_json.hpp"
#include "platforms/files/output_dir.hpp"
#include "platforms/job/algorithms.hpp"
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

namespace diecast::app {
namespace {

using platforms::run_outcome;

/// Handles flags that need no machine; false when there is more to do.
bool inform(const registries& tables, const options& o) {
  const auto list = [&] { return list_text(tables, o.list); };
  if (inform(o, tables.platform.name, help_text(tables.platform), list)) return true;
  if (!o.doc.empty()) return print(doc_text(tables, o.doc)), true;
  return false;
}

/// The runs of a command line and their outputs, for any kind of job.
std::vector<platforms::run_point> points_of(const registries& tables, const options& o,
                                            const config::machine_config& config) {
  if (!o.point.workload.empty() && !o.algorithms.empty())  // independent of the file, which need not exist
    throw user_error(
        problem{"--algorithm", "cannot be combined with --workload", o.algorithms.front(), "one of the two"});
  const platforms::job_entry& kind = platforms::job_of(tables, o.point.collective, o.point.workload);
  std::vector<platforms::run_point> points = kind.points(tables, o, config);
  refuse_shared_files(
      points.size(), kind.form.moves_data ? "a single algorithm and size" : "a single algorithm and team", o);
  for (platforms::run_point& p : points)
    if (p.jitter_ns == 0) p.jitter_ns = config.ccl.jitter_ns;
  return points;
}

/// Numbers the runs, of which there are fewer than points when some are left out.
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
  /// `written`: the files beside --out, --vcd and --timeline.
  reporter(const options& o, platforms::result_context context, const config::machine_config& c,
           flag_files written)
      : report_(o, std::move(context), c, std::move(written)) {}

  void start(const std::vector<std::unique_ptr<platforms::prepared_run>>& runs) {
    planned_ = runs.size();
    std::vector<run_outcome> outcomes(planned_);
    for (std::size_t i = 0; i < planned_; ++i) runs[i]->describe(outcomes[i]);
    table_.emplace(outcomes, std::ranges::all_of(runs, [](const auto& r) { return r->point.data; }),
                   runs.front()->point.jitter_runs > 0);
    report_.start(table_->start());
  }

  void add(run_outcome o) {
    const std::string rows = table_->row(o);
    report_.add(std::move(o), rows);
    for (const platforms::fault_row& f : report_.outcomes().back().faults)
      if (f.met == 0) platforms::warn(platforms::to_text(f));
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

  /// Name of a file of one of several runs.
  void write_of_run(const char* name, std::size_t run, const std::string& text) {
    if (text.empty()) return;
    report_.write(planned_ == 1 ? fmt::format("{}.json", name) : fmt::format("{}_{}.json", name, run), text);
  }

  run_report<run_outcome> report_;
  std::optional<platforms::result_table> table_;
  std::size_t planned_{};  ///< runs of this invocation
};

/// Checks that all runs can use several processes.
void check_several(const registries& tables, const options& o,
                   const std::vector<std::unique_ptr<platforms::prepared_run>>& runs) {
  if (o.parallel.processes == 1) return;
  if (tables.platform.name != pod_platform().name)
    throw user_error(problem{"--processes", "the processes have only the kernels of diecast-pod",
                             std::to_string(o.parallel.processes), "diecast-pod, or --processes 1"});
  for (const auto& r : runs) platforms::check_processes(*r, o.parallel);
  platforms::check_room(o.parallel);
  std::error_code none;
  for (const auto& [flag, part] : parts_of(o))  // names that the user has not given
    if (std::filesystem::file_size(part, none) > 0 && !none && !platforms::is_own(part))
      throw output_error(
          fmt::format("{} {}: holds something that Diecast did not write; expected it moved", flag, part));
}

int run_points(const registries& tables, const options& o, const platforms::machine_model& machine,
               std::vector<platforms::unread_key> unread, int argc, char** argv) {
  if (const auto& all = machine.topology.population();
      !o.dump_install && !o.check_config && o.parallel.processes == 1)
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
  if (o.check_config) return print(balance_text(machine)), 0;
  flag_files written = parts_of(o);
  written.emplace_back("--record", o.record);
  reporter report(
      o,
      context_of(tables.platform.name, machine.config, std::move(unread), argc, argv, machine.config.shape()),
      machine.config, std::move(written));
  report.start(runs);
  claim_files(parts_of(o));
  platforms::install_dump_handlers(machine.config.sim.dump_on_sighup);
  const platforms::simulator simulate = [&](const auto& run, auto only, auto draw) {
    return platforms::run_in_child([&] {
      return o.parallel.processes > 1 ? platforms::run_on_processes(run, o.parallel, only, draw)
                                      : platforms::simulate(run, tables, only, draw);
    });
  };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& r = runs[i];
    const auto whole = [&] { return simulate(*r, {}, 0); };
    run_outcome outcome = whole();
    if (outcome.collective.empty()) r->describe(outcome);  // the run's process died
    reproduce.look_at(i, outcome, whole);                  // a second run has no times of streams alone
    r->run_more(simulate, outcome);
    if (o.point.jitter_runs > 0) platforms::add_jitter(*r, simulate, outcome);
    if (o.explain) platforms::add_explanation(*r, tables, simulate, outcome);
    report.add(std::move(outcome));
    if (report.interrupted()) break;
  }
  reproduce.finish();
  return report.finish();
}

/// Prints the estimates of the algorithms named, or of all where none is. Exit code 2 where none can run.
int print_estimates(const registries& tables, options o, const platforms::machine_model& machine, int argc,
                    char** argv) {
  if (o.algorithms.empty()) o.algorithms = {"all"};
  o.point.data = false;
  const auto rows = platforms::estimates_of(machine, tables, points_of(tables, o, machine.config));
  if (o.format == output_format::json) {
    print(platforms::estimate_json(
        context_of(tables.platform.name, machine.config, {}, argc, argv, machine.config.shape()), rows));
  } else {
    print(o.format == output_format::csv ? platforms::estimate_csv(rows) : platforms::estimate_table(rows));
  }
  const bool any = std::ranges::any_of(rows, [](const auto& e) { return e.fits; });
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
  if (o.check_config && o.run_flags.empty() && o.point.workload.empty() && o.verify.empty() &&
      !o.point.isolate)
    return print(balance_text(machine)), 0;
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
