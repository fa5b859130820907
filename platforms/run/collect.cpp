// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/collect.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>

#include "hw/base/time.hpp"
#include "hw/hbm/hbm_controller.hpp"
#include "hw/mem/memory_target.hpp"

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
    }
    sip->visit_terminals([&](const hw::terminal_port& port) { collect_routes(run, port, totals); });
    for (const auto& port : sip->ports())
      if (port) collect_link(run, *port, totals, o);
  }
}

/// What routers copied and combined; nothing where they do neither.
const hw::tree_units::counters& trees_of(netlist::cube& cube) {
  static const hw::tree_units::counters none;
  const hw::tree_units::counters* const c = cube.noc().tree_statistics();
  return c == nullptr ? none : *c;
}

using pe_type = hw::processing_element;
constexpr auto with_trees = run_counter::shown::with_trees;
constexpr auto with_messages = run_counter::shown::with_messages;
const run_counter run_counters[]{
    {"messages", "messages sent over queue pairs", [](const pe_type& p) { return p.ipcq.messages_sent(); }},
    {"message_bytes", "their bytes", [](const pe_type& p) { return p.ipcq.bytes_sent(); }},
    {"packets", "packets sent by PEs", nullptr,
     [](netlist::cube& cube) {
       std::uint64_t sent = 0;
       for (const auto& pe : cube.pes()) sent += pe->dma.terminal().packets_sent();
       return sent;
     }},
    {"credit_stall_ns", "time with a send that waits for a free slot, summed over queue pairs",
     [](const pe_type& p) { return p.ipcq.credit_stall().fs; }},
    {"empty_wait_ns", "time with a receive that waits for a message, summed over queue pairs",
     [](const pe_type& p) { return p.ipcq.empty_wait().fs; }},
    {"sequence_mismatches",
     "out-of-order messages and credits that `ipcq.match=sender` accepted; `address` ends the run at the "
     "first",
     [](const pe_type& p) { return p.ipcq.core().sequence_mismatches(); }},
    {"checksum_bytes", "bytes through the checksum engines",
     [](const pe_type& p) { return p.dma.checksum_bytes(); }},
    {"checksum_ns", "their time at the engines' rate",
     [](const pe_type& p) { return p.dma.checksum_time().fs; }},
    {"tag_compared_by_unit", "entries that tag-matching units compared",
     [](const pe_type& p) { return p.tag_match.counted().compared; }, nullptr, with_messages},
    {"tag_unit_busy_ns", "busy time of the units, summed over PEs",
     [](const pe_type& p) { return p.tag_match.counted().busy.fs; }, nullptr, with_messages},
    {"tag_ring_most_slots", "most slots taken at one time in any PE's ring",
     [](const pe_type& p) -> std::uint64_t { return p.tag_match.counted().most_slots_taken; }, nullptr,
     with_messages, true},
    {"tree_packets", "packets received by the routers' tree units", nullptr,
     [](netlist::cube& c) { return trees_of(c).packets; }, with_trees},
    {"tree_copies", "copies made: packets sent less packets received", nullptr,
     [](netlist::cube& c) { return trees_of(c).copies; }, with_trees},
    {"tree_credits_combined", "credits merged into another one", nullptr,
     [](netlist::cube& c) { return trees_of(c).credits_combined; }, with_trees},
    {"tree_combinations", "sums of two contributions of a packet", nullptr,
     [](netlist::cube& c) { return trees_of(c).combinations; }, with_trees},
    {"tree_buffer_most_bytes", "most bytes that waited in one router to be combined", nullptr,
     [](netlist::cube& c) { return trees_of(c).most_waiting_bytes; }, with_trees, true}};

void count(netlist::pod& pod, const std::vector<pe_coord>& members, machine_totals& totals) {
  for (const run_counter& c : run_counters) {
    std::uint64_t all = 0;
    const auto add = [&](std::uint64_t n) { all = c.most ? std::max(all, n) : all + n; };
    if (c.of_cube != nullptr) pod.visit_cubes([&](netlist::cube& cube) { add(c.of_cube(cube)); });
    for (const pe_coord pe : members)
      if (c.of_member != nullptr && pod.has(pe.sip)) add(c.of_member(pod.pe(pe)));
    totals.counts.push_back(all);
  }
}

void report_counts(const machine_totals& t, run_counter::shown when, run_outcome& o) {
  for (std::size_t i = 0; i < t.counts.size(); ++i) {
    const run_counter& c = run_counters[i];
    if (c.when != when) continue;
    const bool time = std::string_view(c.name).ends_with("_ns");
    o.stats.emplace_back(c.name, time ? sim_time{t.counts[i]}.ns() : static_cast<double>(t.counts[i]));
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

}  // namespace

void add_counts(std::vector<std::uint64_t>& counts, const std::vector<std::uint64_t>& more) {
  for (std::size_t i = 0; i < counts.size(); ++i)
    counts[i] = run_counters[i].most ? std::max(counts[i], more.at(i)) : counts[i] + more.at(i);
}

std::string counters_markdown() {
  constexpr std::array conditions{"", "routers with `noc.multicast`: ", "workloads with messages: "};
  std::string text = "| counter | |\n|---|---|\n";
  for (const run_counter& c : run_counters)
    text += fmt::format("| `{}` | {}{} |\n", c.name, conditions[static_cast<std::size_t>(c.when)], c.meaning);
  return text;
}

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
    if (pod.has(pe.sip)) fingerprint.add(pod.pe(pe).ipcq.fingerprint());
  totals.fingerprint = fingerprint.sum();
  collect_unwritten(pod, totals);
  collect_activity(run, pod, totals.activity);
  count(pod, run.members.members, totals);
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
  report_counts(t, run_counter::shown::always, o);
  const statistics more = {{"packet_hops", number(t.hops)},
                           {"wakeups", number(t.wakeups)},
                           {"bytes_on_links", number(links.bytes)},
                           {"install_ns", s.install_ns()},
                           {"routed_bytes", number(t.routed_bytes)},
                           {"routed_hops", number(t.routed_hops)},
                           {"link_utilization_max", links.busiest},
                           {"load_imbalance", links.imbalance},
                           {"d2d_replays", number(replays)},
                           {"d2d_crc_errors", number(crc_errors)},
                           {"d2d_energy_pj", energy_pj},
                           {"simulated_ns", hw::now().ns()},
                           {"elaborate_s", o.elaborate_s}};
  o.stats.insert(o.stats.end(), more.begin(), more.end());
  if (run.plan.tree) {  // a packet that routers copy or combine takes no route of its own
    std::erase_if(o.stats, [](const auto& stat) { return stat.first.starts_with("routed_"); });
  }
  report_unwritten(t, o);
  report_energy(run, t.activity, s.rounds_done(), o);
  const auto of_firmware = s.more_statistics();  // none without tag-matched messages
  for (const auto& [name, value] : of_firmware) o.stats.emplace_back(name, number(value));
  if (!of_firmware.empty()) report_counts(t, with_messages, o);
  if (run.machine.topology.has_trees()) report_counts(t, with_trees, o);
  if (run.launch() == nullptr) return;  // directions of several collectives at a time make no such chains
  o.stats.emplace_back("critical_cube_hops", number(hops.cube_hops()));
  o.stats.emplace_back("critical_sip_hops", number(hops.sip_hops()));
}

}  // namespace diecast::platforms
