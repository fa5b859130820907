// SPDX-License-Identifier: Apache-2.0
#include "platforms/job/signal_judge.hpp"

#include <fmt/format.h>
#include <map>

#include "models/abi/errata.hpp"
#include "models/protocol/fault_record.hpp"
#include "platforms/run/process_group.hpp"

namespace diecast::platforms {

std::span<const barrier_counter> barrier_counters() {
  using counts = barrier_counts;
  using enum abi::firmware_count;
  static constexpr barrier_counter all[]{
      {"signals_set", "signals of rank barriers", [](const counts& c) { return c.of(signals_set); }},
      {"flags_checked", "flags of rank barriers", [](const counts& c) { return c.of(flags_checked); }},
      {"core_signals_set", "signals of core barriers",
       [](const counts& c) { return c.of(core_signals_set); }},
      {"core_flags_checked", "flags of core barriers",
       [](const counts& c) { return c.of(core_flags_checked); }},
      {"polls", "reads of a flag, those without success included",
       [](const counts& c) { return c.of(polls); }},
      {"line_fills", "lines read into data caches", [](const counts& c) { return c.memory.line_fills; }},
      {"write_backs", "lines written back by data caches",
       [](const counts& c) { return c.memory.write_backs; }},
      {"cache_hits", "accesses that data caches answer", [](const counts& c) { return c.memory.hits; }},
      {"remote_reads", "reads of memories of other cubes",
       [](const counts& c) { return c.memory.remote_reads; }},
      {"remote_writes", "writes to memories of other cubes",
       [](const counts& c) { return c.memory.remote_writes; }},
      {"remote_bytes", "bytes read from and written to memories of other cubes",
       [](const counts& c) { return c.memory.remote_bytes; }}};
  return all;
}

std::string barrier_counters_markdown() {
  std::string text;
  for (const barrier_counter& c : barrier_counters())
    text += fmt::format("| `{0}`, `{0}_per_barrier` | workloads with barriers, and barriers: {1} |\n", c.name,
                        c.meaning);
  return text;
}

signal_judge::signal_judge(const prepared_run& run, events::hub& events)
    : run_(run), checker_(run.machine.config.shape()) {
  events.attach(checker_, events::steps);
  // The history of stores takes time and is kept only in runs with defects.
  if (abi::parse_errata(run.machine.config.ccl.errata)->bits == 0) return;
  history_ = std::make_unique<analysis::line_history>();
  events.attach(*history_, events::memory);
}

barrier_counts::barrier_counts(const prepared_run& run, netlist::pod& pod) {
  for (const pe_coord pe : run.members.members) {
    if (!pod.has(pe.sip)) continue;
    const hw::pe_core& core = pod.pe(pe).core;
    memory += core.memory().statistics();
    for (unsigned i = 0; i < abi::firmware_counts; ++i)
      firmware[i] += core.counted(static_cast<abi::firmware_count>(i));
  }
}

void barrier_counts::add(const barrier_counts& other) {
  memory += other.memory;
  for (unsigned i = 0; i < abi::firmware_counts; ++i) firmware[i] += other.firmware[i];
}

void signal_judge::report(const host_side& hosts, netlist::pod& pod, process_group* group, run_outcome& o) {
  barrier_counts sum(run_, pod);
  if (group != nullptr) {
    add_others(*group, sum, [] { return barrier_counts(); });
    add_others(*group, checker_, [this] { return analysis::barrier_checker(run_.machine.config.shape()); });
  }
  judge_barriers(hosts, sum, o);
  if (hosts.finished() && o.status == run_status::ok && run_.point.report_faults) report_harmless(sum, o);
}

void signal_judge::report_harmless(const barrier_counts& sum, run_outcome& o) const {
  using abi::erratum;
  using abi::firmware_count;
  static const std::map<erratum, firmware_count> lines{
      {erratum::set_without_dcci, firmware_count::unflushed_signals},
      {erratum::wait_without_dcci, firmware_count::stale_looks},
      {erratum::no_round_barrier, firmware_count::open_rounds},
      {erratum::late_counter, firmware_count::late_loads},
      {erratum::no_entry_barrier, firmware_count::open_entries},
      {erratum::slot_by_rank, firmware_count::slots_by_rank},
      {erratum::packed_flags, firmware_count::packed_signals},
      {erratum::reused_team_state, firmware_count::reused_states},
      {erratum::unchecked_radix, firmware_count::unchecked_radices},
      {erratum::exact_count, firmware_count::exact_waits}};
  const abi::errata_word present = *abi::parse_errata(run_.machine.config.ccl.errata);
  for (const abi::erratum_description& e : abi::errata()) {
    if (!present.has(e.bit)) continue;
    const std::uint64_t times = sum.of(lines.at(e.bit));
    o.notes.push_back(fmt::format(
        "ccl.errata={} did not act: {}", e.name,
        times == 0 ? "no barrier of this run reaches the line of the defect"
                   : fmt::format("firmware reached its line {} times, and all barriers were right", times)));
  }
}

void signal_judge::report_escapes(run_outcome& o) const {
  if (checker_.escapes() == 0) return;
  o.verified = false;
  if (o.status == run_status::ok) o.status = run_status::wrong;
  const std::string who = pe_path(run_.machine.config.shape(), checker_.first_escaped());
  if (!o.detected) o.detected = {to_string(diecast::fault_kind::barrier_left_early), who};
  o.message = fmt::format("{} times a PE left the barrier too early: {}; counted by rank: {}{}{}",
                          checker_.escapes(), checker_.first_escape(), checker_.escaped_ranks(),
                          o.message.empty() ? "" : "\n", o.message);
}

}  // namespace diecast::platforms
