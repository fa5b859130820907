// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/collect.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <tuple>

#include "hw/base/time.hpp"
#include "hw/hbm/hbm_controller.hpp"
#include "hw/mem/memory_target.hpp"
#include "platforms/io/deadlock_json.hpp"

namespace diecast::platforms {
namespace {

void add_link(const prepared_run& run, std::uint32_t link, std::uint64_t packets, std::uint64_t flits,
              double busy_ns, double stall_ns, run_outcome& o) {
  link_row row;
  row.number = link;
  row.link = run.machine.topology.links()[link].name;
  row.bytes = flits * run.machine.config.noc.flit_bytes;
  row.packets = packets;
  row.busy_fraction = hw::now().fs == 0 ? 0.0 : busy_ns / hw::now().ns();
  row.stall_ns = stall_ns;
  o.links.push_back(std::move(row));
}

bool at_terminal(fabric::link_kind kind) {
  return kind == fabric::link_kind::inject || kind == fabric::link_kind::eject;
}

void collect_noc(const prepared_run& run, hw::cube_noc& noc, machine_totals& totals, run_outcome& o) {
  const auto& c = noc.statistics();
  const double cycle_ns = timing::noc_clock(run.machine.config).period.ns();
  totals.hops += c.packet_hops;
  totals.wakeups += c.wakeups;
  noc.visit_links([&](std::uint32_t link, const hw::cube_noc::link_usage& u) {
    add_link(run, link, u.packets, u.flits, static_cast<double>(u.flits) * cycle_ns,
             static_cast<double>(u.credit_stall_cycles) * cycle_ns, o);
  });
}

template <class Adapter>
void collect_link(const prepared_run& run, const Adapter& a, machine_totals& totals, run_outcome& o) {
  const auto& c = a.statistics();
  totals.hops += c.packets;
  totals.wakeups += c.evaluations;
  const timing::line_counters& line = a.sender().line_statistics();
  add_link(run, a.link(), c.packets, line.flits, line.busy.ns(), c.credit_stall.ns(), o);
  link_row& row = o.links.back();
  row.payload_bytes = c.payload_bytes;
  row.d2d_flits = line.frames;
  row.replays = line.replays;
  row.naks = line.naks;
  row.crc_errors = line.crc_errors;
  row.retry_stall_ns = line.retry_stall.ns();
  row.energy_pj = a.sender().energy_pj();
}

/// Bytes x links and links over all packets received, from their sources and the routes alone: what the
/// links' own counters must add up to.
void collect_routes(const prepared_run& run, const hw::terminal_port& port, machine_totals& totals) {
  const fabric::topology& t = run.machine.topology;
  for (const hw::source_tally::row& r : port.received().rows()) {
    std::uint64_t links = 0;
    for (const fabric::route_hop& hop : t.trace(r.source, port.address()))
      links += at_terminal(t.links()[hop.link].kind) ? 0 : 1;
    totals.routed_hops += r.packets * links;
    totals.routed_bytes += r.flits * links * run.machine.config.noc.flit_bytes;
  }
}

void collect_fabric(const prepared_run& run, netlist::pod& pod, machine_totals& totals, run_outcome& o) {
  for (const auto& sip : pod.sips()) {
    for (const auto& cube : sip->cubes()) {
      collect_noc(run, cube->noc(), totals, o);
      for (unsigned s = 0; s < fabric::sides; ++s)
        if (const auto* edge = cube->edge(static_cast<fabric::side>(s))) collect_link(run, *edge, totals, o);
      for (const auto& pe : cube->pes()) totals.packets += pe->dma.terminal().packets_sent();
    }
    sip->visit_terminals([&](const hw::terminal_port& port) { collect_routes(run, port, totals); });
    for (const auto& port : sip->ports())
      if (port) collect_link(run, *port, totals, o);
  }
}

/// What routers copied and combined; nothing on machines whose routers do neither.
void collect_trees(netlist::pod& pod, machine_totals& totals) {
  pod.visit_cubes([&](netlist::cube& cube) {
    const hw::tree_units::counters* const c = cube.noc().tree_statistics();
    if (c == nullptr) return;
    totals.trees = 1;
    totals.tree_packets += c->packets;
    totals.tree_copies += c->copies;
    totals.tree_credits_combined += c->credits_combined;
    totals.tree_combinations += c->combinations;
    totals.tree_most_bytes = std::max(totals.tree_most_bytes, c->most_waiting_bytes);
  });
}

void report_trees(const machine_totals& t, run_outcome& o) {
  if (t.trees == 0) return;
  const std::pair<const char*, std::uint64_t> counts[]{{"tree_packets", t.tree_packets},
                                                       {"tree_copies", t.tree_copies},
                                                       {"tree_credits_combined", t.tree_credits_combined},
                                                       {"tree_combinations", t.tree_combinations},
                                                       {"tree_buffer_most_bytes", t.tree_most_bytes}};
  for (const auto& [name, value] : counts) o.stats.emplace_back(name, static_cast<double>(value));
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
  pod.visit_cubes([&o](const netlist::cube& cube) {
    for (const auto& m : cube.memories()) {
      if (m == nullptr) continue;
      hw::hbm_controller* const controller = m->block.controller();
      if (controller == nullptr) continue;
      const timing::lost_time_report lost = controller->lost_time();
      const timing::dram_counters& commands = controller->commands();
      if (commands.reads + commands.writes + commands.forwarded == 0) continue;
      hbm_row row{controller->name(), commands.reads,    commands.writes,
                  commands.activates, lost.busy_share(), {}};
      for (std::size_t c = 0; c < timing::lost_causes; ++c)
        row.lost_share[c] = lost.share(static_cast<timing::lost_cause>(c));
      o.hbm.push_back(std::move(row));
    }
  });
}

/// Messages and credits under way, each once: a half received message is in packets, too.
class flight_list {
 public:
  void add(bool credit, const abi::ipcq_fields& f, const std::string& where, bool begins = false,
           bool in_fabric = false) {
    const std::size_t at = numbered(credit, f);
    const bool added = at == list.size();
    if (added) list.push_back({credit, f, where});
    list[at].begins |= begins;
    if (added || list[at].state == analysis::flight_state::part_arrived) {
      list[at].where = where;
      list[at].in_fabric = in_fabric;
    }
    if (list[at].state != analysis::flight_state::held_behind)
      list[at].state = analysis::flight_state::under_way;
  }
  /// A message that its receiver has begun to take in.
  void add_begun(const abi::ipcq_fields& f, const std::string& engine, hw::dma_engine::inbound_state state) {
    using in = hw::dma_engine::inbound_state;
    using analysis::flight_state;
    if (numbered(false, f) < list.size()) return;
    const auto add = [&](flight_state s, std::string where) {
      list.push_back({false, f, std::move(where), false, s});
    };
    switch (state) {
      case in::part_arrived: return add(flight_state::part_arrived, "half received by " + engine);
      case in::being_written: return add(flight_state::under_way, "being written by " + engine);
      case in::held_behind:
        return add(flight_state::held_behind,
                   "complete in " + engine + ", behind an earlier message that is half received");
    }
  }
  /// A packet in the fabric: of a message or credit, or another one.
  void add(const abi::packet_header& h, const std::string& where, bool in_fabric) {
    const bool credit = h.kind == abi::packet_kind::ipcq_credit;
    if (credit || h.kind == abi::packet_kind::ipcq_data) {
      add(credit, h.ipcq, where, h.offset == 0, in_fabric);
    } else {
      others.push_back({h, where, in_fabric});
    }
  }
  std::vector<analysis::flight> list;
  std::vector<analysis::other_packet> others;

