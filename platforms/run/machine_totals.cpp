// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "hw/base/time.hpp"
#include "hw/hbm/hbm_controller.hpp"
#include "platforms/result/step_rows.hpp"
#include "platforms/run/collect.hpp"

namespace diecast::platforms {

std::uint64_t sip_in(const std::string& path) {
  constexpr std::string_view before = "pod.sip";
  return path.starts_with(before) ? std::strtoull(path.c_str() + before.size(), nullptr, 10) : 0;
}

namespace {

std::vector<std::uint64_t*> sums_of(machine_totals& t) {
  cost::activity& a = t.activity;
  std::vector<std::uint64_t*> all{
      &t.unwritten,         &t.fingerprint, &a.pes,       &a.cubes,         &a.router_bytes,
      &a.tcm_bytes,         &a.sram_bytes,  &a.hbm_bytes, &a.hbm_activates, &a.hbm_all_bank_refreshes,
      &a.hbm_bank_refreshes};
  for (std::uint64_t& elements : a.vector_elements) all.push_back(&elements);
  return all;
}

template <class Row, class Key>
void add_rows(std::vector<Row>& all, std::vector<Row>& more, Key key) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  std::ranges::stable_sort(all, {}, key);
}

void add_outcome(const prepared_run& run, run_outcome& o, run_outcome& part) {
  add_rows(o.links, part.links,
           [&run](const link_row& r) { return run.machine.topology.links()[r.number].sip; });
  add_rows(o.queue_pairs, part.queue_pairs, [](const queue_pair_row& r) { return sip_in(r.pe); });
  add_rows(o.hbm, part.hbm, [](const hbm_row& r) { return sip_in(r.channel); });
  add_rows(o.waits, part.waits, [](const wait_row& r) { return r.rank; });
  o.steps += part.steps;
  o.elaborate_s = std::max(o.elaborate_s, part.elaborate_s);
  o.wall_s = std::max(o.wall_s, part.wall_s);
  o.peak_rss_mib = std::max(o.peak_rss_mib, part.peak_rss_mib);
}

struct process_part {
  machine_totals totals;
  analysis::hop_depth longest;
  std::uint64_t unmatched{};
  run_outcome rows;
  DIECAST_MEMBERS(totals, longest, unmatched, rows)
};

}  // namespace

void join(process_group& group, const prepared_run& run, run_outcome& o, machine_totals& totals,
          analysis::critical_hops& hops) {
  process_part own{totals, {hops.cube_hops(), hops.sip_hops()}, hops.unmatched(), o};
  own.rows.deadlock_json.clear(), own.rows.flight_json.clear();  // every process has made them
  std::vector<process_part> all = gathered(group, own);
  for (std::uint32_t p = 0; p < group.count(); ++p) {
    if (p == group.self()) continue;
    process_part& part = all[p];
    if (group.self() == 0) add_outcome(run, o, part.rows);  // the others report nothing
    const auto sums = sums_of(totals), more = sums_of(part.totals);
    for (std::size_t n = 0; n < sums.size(); ++n) *sums[n] += *more[n];
    add_counts(totals.counts, part.totals.counts);
    const std::string& first = part.totals.first_unwritten;
    if (totals.first_unwritten.empty() ||
        (!first.empty() && sip_in(first.substr(first.find("pod."))) <
                               sip_in(totals.first_unwritten.substr(totals.first_unwritten.find("pod.")))))
      totals.first_unwritten = first;
    hops.merge(part.longest, part.unmatched);
  }
  std::vector<step_row> steps = rows_from(o.steps);
  sort(steps);
  o.steps = to_text(steps);
}

