// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/simulate.hpp"

#include <fmt/format.h>
#include <memory>
#include <optional>

#include "hw/base/time.hpp"
#include "models/timing/longest_step.hpp"
#include "platforms/netlist/pod.hpp"
#include "platforms/run/bound.hpp"
#include "platforms/run/collect.hpp"
#include "platforms/run/fault_rows.hpp"
#include "platforms/run/health.hpp"
#include "platforms/run/how_far.hpp"
#include "platforms/run/jitter.hpp"
#include "platforms/run/kernel.hpp"
#include "platforms/run/progress.hpp"
#include "platforms/run/run_observers.hpp"
#include "platforms/run/session.hpp"
#include "platforms/run/watchdog.hpp"
#include "platforms/run/workload_session.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::platforms {
namespace {

void conclude(end_of_run end, const prepared_run& run, const host_side& s, const hw::fault_sink& faults,
              netlist::pod& pod, const analysis::line_history* lines, run_outcome& o) {
  s.report(o);
  switch (end) {
    case end_of_run::finished: return;
    case end_of_run::fault: {
      const fault_text f = explain(
          faults.fault(), [&run](pe_coord pe, comm::direction d) { return run.direction_name(pe, d); });
      o.status = f.status;
      o.message = f.message;
      return;
    }
    case end_of_run::starved:
      return report_stop(run, pod, run_status::deadlock, "no event is left", lines, o);
    case end_of_run::watchdog:
      return report_stop(
          run, pod, run_status::deadlock,
          fmt::format("nothing has moved for sim.watchdog_us = {}", run.machine.config.sim.watchdog_us),
          lines, o);
    case end_of_run::interrupted:
      o.status = run_status::interrupted;
      o.message =
          fmt::format("interrupted at {:.3f} us after {} launches", hw::now().ns() / 1e3, s.rounds_done());
      return;
    case end_of_run::limit:
      return report_stop(
          run, pod, run_status::limit,
          fmt::format("the run has reached sim.limit_ms = {}, the limit of simulated time; no deadlock "
                      "is known, and a higher limit continues the run",
                      run.machine.config.sim.limit_ms),
          lines, o);
  }
}

std::unique_ptr<host_side> make_host_side(const prepared_run& run, std::optional<std::uint32_t> only,
                                          std::function<void()> on_round) {
  if (run.workload) return std::make_unique<workload_session>(run, only, std::move(on_round));
  return std::make_unique<session>(run, std::move(on_round));
}

netlist::pod& build_pod(const prepared_run& run, const app::registries& tables, events::hub& events,
                        hw::fault_sink& faults, host_side& hosts, std::uint64_t draw) {
  const config::machine_config& config = run.machine.config;
  const netlist::build_order order(config.sim.build_order);
  const netlist::build_context context{
      config, run.machine.topology, events, faults, order,
      [&hosts, &run, draw](pe_coord pe) -> hw::firmware {
        sw::runtime_options options = sw::options_from(run.machine.config, pe);
        options.start_delay += jitter_delay(run, draw, pe);
        return [&hosts, options](abi::hal& hal, const abi::launch_block& block) {
          hosts.firmware(hal, block, options);
        };
      },
      tables.hbm,
      // Flags are data.
      run.point.data || run.barrier || (run.workload && run.workload->uses_signals())};
  // Never destroyed: the process ends after its run, and SystemC 2.3.4 takes long to remove the objects of a
  // large pod from its registries one by one.
  auto& pod = *new netlist::pod("pod", context, [&hosts](sip_id) -> hw::host_program {
    return [&hosts](abi::host_hal& host) { hosts.host_program(host); };
  });
  if (run.tree) pod.install({*run.tree, *run.plan.tree});
  return pod;
}

/// The simulation itself.
end_of_run play(const prepared_run& run, const host_side& hosts, const hw::fault_sink& faults,
                netlist::pod& pod, run_observers& watching, double bound_ns) {
  const config::sim_block& sim = run.machine.config.sim;
  watchdog dog(pod, picoseconds(sim.watchdog_us * 1'000'000),
               timing::longest_step(run.machine.topology, run.machine.config));
  progress_bar bar(run.point.progress, run.point.progress_label);
  distance done(run, hosts, pod, bound_ns);
  return run_slices(
      sim, [&hosts] { return hosts.finished(); }, faults, [&dog] { return dog.starved(hw::now()); },
      [&] {
        bar.update(hw::now(), [&] { return done.now(); });
        watching.catch_up(pod);
      });
}

/// Of a run that came to no good end.
void report_flight(end_of_run end, const flight_dump& flight, netlist::pod& pod, run_outcome& o) {
  const bool bad = o.status == run_status::deadlock || o.status == run_status::limit ||
                   o.status == run_status::fault || o.status == run_status::internal;
  if (!bad) return;
  const bool still = end == end_of_run::starved || end == end_of_run::watchdog;
  o.flight_json = flight.text(pod, o.message.substr(0, o.message.find('\n')), still);
}

}  // namespace

run_outcome simulate(const prepared_run& run, const app::registries& tables,
                     std::optional<std::uint32_t> only, std::uint64_t draw) {
  run_outcome o;
  run.describe(o);
  const stopwatch elaboration;
  prepare_kernel();
  events::hub events;
  run_observers watching(run, !only && draw == 0, events);
  hw::fault_sink faults;
  const auto hosts = make_host_side(run, only, [&watching] { watching.next_launch(); });
  watching.listen_to(*hosts);
  netlist::pod& pod = build_pod(run, tables, events, faults, *hosts, draw);
  watching.listen_to(pod);
  o.elaborate_s = elaboration.seconds();

  const stopwatch running;
  const end_of_run end = play(run, *hosts, faults, pod, watching, o.bound_ns);
  o.wall_s = running.seconds();
  conclude(end, run, *hosts, faults, pod, watching.barriers().history(), o);
  if (end == end_of_run::finished) watching.check_credits(o);
  report_flight(end, watching.flight(), pod, o);
  collect(run, pod, *hosts, watching.hops(), o);
  rate_against_bound(run, o);
  watching.barriers().report(*hosts, pod, o);
  o.health = health_rows(run, pod);
  o.faults = fault_rows(run, pod);
  watching.report(end, o);
  watching.close_files(o);
  o.peak_rss_mib = peak_rss_mib();
  return o;
}

}  // namespace diecast::platforms
