// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/simulate.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>

#include "hw/base/time.hpp"
#include "models/analysis/credit_checker.hpp"
#include "models/analysis/critical_hops.hpp"
#include "models/analysis/critical_path.hpp"
#include "models/analysis/waited_time.hpp"
#include "models/checksum/packet_checksum.hpp"
#include "models/timing/longest_step.hpp"
#include "models/types/error.hpp"
#include "platforms/io/critical_path_json.hpp"
#include "platforms/netlist/pod.hpp"
#include "platforms/observe/ccl_trace.hpp"
#include "platforms/observe/dram_taps.hpp"
#include "platforms/observe/step_recorder.hpp"
#include "platforms/observe/timeline.hpp"
#include "platforms/observe/vcd_writer.hpp"
#include "platforms/run/barrier_run.hpp"
#include "platforms/run/bound.hpp"
#include "platforms/run/collect.hpp"
#include "platforms/run/fault_rows.hpp"
#include "platforms/run/finish_file.hpp"
#include "platforms/run/flight_dump.hpp"
#include "platforms/run/health.hpp"
#include "platforms/run/how_far.hpp"
#include "platforms/run/kernel.hpp"
#include "platforms/run/progress.hpp"
#include "platforms/run/session.hpp"
#include "platforms/run/wait_rows.hpp"
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
      const fault_text f = explain(faults.fault());
      o.status = f.status;
      o.message = f.message;
      return;
    }
    case end_of_run::starved: return report_deadlock(run, pod, "nothing is left to happen", true, lines, o);
    case end_of_run::watchdog:
      return report_deadlock(
          run, pod,
          fmt::format("nothing has moved for sim.watchdog_us = {}", run.machine.config.sim.watchdog_us), true,
          lines, o);
    case end_of_run::interrupted:
      o.status = run_status::interrupted;
      o.message =
          fmt::format("interrupted at {:.3f} us after {} launches", hw::now().ns() / 1e3, s.rounds_done());
      return;
    case end_of_run::limit:
      return report_deadlock(
          run, pod, fmt::format("the run has reached sim.limit_ms = {}", run.machine.config.sim.limit_ms),
          false, lines, o);
  }
}

std::unique_ptr<host_side> make_host_side(const prepared_run& run, std::optional<std::uint32_t> only,
                                          std::function<void()> on_round) {
  if (run.workload) return std::make_unique<workload_session>(run, only, std::move(on_round));
  return std::make_unique<session>(run, std::move(on_round));
}

void report_path(const prepared_run& run, const analysis::path_events& events, run_outcome& o) {
  const auto path = analysis::critical_path(events, timing::noc_clock(run.machine.config).period);
  if (path) {
    o.critical_path_json = critical_path_json(run, events, *path);
  } else {
    o.notes.emplace_back(
        "no critical path: the last launch had more events than trace.path_events, or messages arrived "
        "elsewhere than the install plan says");
  }
}

std::vector<observe::initial_credits> link_credits_of(netlist::pod& pod) {
  std::vector<observe::initial_credits> all;
  const auto add_sender = [&all](std::uint32_t link, const hw::link_sender& sender) {
    for (std::size_t vc = 0; vc < sender.initial_credits().size(); ++vc) {
      all.push_back({link, static_cast<std::uint8_t>(vc), sender.initial_credits()[vc]});
    }
  };
  for (const auto& sip : pod.sips()) {
    for (const auto& cube : sip->cubes()) {
      cube->noc().visit_credits([&](std::uint32_t link, std::uint8_t vc, std::uint32_t flits) {
        all.push_back({link, vc, flits});
      });
      for (unsigned s = 0; s < fabric::sides; ++s) {
        if (const auto* edge = cube->edge(static_cast<fabric::side>(s)))
          add_sender(edge->link(), edge->sender());
      }
    }
    for (const auto& port : sip->ports()) {
      if (port) add_sender(port->link(), port->sender());  // one of each link is here
    }
  }
  return all;
}

}  // namespace

