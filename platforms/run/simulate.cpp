// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/simulate.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <tuple>
#include <utility>
#include <vector>

#include "hw/base/time.hpp"
#include "models/fabric/longest_step.hpp"
#include "platforms/files/output_dir.hpp"
#include "platforms/netlist/pod.hpp"
#include "platforms/run/bound.hpp"
#include "platforms/run/collect.hpp"
#include "platforms/run/host_side.hpp"
#include "platforms/run/progress.hpp"
#include "platforms/run/run_observers.hpp"
#include "platforms/run/watchdog.hpp"
#include "platforms/run/windows.hpp"

namespace diecast::platforms {
namespace {

/// The part of a machine that this process simulates: all of it, or some SIPs.
struct share {
  process_group* group{};  ///< null: all of it
  windows* others{};       ///< null: all of it
  std::vector<bool> sips;  ///< empty: all of it
  std::uint64_t count{};   ///< number of SIPs
};

void take_fault(const prepared_run& run, const hw::fault_sink& faults, run_outcome& o) {
  take_fault(run, {faults.fault(), faults.instance(), sim_time{faults.at().value()}}, o);
}

/// The fault that ends a run of several processes: the earliest; of several at one instant, that of the
/// lowest path.
struct end_by_fault {
  sim_time at;
  std::string instance;
  run_status status{};
  std::string message;
  std::optional<detected_fault> detected;
  DIECAST_MEMBERS(at, instance, status, message, detected)
};
void take_first_fault(const prepared_run& run, const hw::fault_sink& faults, process_group& group,
                      run_outcome& o) {
  std::vector<end_by_fault> own;
  if (faults.fault()) {
    take_fault(run, faults, o);
    own.push_back({sim_time{faults.at().value()}, faults.instance(), o.status, o.message, o.detected});
  }
  const auto all = joined(&group, std::move(own));
  const auto first =
      std::ranges::min_element(all, {}, [](const auto& end) { return std::tie(end.at, end.instance); });
  o.status = first->status;
  o.message = first->message;
  o.detected = first->detected;
}

netlist::pod& build_pod(const prepared_run& run, const app::registries& tables, events::hub& events,
                        hw::fault_sink& faults, host_side& hosts, std::uint64_t draw, const share& own) {
  const config::machine_config& config = run.machine.config;
  const netlist::build_order order(config.sim.build_order);
  const netlist::build_context context{
      config, run.machine.topology, events, faults, order,
      [&hosts, &run, draw](pe_coord pe) -> hw::firmware { return firmware_of(hosts, run, draw, pe); },
      tables.hbm,
      // Flags are data.
      run.point.data || run.uses_signals, own.sips,
      own.others != nullptr ? own.others->outlet() : hw::boundary_outlet{}};
  // Never destroyed: the process ends after its run, and SystemC 2.3.4 takes long to remove the objects of a
  // large pod from its registries one by one.
  auto& pod = *new netlist::pod("pod", context, [&hosts](sip_id) -> hw::host_program {
    return [&hosts](abi::host_hal& host) { hosts.host_program(host); };
  });
  if (run.tree) pod.install({*run.tree, *run.plan.tree});
  return pod;
}

/// State of all processes together.
movement of_all(const movement& own, process_group& group) {
  movement all;
  for (const movement& m : gathered(group, own)) {
    all.watched |= m.watched;
    all.packets_move |= m.packets_move;
    all.kernels_run |= m.kernels_run;
    all.moves += m.moves;
    all.moves_watched += m.moves_watched;
    all.busy_until = std::max(all.busy_until, m.busy_until);
  }
  return all;
}

/// The simulation itself.
end_of_run play(const prepared_run& run, const host_side& hosts, thread_agreement& agreement,
                const hw::fault_sink& faults, netlist::pod& pod, run_observers& watching, const share& own,
                double bound_ns) {
  const config::sim_block& sim = run.machine.config.sim;
  movement_join together;
  if (own.group != nullptr) together = [&own](const movement& m) { return of_all(m, *own.group); };
  watchdog dog(pod, picoseconds(sim.watchdog_us * 1'000'000),
               fabric::longest_step(run.machine.topology, run.machine.config), together);
  const auto stuck = [&dog] { return dog.starved(hw::now()); };
  if (own.others != nullptr) return own.others->play(pod, hosts, agreement, watching, faults, stuck);
  progress_bar bar(run.point.progress, run.point.progress_label);
  distance done(run, hosts, bound_ns,
                [&pod](pe_coord pe) { return pod.pe(pe).core.state() == events::core_state::done; });
  return run_slices(
      sim, [&hosts] { return hosts.finished(); }, faults, stuck,
      [&] {
        bar.update(hw::now(), [&] { return done.at(hw::now()); });
        watching.catch_up(pod);
      });
}

/// Completes the outcome of a run that did not end well.
void report_flight(end_of_run end, const run_observers& watching, netlist::pod& pod, process_group* group,
                   run_outcome& o) {
  const bool bad = o.status == run_status::deadlock || o.status == run_status::limit ||
                   o.status == run_status::fault || o.status == run_status::internal;
  if (!bad) return;
  const bool still = end == end_of_run::starved || end == end_of_run::watchdog;
  o.flight_json = watching.flight().text(pod, o.message.substr(0, o.message.find('\n')), still,
                                         watching.history(), group);
}

run_outcome simulate_share(const prepared_run& run, const app::registries& tables,
                           std::optional<std::uint32_t> only, std::uint64_t draw, const share& own) {
  run_outcome o;
  run.describe(o);
  const stopwatch elaboration;
  prepare_kernel();
  events::hub events;
  run_observers watching(run, !only && draw == 0, events, own.group, own.sips);
  hw::fault_sink faults;
  if (own.group != nullptr) faults.go_on();
  thread_agreement agreement(own.count);
  const auto hosts = run.hosts(only, own.count, agreement, [&watching] { watching.next_launch(); });
  watching.listen_to(*hosts);
  netlist::pod& pod = build_pod(run, tables, events, faults, *hosts, draw, own);
  watching.listen_to(pod);
  o.elaborate_s = elaboration.seconds();

  const stopwatch running;
  const end_of_run end = play(run, *hosts, agreement, faults, pod, watching, own, o.bound_ns);
  o.wall_s = running.seconds();
  if (own.group != nullptr) hosts->join(*own.group);
  conclude(end, run, *hosts, hw::now(),
           {[&] {
              return own.group != nullptr ? take_first_fault(run, faults, *own.group, o)
                                          : take_fault(run, faults, o);
            },
            [&](run_status status, const std::string& why) {
              const bool still = status == run_status::deadlock;
              report_stop(run, machine_now(run, pod, still, watching.history(), own.group), hw::now(), status,
                          why, o);
            }},
           o);
  if (end == end_of_run::finished) watching.check_credits(o);
  report_flight(end, watching, pod, own.group, o);
  machine_totals totals = collect(run, pod, o);
  watching.report_rows(pod, o);
  if (own.group != nullptr) {
    o.peak_rss_mib = peak_rss_mib();
    join(*own.group, run, o, totals, watching.hops());
  }
  report_totals(run, totals, *hosts, &watching.hops(), hw::now(), o);
  rate_against_bound(o);
  watching.report_verdict(*hosts, pod, own.group, o);
  if (run.point.inspect)
    for (std::string& line : dispatch_lines(run, pod, own.group)) o.notes.push_back(std::move(line));
  o.health = health_rows(run, pod, own.group);
  o.faults = fault_rows(run, pod, own.group);
  if (end == end_of_run::finished) watching.report_path(own.group, o);
  watching.close_files(own.group, o);
  o.peak_rss_mib = std::max(o.peak_rss_mib, peak_rss_mib());
  return o;
}

}  // namespace

run_outcome simulate(const prepared_run& run, const app::registries& tables,
                     std::optional<std::uint32_t> only, std::uint64_t draw) {
  if (run.machine.config.sim.fidelity == config::run_fidelity::message)
    return simulate_messages(run, only, draw);
  share all;
  all.count = run.machine.config.pod.sips;
  return simulate_share(run, tables, only, draw, all);
}

run_outcome simulate_part(const prepared_run& run, const app::registries& tables,
                          std::optional<std::uint32_t> only, std::uint64_t draw, process_group& group,
                          const fabric::sip_partition& partition) {
  windows others(group, partition, run);
  share own{&group, &others, partition.sips_of(group.self()), 0};
  own.count = static_cast<std::uint64_t>(std::ranges::count(own.sips, true));
  run_outcome o = simulate_share(run, tables, only, draw, own);
  const window_counts& c = others.counts();
  if (std::getenv("DIECAST_WINDOWS") != nullptr)
    warn(fmt::format("process {}: {} windows, {} without an event; simulated {:.3f} s, exchanged {:.3f} s",
                     group.self(), c.windows, c.idle, c.simulate_s, c.exchange_s));
  return o;
}

void take_fault(const prepared_run& run, const thrown_fault& fault, run_outcome& o) {
  const comm::direction_namer names = run.names().direction;
  fault_text f = explain(fault.what, names);
  o.status = f.status;
  o.message = std::move(f.message);
  if (f.record)
    o.detected = detected(*f.record, fault.instance, run.machine.config.shape(), names, fault.at.ns());
}

std::function<void(abi::hal&, const abi::launch_block&)> firmware_of(host_side& hosts,
                                                                     const prepared_run& run,
                                                                     std::uint64_t draw, pe_coord pe) {
  sw::runtime_options options = sw::options_from(run.machine.config, pe);
  options.start_delay += jitter_delay(run, draw, pe);
  return [&hosts, options](abi::hal& hal, const abi::launch_block& block) {
    hosts.firmware(hal, block, options);
  };
}

void conclude(end_of_run end, const prepared_run& run, const host_side& s, sim_time now,
              const end_reports& reports, run_outcome& o) {
  const config::sim_block& sim = run.machine.config.sim;
  s.report(o);
  switch (end) {
    case end_of_run::finished: return;
    case end_of_run::fault: return reports.fault();
    case end_of_run::starved: return reports.stop(run_status::deadlock, "no event is left");
    case end_of_run::watchdog:
      return reports.stop(run_status::deadlock,
                          fmt::format("nothing has moved for sim.watchdog_us = {}", sim.watchdog_us));
    case end_of_run::interrupted:
      o.status = run_status::interrupted;
      o.message = fmt::format("interrupted at {:.3f} us after {} launches", now.ns() / 1e3, s.rounds_done());
      return;
    case end_of_run::limit:
      return reports.stop(
          run_status::limit,
          fmt::format("the run has reached sim.limit_ms = {}, the limit of simulated time; no deadlock "
                      "is known, and a higher limit continues the run",
                      sim.limit_ms));
  }
}

}  // namespace diecast::platforms
