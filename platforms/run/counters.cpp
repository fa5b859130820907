// SPDX-License-Identifier: Apache-2.0
// The numbers of `stats`: what each means, where it is read, and of which runs.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string_view>

#include "hw/base/time.hpp"
#include "models/cost/lower_bound.hpp"
#include "platforms/run/collect.hpp"

namespace diecast::platforms {
namespace {

/// A run that has ended. `hops`: null under sim.fidelity=message.
struct ended_run {
  const prepared_run& run;
  const machine_totals& totals;
  const host_side& hosts;
  const analysis::critical_hops* hops;
  sim_time now;
  const run_outcome& o;
};

/// Runs whose `stats` have a number, as the page says it; null: all.
struct condition {
  const char* text;
  bool (*holds)(const ended_run&);
};
const condition with_trees{"routers with `noc.multicast`",
                           [](const ended_run& e) { return e.run.machine.topology.has_trees(); }};
const condition without_trees{"runs in which no router copies or sums packets",
                              [](const ended_run& e) { return !e.run.plan.tree; }};
const condition with_messages{"workloads with messages",
                              [](const ended_run& e) { return !e.hosts.more_statistics().empty(); }};
const condition in_one_launch{"runs without streams",
                              [](const ended_run& e) { return e.run.launch() != nullptr; }};

/// A counter of parts of the machine, declared once: collection, the join of processes, `stats` and its page
/// follow. One of the functions reads it from a part.
struct run_counter {
  const char* name;  ///< times, counted in fs, end in _ns
  const char* meaning;
  std::uint64_t (*of_member)(const hw::processing_element&){};
  std::uint64_t (*of_cube)(netlist::cube&){};
  const condition* when{};
  bool most{};  ///< the largest, not the sum
  std::uint64_t (*of_sip)(const machine_model&, netlist::sip&){};
  std::uint64_t (*of_class)(netlist::cube&, unsigned){};  ///< NAME_CLASS for each class of packets
  std::uint64_t (*of_message_run)(const sw::timed_machine&, const std::vector<pe_coord>& members){};
};

/// A number that follows from others, declared once.
struct run_figure {
  const char* name;
  const char* meaning;
  double (*of)(const ended_run&);
  bool of_message_run{};
  const condition* when{};
};

/// What routers copied and combined; nothing where they do neither.
const hw::tree_units::counters& trees_of(netlist::cube& cube) {
  static const hw::tree_units::counters none;
  const hw::tree_units::counters* const c = cube.noc().tree_statistics();
  return c == nullptr ? none : *c;
}

std::uint64_t evaluations_of(const machine_model& /*m*/, netlist::sip& sip) {
  std::uint64_t sum = 0;
  for (const auto& cube : sip.cubes()) {
    sum += cube->noc().statistics().wakeups;
    for (unsigned s = 0; s < fabric::sides; ++s)
      if (const auto* edge = cube->edge(static_cast<fabric::side>(s))) sum += edge->statistics().evaluations;
  }
  for (const auto& port : sip.ports()) sum += port ? port->statistics().evaluations : 0;
  return sum;
}

bool at_terminal(const fabric::link& l) {
  return l.kind == fabric::link_kind::inject || l.kind == fabric::link_kind::eject;
}

/// Packets or flits x links over all packets received, from their sources and the routes alone: what the
/// links' own counters must add up to.
template <std::uint64_t hw::source_tally::row::*What>
std::uint64_t routed(const machine_model& m, netlist::sip& sip) {
  std::uint64_t sum = 0;
  sip.visit_terminals([&](const hw::terminal_port& port) {
    for (const hw::source_tally::row& r : port.received().rows())
      for (const fabric::route_hop& hop : m.topology.trace(r.source, port.address()))
        sum += at_terminal(m.topology.links()[hop.link]) ? 0 : r.*What;
  });
  return sum;
}

/// Sum over the links, but for those to and from terminals unless `all`.
template <class Number>
double sum_of_links(const ended_run& e, Number link_row::*what, bool all = false) {
  Number sum{};
  for (const link_row& row : e.o.links)
    if (all || !at_terminal(e.run.machine.topology.links()[row.number])) sum += row.*what;
  return static_cast<double>(sum);
}

/// Utilization of the busiest link, and that over the mean of its kind; 0 where nothing moves.
struct link_load {
  double busiest{}, imbalance{};
};
link_load load_of(const ended_run& e) {
  struct load {
    double busiest{}, sum{};
    std::uint64_t links{};
  };
  std::map<fabric::link_kind, load> loads;
  for (const link_row& row : e.o.links) {
    const fabric::link& link = e.run.machine.topology.links()[row.number];
    if (at_terminal(link)) continue;
    load& l = loads[link.kind];
    l.busiest = std::max(l.busiest, row.busy_fraction);
    l.sum += row.busy_fraction;
    ++l.links;
  }
  link_load all;
  for (const auto& [kind, l] : loads)
    if (l.busiest > all.busiest) all = {l.busiest, l.busiest * static_cast<double>(l.links) / l.sum};
  return all;
}

using pe_type = hw::processing_element;
using timed = sw::timed_machine;
const run_counter run_counters[]{
    {.name = "messages",
     .meaning = "messages sent over queue pairs",
     .of_member = [](const pe_type& p) { return p.ipcq.messages_sent(); },
     .of_message_run = [](const timed& m, const auto&) { return m.dma().messages(); }},
    {.name = "message_bytes",
     .meaning = "bytes of messages sent over queue pairs",
     .of_member = [](const pe_type& p) { return p.ipcq.bytes_sent(); },
     .of_message_run = [](const timed& m, const auto&) { return m.dma().message_bytes(); }},
    {.name = "packets",
     .meaning = "packets sent by PEs",
     .of_cube =
         [](netlist::cube& cube) {
           std::uint64_t sent = 0;
           for (const auto& pe : cube.pes()) sent += pe->dma.terminal().packets_sent();
           return sent;
         },
     .of_message_run = [](const timed& m, const auto&) { return m.dma().packets(); }},
    {"credit_stall_ns", "time with a send that waits for a free slot, summed over queue pairs",
     [](const pe_type& p) { return p.ipcq.credit_stall().fs; }},
    {"empty_wait_ns", "time with a receive that waits for a message, summed over queue pairs",
     [](const pe_type& p) { return p.ipcq.empty_wait().fs; }},
    {.name = "sequence_mismatches",
     .meaning =
         "out-of-order messages and credits that `ipcq.match=sender` accepted; `address` ends the run at "
         "the first",
     .of_member = [](const pe_type& p) { return p.ipcq.core().sequence_mismatches(); },
     .of_message_run =
         [](const timed& m, const auto& members) {
           std::uint64_t sum = 0;
           for (const pe_coord pe : members) sum += m.pe(pe).core().sequence_mismatches();
           return sum;
         }},
    {"checksum_bytes", "bytes through the checksum engines",
     [](const pe_type& p) { return p.dma.checksum_bytes(); }},
    {"checksum_ns", "time that the checksum engines take for checksum_bytes at their rate",
     [](const pe_type& p) { return p.dma.checksum_time().fs; }},
    {.name = "vc_waits",
     .meaning = "packets that waited for a VC with room; where VC allocation is a stage, for a free VC",
     .of_class = [](netlist::cube& c, unsigned k) { return c.noc().vc_waits()[k]; }},
    {.name = "wakeups",
     .meaning = "evaluations of router outputs, and packets sent by links, counted twice if they waited for "
                "credits (simulation work)",
     .of_sip = evaluations_of},
    {"tag_compared_by_unit", "entries that tag-matching units compared",
     [](const pe_type& p) { return p.tag_match.counted().compared; }, nullptr, &with_messages},
    {"tag_unit_busy_ns", "busy time of the units, summed over PEs",
     [](const pe_type& p) { return p.tag_match.counted().busy.fs; }, nullptr, &with_messages},
    {"tag_ring_most_slots", "most slots taken at one time in any PE's ring",
     [](const pe_type& p) -> std::uint64_t { return p.tag_match.counted().most_slots_taken; }, nullptr,
     &with_messages, true},
    {"tree_packets", "packets received by the routers' tree units", nullptr,
     [](netlist::cube& c) { return trees_of(c).packets; }, &with_trees},
    {"tree_copies", "copies made: packets sent less packets received", nullptr,
     [](netlist::cube& c) { return trees_of(c).copies; }, &with_trees},
    {"tree_credits_combined", "credits merged into another one", nullptr,
     [](netlist::cube& c) { return trees_of(c).credits_combined; }, &with_trees},
    {"tree_combinations", "sums of two contributions of a packet", nullptr,
     [](netlist::cube& c) { return trees_of(c).combinations; }, &with_trees},
    {"tree_buffer_most_bytes", "most bytes that waited in one router to be combined", nullptr,
     [](netlist::cube& c) { return trees_of(c).most_waiting_bytes; }, &with_trees, true},
    {.name = "routed_bytes",
     .meaning = "`bytes_on_links` computed from sources and routes of received packets alone",
     .when = &without_trees,
     .of_sip =
         [](const machine_model& m, netlist::sip& sip) {
           return routed<&hw::source_tally::row::flits>(m, sip) * m.config.noc.flit_bytes;
         }},
    {.name = "routed_hops",
     .meaning = "`packet_hops` computed from sources and routes of received packets alone",
     .when = &without_trees,
     .of_sip = routed<&hw::source_tally::row::packets>}};

const run_figure run_figures[]{
    {"packet_hops", "links crossed by packets, without links to and from terminals",
     [](const ended_run& e) { return sum_of_links(e, &link_row::packets); }},
    {"bytes_on_links", "flits x their size, without links to and from terminals",
     [](const ended_run& e) { return sum_of_links(e, &link_row::bytes); }, true},
    {"install_ns", "time to write the queue pairs' registers, with `ccl.install=timed`",
     [](const ended_run& e) { return e.hosts.install_ns(); }, true},
    {"link_utilization_max",
     "share of time that the busiest link carries flits, without links to and from terminals",
     [](const ended_run& e) { return load_of(e).busiest; }, true},
    {"load_imbalance",
     "how many times busier the busiest link is than the mean of its kind (within cubes, UCIe, between "
     "SIPs); 1: all are alike, 0: no packet moved",
     [](const ended_run& e) { return load_of(e).imbalance; }, true},
    {"d2d_replays", "UCIe flits sent again",
     [](const ended_run& e) { return sum_of_links(e, &link_row::replays, true); }},
    {"d2d_crc_errors", "UCIe flits received corrupted",
     [](const ended_run& e) { return sum_of_links(e, &link_row::crc_errors, true); }},
    {"d2d_energy_pj", "energy of UCIe links",
     [](const ended_run& e) { return sum_of_links(e, &link_row::energy_pj, true); }},
    {"simulated_ns", "simulated time to the end of the run, launches and writing of queue pairs included",
     [](const ended_run& e) { return e.now.ns(); }, true},
    {"elaborate_s", "building the machine", [](const ended_run& e) { return e.o.elaborate_s; }, true},
    {"unwritten_bytes_read",
     "bytes read from memory before any write, the host's backdoor excepted; where it is not 0, "
     "`sim.strict_memory` ends the run at the first",
     [](const ended_run& e) { return static_cast<double>(e.totals.unwritten); }},
    {"critical_cube_hops", "links between cubes on the longest chain of dependent messages",
     [](const ended_run& e) { return static_cast<double>(e.hops->cube_hops()); }, false, &in_one_launch},
    {"critical_sip_hops", "links between SIPs on the longest chain of dependent messages",
     [](const ended_run& e) { return static_cast<double>(e.hops->sip_hops()); }, false, &in_one_launch},
    {"latency_goal_ns",
     "on an idle machine, the longer of one 1-element message between the farthest ranks and ceil(log2 p) "
     "between the nearest",
     [](const ended_run& e) {
       return cost::latency_goal_ns(e.run.machine.topology, e.run.machine.config, e.run.members);
     },
     true}};

unsigned parts_of(const run_counter& c) { return c.of_class == nullptr ? 1 : abi::traffic_classes; }

/// Calls visit(counter, part) for every number of machine_totals::counts, in their order.
template <class Visit>
void each_count(Visit visit) {
  for (const run_counter& c : run_counters)
    for (unsigned part = 0; part < parts_of(c); ++part) visit(c, part);
}

std::string name_of(const run_counter& c, unsigned part) {
  if (c.of_class == nullptr) return c.name;
  return fmt::format("{}_{}", c.name, abi::to_string(static_cast<abi::traffic_class>(part)));
}

void report_counts(const ended_run& e, bool conditional, run_outcome& o) {
  std::size_t i = 0;
  each_count([&](const run_counter& c, unsigned part) {
    const std::uint64_t count = e.totals.counts[i++];
    const bool counted = e.hops != nullptr || c.of_message_run != nullptr;
    if (!counted || conditional != (c.when != nullptr) || (conditional && !c.when->holds(e))) return;
    const bool time = std::string_view(c.name).ends_with("_ns");
    o.stats.emplace_back(name_of(c, part), time ? sim_time{count}.ns() : static_cast<double>(count));
  });
}

/// From the results, and the sum over the members' IPCQ engines.
void set_fingerprints(const host_side& s, std::uint64_t engines, run_outcome& o) {
  events::run_fingerprint fingerprint = s.data_fingerprint();
  o.data_fingerprint = fingerprint.text();
  fingerprint.add_sum(engines);
  o.fingerprint = fingerprint.text();
}

std::uint64_t whole_stat(const run_outcome& o, std::string_view name) {
  const auto at = std::ranges::find(o.stats, name, [](const auto& s) { return std::string_view(s.first); });
  return static_cast<std::uint64_t>(at->second);
}

}  // namespace

void count(const prepared_run& run, netlist::pod& pod, machine_totals& totals) {
  each_count([&](const run_counter& c, unsigned part) {
    std::uint64_t all = 0;
    const auto add = [&](std::uint64_t n) { all = c.most ? std::max(all, n) : all + n; };
    for (const auto& sip : pod.sips())
      if (c.of_sip != nullptr) add(c.of_sip(run.machine, *sip));
    pod.visit_cubes([&](netlist::cube& cube) {
      if (c.of_cube != nullptr) add(c.of_cube(cube));
      if (c.of_class != nullptr) add(c.of_class(cube, part));
    });
    for (const pe_coord pe : run.members.members)
      if (c.of_member != nullptr && pod.has(pe.sip)) add(c.of_member(pod.pe(pe)));
    totals.counts.push_back(all);
  });
}

void count(const prepared_run& run, const sw::timed_machine& machine, machine_totals& totals) {
  each_count([&](const run_counter& c, unsigned) {
    const bool counted = c.of_message_run != nullptr;
    totals.counts.push_back(counted ? c.of_message_run(machine, run.members.members) : 0);
  });
}

void add_counts(std::vector<std::uint64_t>& counts, const std::vector<std::uint64_t>& more) {
  std::size_t i = 0;
  each_count([&](const run_counter& c, unsigned) {
    counts[i] = c.most ? std::max(counts[i], more.at(i)) : counts[i] + more.at(i);
    ++i;
  });
}

std::string counters_markdown() {
  std::string text = "| field | |\n|---|---|\n";
  const auto row = [&text](const std::string& names, const condition* when, const char* meaning) {
    text += fmt::format("| {} | {}{} |\n", names, when == nullptr ? "" : fmt::format("{}: ", when->text),
                        meaning);
  };
  for (const run_counter& c : run_counters) {
    std::string names;
    for (unsigned part = 0; part < parts_of(c); ++part)
      names += fmt::format("{}`{}`", part == 0 ? "" : ", ", name_of(c, part));
    row(names, c.when, c.meaning);
  }
  for (const run_figure& f : run_figures) row(fmt::format("`{}`", f.name), f.when, f.meaning);
  return text;
}

void report_totals(const prepared_run& run, const machine_totals& t, const host_side& s,
                   const analysis::critical_hops* hops, sim_time now, run_outcome& o) {
  set_fingerprints(s, t.fingerprint, o);
  const ended_run e{run, t, s, hops, now, o};
  report_counts(e, false, o);
  for (const run_figure& f : run_figures)
    if ((hops != nullptr || f.of_message_run) && (f.when == nullptr || f.when->holds(e)))
      o.stats.emplace_back(f.name, f.of(e));
  if (hops == nullptr) return;
  o.wakeups = whole_stat(o, "wakeups");
  o.packet_hops = whole_stat(o, "packet_hops");
  if (t.unwritten > 0)
    o.notes.push_back(
        fmt::format("{} bytes were read that nothing had written, among them {}; "
                    "sim.strict_memory=true ends a run at the first",
                    t.unwritten, t.first_unwritten));
  report_energy(run, t.activity, s.rounds_done(), o);
  for (const auto& [name, value] : s.more_statistics())
    o.stats.emplace_back(name, static_cast<double>(value));
  report_counts(e, true, o);
}

}  // namespace diecast::platforms
