// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/simulate.hpp"

#include <fmt/format.h>
#include <memory>

#include "hw/base/time.hpp"
#include "models/analysis/credit_checker.hpp"
#include "models/analysis/critical_hops.hpp"
#include "models/timing/longest_step.hpp"
#include "models/types/error.hpp"
#include "platforms/netlist/pod.hpp"
#include "platforms/observe/ccl_trace.hpp"
#include "platforms/observe/vcd_writer.hpp"
#include "platforms/run/bound.hpp"
#include "platforms/run/collect.hpp"
#include "platforms/run/kernel.hpp"
#include "platforms/run/session.hpp"
#include "platforms/run/watchdog.hpp"
#include "platforms/run/workload_session.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::platforms {
namespace {

void conclude(end_of_run end, const prepared_run& run, const host_side& s, const hw::fault_sink& faults,
              netlist::pod& pod, run_outcome& o) {
  s.report(o);
  switch (end) {
    case end_of_run::finished: return;
    case end_of_run::fault: {
      const fault_text f = explain(faults.fault());
      o.status = f.status;
      o.message = f.message;
      return;
    }
    case end_of_run::starved: return report_deadlock(run, pod, "nothing is left to happen", true, o);
    case end_of_run::watchdog:
      return report_deadlock(
          run, pod,
          fmt::format("nothing has moved for sim.watchdog_us = {}", run.machine.config.sim.watchdog_us), true,
          o);
    case end_of_run::interrupted:
      o.status = run_status::interrupted;
      o.message =
          fmt::format("interrupted at {:.3f} us after {} launches", hw::now().ns() / 1e3, s.rounds_done());
      return;
    case end_of_run::limit:
      return report_deadlock(
          run, pod, fmt::format("the run has reached sim.limit_ms = {}", run.machine.config.sim.limit_ms),
          false, o);
  }
}

std::unique_ptr<host_side> make_host_side(const prepared_run& run, std::optional<std::uint32_t> only,
                                          std::function<void()> on_round) {
  if (run.workload) return std::make_unique<workload_session>(run, only, std::move(on_round));
  return std::make_unique<session>(run, std::move(on_round));
}

/// A waveform that could not be finished costs the run nothing but the waveform.
void finish_waveform(observe::vcd_writer& vcd, run_outcome& o) {
  try {
    vcd.close(hw::now());
  } catch (const output_error& e) {
    o.output_lost = true;
    o.message += (o.message.empty() ? "" : "\n") + std::string(e.what());
  }
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
  std::unique_ptr<observe::vcd_writer> vcd;
  if (!run.point.vcd.empty()) {
    vcd = std::make_unique<observe::vcd_writer>(run.point.vcd, config, run.machine.topology, run.plan);
    events.attach(*vcd);
  }
  std::unique_ptr<observe::ccl_trace> trace;
  if (run.point.ccl_trace) {
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
  const auto driver = make_host_side(run, only, [&hops] { hops.reset(); });
  host_side& hosts = *driver;
  const netlist::build_context context{config,
                                       run.machine.topology,
                                       events,
                                       faults,
                                       order,
                                       [&hosts, &config](pe_coord pe) -> hw::firmware {
                                         return [&hosts, options = sw::options_from(config, pe)](
                                                    abi::hal& hal, const abi::launch_block& block) {
                                           hosts.firmware(hal, block, options);
                                         };
                                       },
                                       tables.hbm,
                                       run.point.data};
  // Never destroyed: the process ends after its run, and SystemC 2.3.4 takes long to remove the objects of a
  // large pod from its registries one by one.
  auto& pod = *new netlist::pod("pod", context, [&hosts](sip_id) -> hw::host_program {
    return [&hosts](abi::host_hal& host) { hosts.host_program(host); };
  });
  o.elaborate_s = elaboration.seconds();

  const stopwatch running;
  watchdog dog(pod, picoseconds(config.sim.watchdog_us * 1'000'000),
               timing::longest_step(run.machine.topology, config));
  const end_of_run end = run_slices(
      config.sim, [&hosts] { return hosts.finished(); }, faults, [&dog] { return dog.starved(hw::now()); });
  o.wall_s = running.seconds();
  conclude(end, run, hosts, faults, pod, o);
  if (credits && end == end_of_run::finished) {
    if (const std::string unrest = credits->unrest(); !unrest.empty()) {
      o.status = run_status::fault;
      o.message = unrest;
    }
  }
  rate_against_bound(o);
  collect(run, pod, hosts, hops, o);
  if (vcd) finish_waveform(*vcd, o);
  o.peak_rss_mib = peak_rss_mib();
  return o;
}

}  // namespace diecast::platforms
