// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/conclude.hpp"

#include <fmt/format.h>
#include <utility>

namespace diecast::platforms {

void take_fault(const prepared_run& run, const thrown_fault& fault, run_outcome& o) {
  const auto names = [&run](pe_coord pe, comm::direction d) { return run.direction_name(pe, d); };
  fault_text f = explain(fault.what, names);
  o.status = f.status;
  o.message = std::move(f.message);
  if (f.record)
    o.detected = detected(*f.record, fault.instance, run.machine.config.shape(), names, fault.at.ns());
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