 private:
  std::size_t numbered(bool credit, const abi::ipcq_fields& f) {
    return number_.try_emplace({credit, f.match_address, f.sequence}, list.size()).first->second;
  }
  std::map<std::tuple<bool, abi::address, std::uint32_t>, std::size_t> number_;
};

flight_list collect_flights(const prepared_run& run, netlist::pod& pod) {
  flight_list flights;
  const auto& shape = run.machine.config.shape();
  pod.visit_cubes([&](const netlist::cube& cube) {
    for (const auto& pe : cube.pes()) {
      const std::string path = pe_path(shape, pe->ipcq.core().self());
      const std::string engine = "the DMA engine of " + path;
      pe->dma.visit_outbound([&](const abi::ipcq_fields& f) { flights.add(false, f, "in " + engine); });
      pe->dma.visit_inbound(
          [&](const abi::ipcq_fields& f, auto state) { flights.add_begun(f, engine, state); });
      pe->ipcq.visit_flights([&](bool credit, const abi::ipcq_fields& f) {
        flights.add(credit, f, "in the IPCQ engine of " + path);
      });
    }
  });
  std::set<const hw::packet*> held;
  for (const auto& sip : pod.sips()) {
    for (const auto& fault : sip->faults()) {
      fault->visit_held([&](const hw::packet& p) {
        if (held.insert(&p).second) flights.add(p.header, "held on " + fault->place(), true);
      });
    }
  }
  for (const auto& sip : pod.sips()) {
    sip->pool().visit([&](const hw::packet& p) {
      if (!held.contains(&p))
        flights.add(p.header, fmt::format("in the fabric of sip{}", p.header.source.sip), true);
    });
  }
  for (const auto& fault : pod.link_faults())
    fault->visit([&](const hw::sip_message& m) { flights.add(m.header, "held on " + fault->link(), true); });
  for (const auto& sip : pod.sips()) {
    if (sip->io().staging() == nullptr) continue;
    sip->io().staging()->visit([&](const hw::sip_message& m) {
      flights.add(m.header, fmt::format("in host memory, on its way to {}", sip->basename()), false);
    });
  }
  return flights;
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

void report_unwritten(const machine_totals& t, run_outcome& o) {
  o.stats.emplace_back("unwritten_bytes_read", static_cast<double>(t.unwritten));
  if (t.unwritten == 0) return;
  o.notes.push_back(
      fmt::format("{} bytes were read that nothing had written, among them {}; "
                  "sim.strict_memory=true ends a run at the first",
                  t.unwritten, t.first_unwritten));
}

void collect_member(hw::processing_element& pe, machine_totals& t, events::run_fingerprint& fingerprint) {
  const auto& ipcq = pe.ipcq;
  fingerprint.add(ipcq.fingerprint());
  t.stall_fs += ipcq.credit_stall().fs;
  t.wait_fs += ipcq.empty_wait().fs;
  t.checked += pe.dma.checksum_bytes();
  t.checksum_fs += pe.dma.checksum_time().fs;
  t.mismatches += ipcq.core().sequence_mismatches();
  t.messages += ipcq.messages_sent();
  t.message_bytes += ipcq.bytes_sent();
  const auto& unit = pe.tag_match.counted();
  t.tag_compared += unit.compared;
  t.tag_busy_fs += unit.busy.fs;
  t.tag_most_slots = std::max<std::uint64_t>(t.tag_most_slots, unit.most_slots_taken);
}

/// Statistics of tag-matched messages, in a run that has any.
void report_messages(const machine_totals& t, const host_side& s, run_outcome& o) {
  const auto counts = s.more_statistics();
  if (counts.empty()) return;
  for (const auto& [name, value] : counts) o.stats.emplace_back(name, static_cast<double>(value));
  o.stats.emplace_back("tag_compared_by_unit", static_cast<double>(t.tag_compared));
  o.stats.emplace_back("tag_unit_busy_ns", sim_time{t.tag_busy_fs}.ns());
  o.stats.emplace_back("tag_ring_most_slots", static_cast<double>(t.tag_most_slots));
}

}  // namespace

link_summary summary_of(const prepared_run& run, const std::vector<link_row>& rows) {
  struct load {
    double busiest{}, sum{};
    std::uint64_t links{};
  };
  std::map<fabric::link_kind, load> loads;
  link_summary all;
  for (const link_row& row : rows) {
    const auto kind = run.machine.topology.links()[row.number].kind;
    if (at_terminal(kind)) continue;
    load& l = loads[kind];
    l.busiest = std::max(l.busiest, row.busy_fraction);
    l.sum += row.busy_fraction;
    ++l.links;
    all.bytes += row.bytes;
  }
  for (const auto& [kind, l] : loads) {
    if (l.busiest <= all.busiest) continue;
    all.busiest = l.busiest;
    all.imbalance = l.busiest * static_cast<double>(l.links) / l.sum;
  }
  return all;
}

void set_fingerprints(const host_side& s, std::uint64_t engines, run_outcome& o) {
  events::run_fingerprint fingerprint = s.data_fingerprint();
  o.data_fingerprint = fingerprint.text();
  fingerprint.add_sum(engines);
  o.fingerprint = fingerprint.text();
}

machine_totals collect(const prepared_run& run, netlist::pod& pod, run_outcome& o) {
  machine_totals totals;
  collect_fabric(run, pod, totals, o);
  collect_queue_pairs(run, pod, o);
  collect_hbm(pod, o);
  events::run_fingerprint fingerprint;
  for (const pe_coord pe : run.members.members)
    if (pod.has(pe.sip)) collect_member(pod.pe(pe), totals, fingerprint);
  totals.fingerprint = fingerprint.sum();
  collect_unwritten(pod, totals);
  collect_activity(run, pod, totals.activity);
  collect_trees(pod, totals);
  return totals;
}

void report_totals(const prepared_run& run, const machine_totals& t, const host_side& s,
                   const analysis::critical_hops& hops, run_outcome& o) {
  set_fingerprints(s, t.fingerprint, o);
  o.wakeups = t.wakeups;
  o.packet_hops = t.hops;
  const auto number = [](std::uint64_t v) { return static_cast<double>(v); };
  const link_summary links = summary_of(run, o.links);
  std::uint64_t replays = 0, crc_errors = 0;
  double energy_pj = 0;
  for (const link_row& row : o.links) {
    replays += row.replays;
    crc_errors += row.crc_errors;
    energy_pj += row.energy_pj;
  }
  o.stats = {{"messages", number(t.messages)},
             {"message_bytes", number(t.message_bytes)},
             {"packets", number(t.packets)},
             {"packet_hops", number(t.hops)},
             {"wakeups", number(t.wakeups)},
             {"bytes_on_links", number(links.bytes)},
             {"install_ns", s.install_ns()},
             {"routed_bytes", number(t.routed_bytes)},
             {"routed_hops", number(t.routed_hops)},
             {"credit_stall_ns", sim_time{t.stall_fs}.ns()},
             {"empty_wait_ns", sim_time{t.wait_fs}.ns()},
             {"sequence_mismatches", number(t.mismatches)},
             {"link_utilization_max", links.busiest},
             {"load_imbalance", links.imbalance},
             {"d2d_replays", number(replays)},
             {"d2d_crc_errors", number(crc_errors)},
             {"d2d_energy_pj", energy_pj},
             {"checksum_bytes", number(t.checked)},
             {"checksum_ns", sim_time{t.checksum_fs}.ns()},
             {"simulated_ns", hw::now().ns()},
             {"elaborate_s", o.elaborate_s}};
  if (run.plan.tree) {  // a packet that routers copy or combine takes no route of its own
    std::erase_if(o.stats, [](const auto& stat) { return stat.first.starts_with("routed_"); });
  }
  report_unwritten(t, o);
  report_energy(run, t.activity, s.rounds_done(), o);
  report_messages(t, s, o);
  report_trees(t, o);
  if (run.workload) return;  // directions of several collectives at a time make no such chains
  o.stats.emplace_back("critical_cube_hops", number(hops.cube_hops()));
  o.stats.emplace_back("critical_sip_hops", number(hops.sip_hops()));
}

analysis::stopped_machine machine_now(const prepared_run& run, netlist::pod& pod, bool still) {
  flight_list flights = collect_flights(run, pod);
  analysis::stopped_machine now{{}, std::move(flights.list), still, std::move(flights.others)};
  for (const pe_coord pe : run.members.members) {
    auto& p = pod.pe(pe);
    now.pes.push_back({pe, p.core.state(), p.ipcq.core().queue_pairs(), p.core.tasks(), p.ipcq.awaits_copy(),
                       p.core.polling(), p.core.watching(), p.core.awaiting()});
  }
  return now;
}

void report_stop(const prepared_run& run, const analysis::stopped_machine& stopped,
                 const std::vector<analysis::watched_word>& watched, sim_time now, run_status status,
                 const std::string& why, run_outcome& o) {
  std::uint64_t unfinished = 0;
  for (const analysis::pe_dump& pe : stopped.pes) unfinished += pe.state != events::core_state::done ? 1 : 0;
  const auto names = [&run](pe_coord pe, comm::direction d) { return run.direction_name(pe, d); };
  const auto& shape = run.machine.config.shape();
  const auto report = analysis::explain_waits(shape, stopped, names);
  o.status = status;
  o.message =
      fmt::format("at {:.3f} ns {} of {} PEs have not finished and {}\n{}{}", now.ns(), unfinished,
                  run.members.members.size(), why, analysis::explain_words(shape, watched), report.summary);
  o.deadlock_json = deadlock_json(run, report, stopped, watched, why);
}

void report_stop(const prepared_run& run, netlist::pod& pod, run_status status, const std::string& why,
                 const analysis::line_history* lines, run_outcome& o) {
  report_stop(run, machine_now(run, pod, status == run_status::deadlock),
              watched_words(pod, run.members.members, lines), hw::now(), status, why, o);
}

}  // namespace diecast::platforms