namespace {

bool belongs_to_pe(const fabric::topology& t, const fabric::link& l) {
  const std::uint16_t terminal = l.kind == fabric::link_kind::inject ? l.from : l.port;
  const auto& layout = t.layout(sip_id{l.sip}, cube_id{l.cube});
  return layout.terminals[terminal].kind == fabric::terminal_kind::pe;
}

void add_links(const prepared_run& run, const run_outcome& o, cost::activity& a) {
  using fabric::link_kind;
  const fabric::topology& t = run.machine.topology;
  for (const link_row& row : o.links) {
    const fabric::link& l = t.links()[row.number];
    if (l.kind == link_kind::mesh || l.kind == link_kind::eject) a.router_bytes += row.bytes;
    if (l.kind == link_kind::mesh) a.link_bytes += row.bytes;
    if (l.kind == link_kind::sip) a.sip_link_bytes += row.bytes;
    a.die_to_die_pj += row.energy_pj;
    const bool terminal = l.kind == link_kind::inject || l.kind == link_kind::eject;
    if (terminal && belongs_to_pe(t, l)) a.dma_bytes += row.bytes;
  }
}

void add_memory(const netlist::cube::memory& m, cost::activity& a) {
  if (const auto* controller = m.block.controller()) {
    a.hbm_activates += controller->commands().activates;
    a.hbm_all_bank_refreshes += controller->commands().all_bank_refreshes;
    a.hbm_bank_refreshes += controller->commands().bank_refreshes;
  }
  // A memory of an extension has no counters.
  const hw::memory_target* const target = m.block.counted;
  if (target == nullptr) return;
  const std::uint64_t bytes = target->statistics().bytes_read + target->statistics().bytes_written;
  (m.kind == abi::region::hbm ? a.hbm_bytes : a.sram_bytes) += bytes;
}

/// A unit of a tree is one more output of its router; an addition costs what it costs in a vector unit.
void add_trees(const hw::tree_units::counters& c, const comm::tree_arithmetic& how, cost::activity& a) {
  a.router_bytes += c.bytes;
  const numeric::dtype added = how.in_f32 ? numeric::dtype::f32 : how.type;
  a.vector_elements[static_cast<std::size_t>(added)] += c.elements;
}

void add_cube(const netlist::cube& cube, cost::activity& a) {
  ++a.cubes;
  for (const auto& pe : cube.pes()) {
    ++a.pes;
    a.tcm_bytes += pe->tcm.statistics().bytes_read + pe->tcm.statistics().bytes_written;
    for (std::size_t t = 0; t < numeric::dtypes; ++t) a.vector_elements[t] += pe->core.vector_elements()[t];
  }
  for (const auto& m : cube.memories())
    if (m) add_memory(*m, a);
}

}  // namespace

void collect_activity(const prepared_run& run, netlist::pod& pod, cost::activity& a) {
  pod.visit_cubes([&](netlist::cube& cube) {
    add_cube(cube, a);
    if (run.plan.tree) add_trees(*cube.noc().tree_statistics(), run.plan.tree->arithmetic, a);
  });
}

void report_energy(const prepared_run& run, cost::activity a, std::uint64_t launches, run_outcome& o) {
  constexpr double ns_per_s = 1e9;
  a.seconds = hw::now().ns() / ns_per_s;
  add_links(run, o, a);
  const auto parts = cost::energy_of(a, run.machine.config);
  for (const cost::energy_part& p : parts) o.energy.emplace_back(std::string(p.name) + "_pj", p.pj);
  const double total = cost::total_pj(parts);
  o.energy.emplace_back("total_pj", total);
  if (launches == 0) return;
  const double per_launch = total / static_cast<double>(launches);
  o.energy.emplace_back("per_launch_pj", per_launch);
  const std::uint64_t ranks = run.members.members.size();
  const auto what = comm::collective_named(o.collective);
  if (!what || !comm::reduces(*what) || ranks < 2 || o.bytes == 0) return;
  o.energy.emplace_back("pj_per_bit_reduced", cost::pj_per_bit_reduced(per_launch, o.bytes, ranks));
}

}  // namespace diecast::platforms
