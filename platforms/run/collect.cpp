// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/collect.hpp"

#include <fmt/format.h>

#include "hw/base/time.hpp"
#include "hw/hbm/hbm_controller.hpp"
#include "hw/mem/memory_target.hpp"
#include "platforms/observe/dram_taps.hpp"

namespace diecast::platforms {
namespace {

void add_link(const prepared_run& run, std::uint32_t link, std::uint64_t packets, std::uint64_t flits,
              double busy_ns, double stall_ns, double now_ns, run_outcome& o) {
  link_row row;
  row.number = link;
  row.link = run.machine.topology.links()[link].name;
  row.bytes = flits * run.machine.config.noc.flit_bytes;
  row.packets = packets;
  row.busy_fraction = now_ns > 0 ? busy_ns / now_ns : 0.0;
  row.stall_ns = stall_ns;
  o.links.push_back(std::move(row));
}

void collect_noc(const prepared_run& run, hw::cube_noc& noc, run_outcome& o) {
  const double cycle_ns = timing::noc_clock(run.machine.config).period.ns();
  noc.visit_links([&](std::uint32_t link, const hw::cube_noc::link_usage& u) {
    add_link(run, link, u.packets, u.flits, static_cast<double>(u.flits) * cycle_ns,
             static_cast<double>(u.credit_stall_cycles) * cycle_ns, hw::now().ns(), o);
  });
}

template <class Adapter>
void collect_link(const prepared_run& run, const Adapter& a, run_outcome& o) {
  const auto& c = a.statistics();
  const timing::line_counters& line = a.sender().line_statistics();
  add_link(run, a.link(), c.packets, line.flits, line.busy.ns(), c.credit_stall.ns(), hw::now().ns(), o);
  link_row& row = o.links.back();
  row.payload_bytes = c.payload_bytes;
  row.d2d_flits = line.frames;
  row.replays = line.replays;
  row.naks = line.naks;
  row.crc_errors = line.crc_errors;
  row.retry_stall_ns = line.retry_stall.ns();
  row.energy_pj = a.sender().energy_pj();
}

void collect_fabric(const prepared_run& run, netlist::pod& pod, run_outcome& o) {
  o.links.reserve(run.machine.topology.links().size());
  for (const auto& sip : pod.sips()) {
    for (const auto& cube : sip->cubes()) {
      collect_noc(run, cube->noc(), o);
      for (unsigned s = 0; s < fabric::sides; ++s)
        if (const auto* edge = cube->edge(static_cast<fabric::side>(s))) collect_link(run, *edge, o);
    }
    for (const auto& port : sip->ports())
      if (port) collect_link(run, *port, o);
  }
}

/// "0:812.5 1:103": nanoseconds at each number of visible messages that occurred.
std::string occupancy_text(const std::vector<sim_time>& levels) {
  std::string text;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    if (levels[level].fs == 0) continue;
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", level, levels[level].ns());
  }
  return text;
}

void collect_queue_pairs(const prepared_run& run, netlist::pod& pod, run_outcome& o) {
  const auto shape = run.machine.config.shape();
  for (const auto& qp : run.plan.queue_pairs) {
    if (!pod.has(qp.owner.sip)) continue;
    const auto s = pod.pe(qp.owner).ipcq.statistics_of(qp.dir);
    o.queue_pairs.push_back({pe_path(shape, qp.owner), run.direction_name(qp.owner, qp.dir), s.sends, s.bytes,
                             s.received, s.bytes_received, s.credit_stall.ns(), s.empty_wait.ns(),
                             occupancy_text(s.occupancy)});
  }
}

void collect_hbm(netlist::pod& pod, run_outcome& o) {
  for (hw::hbm_controller* const controller : observe::dram_controllers(pod)) {
    const timing::lost_time_report lost = controller->lost_time();
    const timing::dram_counters& commands = controller->commands();
    if (commands.reads + commands.writes + commands.forwarded == 0) continue;
    hbm_row row{controller->name(), commands.reads,    commands.writes,
                commands.activates, lost.busy_share(), {}};
    for (std::size_t c = 0; c < timing::lost_causes; ++c)
      row.lost_share[c] = lost.share(static_cast<timing::lost_cause>(c));
    o.hbm.push_back(std::move(row));
  }
}

/// Bytes that were read from memories before anything had written them, and where the first are. A memory of
/// another make may not count them.
void collect_unwritten(netlist::pod& pod, machine_totals& totals) {
  const auto look = [&totals](const hw::sparse_memory& m) {
    if (m.unwritten_bytes_read() == 0) return;
    totals.unwritten += m.unwritten_bytes_read();
    if (totals.first_unwritten.empty())
      totals.first_unwritten = fmt::format("offset {:#x} of {}", m.first_unwritten_read(), m.instance());
  };
  pod.visit_cubes([&look](const netlist::cube& cube) {
    for (const auto& pe : cube.pes()) look(pe->tcm.memory());
    for (const auto& m : cube.memories())
      if (m && m->block.counted != nullptr) look(m->block.counted->memory());
  });
}

}  // namespace

machine_totals collect(const prepared_run& run, netlist::pod& pod, run_outcome& o) {
  machine_totals totals;
  collect_fabric(run, pod, o);
  collect_queue_pairs(run, pod, o);
  collect_hbm(pod, o);
  events::run_fingerprint fingerprint;
  for (const pe_coord pe : run.members.members)
    if (pod.has(pe.sip)) fingerprint.add(pod.pe(pe).ipcq.fingerprint());
  totals.fingerprint = fingerprint.sum();
  collect_unwritten(pod, totals);
  collect_activity(run, pod, totals.activity);
  count(run, pod, totals);
  return totals;
}

machine_totals collect(const prepared_run& run, sw::timed_machine& machine, run_outcome& o) {
  machine_totals totals;
  const double now_ns = machine.now().ns();
  const auto& links = run.machine.topology.links();
  for (std::uint32_t i = 0; i < links.size(); ++i) {
    if (links[i].gbytes_s <= 0) continue;  // left out by overrides
    const auto use = machine.dma().use_of(i);
    add_link(run, i, use.packets, use.flits, static_cast<double>(use.flits) * use.flit_ns, 0, now_ns, o);
  }
  events::run_fingerprint engines;
  for (const pe_coord pe : run.members.members) engines.add(machine.pe(pe).fingerprint());
  totals.fingerprint = engines.sum();
  count(run, machine, totals);
  return totals;
}

}  // namespace diecast::platforms