run_outcome simulate(const prepared_run& run, const app::registries& tables,
                     std::optional<std::uint32_t> only) {
  run_outcome o;
  run.describe(o);
  const stopwatch elaboration;
  prepare_kernel();

  const config::machine_config& config = run.machine.config;
  events::hub events;
  analysis::critical_hops hops(run.plan);
  events.attach(hops, events::messages);
  // A stream alone is a run behind the run: its files would replace those asked for.
  const bool whole = !only;
  std::unique_ptr<observe::vcd_writer> vcd;
  if (whole && !run.point.vcd.empty()) {
    vcd = std::make_unique<observe::vcd_writer>(run.point.vcd, config, &run.machine.topology, run.plan,
                                                observe::dram_channel_paths(config, run.machine.topology));
    events.attach(*vcd, observe::vcd_writer::interests);
  }
  std::unique_ptr<observe::timeline> timeline;
  if (whole && !run.point.timeline.empty()) {
    const auto names = [&run](pe_coord pe, comm::direction d) { return run.direction_name(pe, d); };
    timeline = std::make_unique<observe::timeline>(run.point.timeline, config, &run.machine.topology,
                                                   run.plan, names);
    events.attach(*timeline, observe::timeline::interests);
  }
  std::optional<analysis::path_events> path_events;
  if (run.point.critical_path && !run.workload && config.trace.path_events > 0) {
    path_events.emplace(run.plan, config.trace.path_events);
    events.attach(*path_events, analysis::path_events::interests);
  }
  std::optional<analysis::waited_time> waits;
  if (run.point.waits) {
    waits.emplace();
    events.attach(*waits, analysis::waited_time::interests);
  }
  std::unique_ptr<observe::ccl_trace> trace;
  if (whole && run.point.ccl_trace) {
    trace = std::make_unique<observe::ccl_trace>(run, stderr);
    events.attach(*trace, events::messages);
  }
  std::unique_ptr<analysis::credit_checker> credits;
  if (config.sim.check_credits) {
    credits = std::make_unique<analysis::credit_checker>(run.plan);
    events.attach(*credits, events::queue_pairs);
  }
  hw::fault_sink faults;
  const netlist::build_order order(config.sim.build_order);
  std::unique_ptr<observe::step_recorder> steps;
  if (run.point.record) {
    steps = std::make_unique<observe::step_recorder>(run);
    events.attach(*steps, events::steps | events::messages | events::contents | events::operations);
  }
  flight_dump flight(run, events);
  barrier_watch barriers(run, events);
  const auto driver = make_host_side(run, only, [&] {
    hops.reset();
    barriers.next_launch();
    if (path_events) path_events->reset();
    flight.next_launch();
    if (steps) steps->next_launch();
  });
  host_side& hosts = *driver;
  if (steps) {
    hosts.hear_results([&steps](std::uint32_t rank, std::span<const std::byte> bytes) {
      steps->result(rank, checksum::digest_of_part(0, bytes));
    });
  }
  const netlist::build_context context{
      config, run.machine.topology, events, faults, order,
      [&hosts, &config](pe_coord pe) -> hw::firmware {
        return [&hosts, options = sw::options_from(config, pe)](
                   abi::hal& hal, const abi::launch_block& block) { hosts.firmware(hal, block, options); };
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
  if (vcd) vcd->begin(link_credits_of(pod));
  std::vector<observe::dram_listener*> dram_listeners;
  if (timeline) dram_listeners.push_back(timeline.get());
  if (vcd && vcd->has_dram()) dram_listeners.push_back(vcd.get());
  observe::dram_taps dram(observe::dram_controllers(pod), std::move(dram_listeners));
  o.elaborate_s = elaboration.seconds();

  const stopwatch running;
  watchdog dog(pod, picoseconds(config.sim.watchdog_us * 1'000'000),
               timing::longest_step(run.machine.topology, config));
  progress_bar bar(run.point.progress, run.point.progress_label);
  distance done(run, hosts, pod, o.bound_ns);
  const end_of_run end = run_slices(
      config.sim, [&hosts] { return hosts.finished(); }, faults, [&dog] { return dog.starved(hw::now()); },
      [&] {
        if (vcd && vcd->has_dram()) {
          dram.catch_up();
          vcd->flush_before(hw::now());
        }
        bar.update(hw::now(), [&] { return done.now(); });
        flight.look_for_request(pod);
      });
  o.wall_s = running.seconds();
  conclude(end, run, hosts, faults, pod, barriers.history(), o);
  if (credits && end == end_of_run::finished) {
    if (const std::string unrest = credits->unrest(); !unrest.empty()) {
      o.status = run_status::fault;
      o.message = unrest;
    }
  }
  if (o.status == run_status::deadlock || o.status == run_status::fault || o.status == run_status::internal) {
    o.flight_json = flight.text(pod, o.message.substr(0, o.message.find('\n')),
                                end == end_of_run::starved || end == end_of_run::watchdog);
  }
  collect(run, pod, hosts, hops, o);
  rate_against_bound(run, o);
  barriers.report(hosts, pod, o);
  o.health = health_rows(run, pod);
  o.faults = fault_rows(run, pod);
  if (waits) o.waits = wait_rows(run, *waits, hw::now());
  if (steps) o.steps = to_text(steps->rows());
  if (path_events && end == end_of_run::finished) report_path(run, *path_events, o);
  dram.catch_up();
  if (vcd) finish_waveform(*vcd, o);
  if (timeline) finish_file(*timeline, o);
  o.peak_rss_mib = peak_rss_mib();
  return o;
}

}  // namespace diecast::platforms
