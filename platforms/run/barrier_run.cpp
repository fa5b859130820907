// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/barrier_run.hpp"

#include <array>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <stdexcept>

#include "models/cost/barrier_cost.hpp"
#include "models/protocol/fault_record.hpp"
#include "models/types/error.hpp"
#include "platforms/run/host_side.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {
namespace {

std::uint64_t word_at(netlist::pod& pod, abi::address at) {
  const auto where = abi::decode(at);
  if (!where) throw std::logic_error(fmt::format("{:#x}, which firmware watches, is no address", at));
  std::uint64_t word = 0;
  for (const auto& m : pod.at(where->sip).cubes()[where->cube.value]->memories()) {
    if (!m || m->kind != where->kind || m->unit != where->unit) continue;
    tlm::tlm_generic_payload look;
    look.set_command(tlm::TLM_READ_COMMAND);
    look.set_address(where->offset);
    look.set_data_ptr(reinterpret_cast<unsigned char*>(&word));
    look.set_data_length(sizeof word);
    look.set_streaming_width(sizeof word);
    if (m->block.socket->get_base_interface().transport_dbg(look) != sizeof word) break;
    return word;
  }
  throw std::logic_error(fmt::format("no memory answers at {:#x}, which firmware watches", at));
}

std::optional<analysis::cached_word> cached(netlist::pod& pod, pe_coord pe, abi::address at) {
  const protocol::data_cache::line* const line = pod.pe(pe).core.memory().cache().find(at);
  if (line == nullptr) return std::nullopt;
  analysis::cached_word word{0, line->dirty};
  std::memcpy(&word.value, line->bytes.data() + (at - line->at), sizeof word.value);
  return word;
}

}  // namespace

barrier_plan plan_barrier(const machine_model& machine, const run_point& point, comm::group& members) {
  const config::machine_config& c = machine.config;
  const comm::rank_set set = point.ranks.value_or(comm::rank_set::cube);
  barrier_plan plan;
  plan.team =
      point.team.value_or(comm::team_spec{0, 1, comm::world_size(machine.topology.population(), set), {}});
  plan.errata = *abi::parse_errata(c.ccl.errata);
  comm::check_sync_memory(c);
  members = comm::barrier_members(machine.topology.population(), set, plan.team);
  comm::check_sync_homes(c, members);
  plan.ranks = static_cast<std::uint32_t>(comm::ranks_of(plan.team).size());
  if (point.algorithm == "auto") {
    const cost::barrier_costs costs = cost::barrier_costs_of(machine.topology, c, members);
    plan.algorithm = costs.cheapest();
    plan.reason = costs.reason();
  } else {
    plan.algorithm = *comm::barrier_named(point.algorithm);
    plan.reason = "given";
  }
  comm::check_team_flags(plan.algorithm, plan.ranks, c.ccl.barrier_radix,
                         plan.errata.has(abi::erratum::unchecked_radix));
  return plan;
}

// --- one run ------------------------------------------------------------------------------------

barrier_watch::barrier_watch(const prepared_run& run, events::hub& events) : run_(run) {
  if (!run.uses_signals()) return;
  checker_ = std::make_unique<analysis::barrier_checker>(run.machine.config.shape());
  if (run.barrier) {
    checker_->expect("", run.members.members, comm::rank_cores(run.members).rank_of());
  } else {
    for (std::uint32_t i = 0; i < run.workload->workload().ops.size(); ++i)
      if (const auto barriers = run.workload->op(i).barriers())
        checker_->expect(run.workload->workload().ops[i].op->id, barriers->members, barriers->ranks);
  }
  events.attach(*checker_, events::steps);
  // Who overwrote what is worth its time in runs with defects only.
  if (abi::parse_errata(run.machine.config.ccl.errata)->bits == 0) return;
  history_ = std::make_unique<analysis::line_history>();
  events.attach(*history_, events::memory);
}

void barrier_watch::next_launch() {
  if (checker_) checker_->next_launch();
}

struct barrier_watch::counts {
  counts() = default;
  counts(const prepared_run& run, netlist::pod& pod) {
    for (const pe_coord pe : run.members.members) {
      if (!pod.has(pe.sip)) continue;
      const hw::pe_core& core = pod.pe(pe).core;
      memory += core.memory().statistics();
      for (unsigned i = 0; i < abi::firmware_counts; ++i)
        firmware[i] += core.counted(static_cast<abi::firmware_count>(i));
    }
  }
  [[nodiscard]] std::uint64_t of(abi::firmware_count what) const {
    return firmware[static_cast<unsigned>(what)];
  }
  void add(const counts& other) {
    memory += other.memory;
    for (unsigned i = 0; i < abi::firmware_counts; ++i) firmware[i] += other.firmware[i];
  }

  hw::core_memory::counters memory;
  std::array<std::uint64_t, abi::firmware_counts> firmware{};
};

void barrier_watch::report(const host_side& s, netlist::pod& pod, process_group* group,
                           run_outcome& o) const {
  if (!checker_) return;
  counts sum(run_, pod);
  if (group != nullptr) {
    add_others(*group, sum, [] { return counts(); });
    add_others(*group, *checker_, [this] { return analysis::barrier_checker(run_.machine.config.shape()); });
  }
  if (run_.barrier) {
    report_barrier(s, sum, o);
  } else {
    report_workload(s, sum, o);
  }
  if (s.finished() && o.status == run_status::ok && run_.point.tell_faults) tell_harmless(sum, o);
}

void barrier_watch::tell_harmless(const counts& sum, run_outcome& o) const {
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
        times == 0 ? "no barrier of this run comes to the line of the defect"
                   : fmt::format("firmware came {} times to its line, and all barriers were right", times)));
  }
}

void barrier_watch::tell_escapes(run_outcome& o) const {
  if (checker_->escapes() == 0) return;
  o.verified = false;
  if (o.status == run_status::ok) o.status = run_status::wrong;
  const std::string who = pe_path(run_.machine.config.shape(), checker_->first_escaped());
  if (!o.detected) o.detected = {to_string(diecast::fault_kind::barrier_left_early), who};
  o.message = fmt::format("{} times a PE left the barrier too early: {}; counted by rank: {}{}{}",
                          checker_->escapes(), checker_->first_escape(), checker_->escaped_ranks(),
                          o.message.empty() ? "" : "\n", o.message);
}

void barrier_watch::report_barrier(const host_side& s, const counts& sum, run_outcome& o) const {
  o.wrong_elements = checker_->escapes();  // a barrier has no others
  if (s.finished()) o.verified = true;
  tell_escapes(o);
  o.verified_how = "no PE left a barrier before every PE of the team had entered it";

  using abi::firmware_count;
  const double barriers = static_cast<double>(sum.of(firmware_count::barriers)) /
                          static_cast<double>(run_.members.members.size());
  const auto each = [&](std::uint64_t n) { return barriers > 0 ? static_cast<double>(n) / barriers : 0.0; };
  const std::uint64_t radix = run_.machine.config.ccl.barrier_radix;
  const auto work =
      comm::work_of(run_.barrier->algorithm, run_.barrier->ranks, static_cast<std::uint32_t>(radix));
  const auto add = [&o](const char* name, double value) { o.stats.emplace_back(name, value); };
  const auto formula = [&](const char* name, std::uint64_t of_rank) {
    add(name, static_cast<double>(of_rank * run_.barrier->ranks));
  };
  add("barriers", barriers);
  add("signals_set_per_barrier", each(sum.of(firmware_count::signals_set)));
  if (work) formula("signals_set_formula", work->signals_set);
  add("flags_checked_per_barrier", each(sum.of(firmware_count::flags_checked)));
  if (work) formula("flags_checked_formula", work->flags_checked);
  const statistics more = {
      {"core_signals_set_per_barrier", each(sum.of(firmware_count::core_signals_set))},
      {"core_flags_checked_per_barrier", each(sum.of(firmware_count::core_flags_checked))},
      {"polls_per_barrier", each(sum.of(firmware_count::polls))},
      {"line_fills_per_barrier", each(sum.memory.line_fills)},
      {"write_backs_per_barrier", each(sum.memory.write_backs)},
      {"cache_hits_per_barrier", each(sum.memory.hits)},
      {"remote_reads_per_barrier", each(sum.memory.remote_reads)},
      {"remote_writes_per_barrier", each(sum.memory.remote_writes)},
      {"remote_bytes_per_barrier", each(sum.memory.remote_bytes)},
      {"barrier_escapes", static_cast<double>(checker_->escapes())},
      {"barrier_escapes_ranks", static_cast<double>(checker_->escaped_ranks())}};
  o.stats.insert(o.stats.end(), more.begin(), more.end());
}

bool barrier_watch::judges(bool good) const { return run_.point.data || !good; }

// --- barriers of a workload -----------------------------------------------------------------------

/// An op is right when the checker has seen every member enter and leave each of its barriers, and none leave
/// early. Returns what is wrong with the first that is not; empty when all are.
std::string barrier_watch::judge_ops(run_outcome& o) const {
  const sw::workload_program& w = *run_.workload;
  std::string first_wrong;
  std::size_t row = 0;
  for (std::uint32_t i = 0; i < w.workload().ops.size(); ++i) {
    const std::string& id = w.workload().ops[i].op->id;
    const auto barriers = w.op(i).barriers();
    for (; row < o.ops.size() && o.ops[row].id == id; ++row) {
      op_row& r = o.ops[row];
      if (!barriers) continue;
      const auto first = static_cast<std::uint32_t>(r.iteration * barriers->times);
      const auto seen = checker_->of(id, first, barriers->times);
      const std::uint64_t calls = std::uint64_t{barriers->times} * barriers->members.size();
      r.wrong_elements = seen.escapes;
      const std::string wrong = analysis::barrier_checker::complaint(id, seen, calls);
      const bool good = wrong.empty();
      if (r.finished) r.verified = good;
      if (first_wrong.empty()) first_wrong = wrong;
      for (stream_row& stream : o.streams)
        if (stream.name == r.stream && stream.finished && judges(good))
          stream.verified = stream.verified.value_or(true) && good;
    }
  }
  return first_wrong;
}

void barrier_watch::report_workload(const host_side& s, const counts& sum, run_outcome& o) const {
  const std::string wrong = judge_ops(o);
  const bool good = wrong.empty();
  // A run that has not ended has verified nothing; an escape is one all the same.
  if (s.finished() || checker_->escapes() > 0)
    o.wrong_elements = o.wrong_elements.value_or(0) + checker_->escapes();
  if (s.finished() && judges(good)) {
    o.verified = o.verified.value_or(true) && good;
    if (!*o.verified && o.status == run_status::ok) o.status = run_status::wrong;
    if (!good && o.message.empty() && checker_->escapes() == 0) o.message = wrong;
  }
  tell_escapes(o);
  if (o.verified && !o.verified_how.empty()) o.verified_how += "; ";
  if (o.verified)
    o.verified_how += "every PE entered and left every barrier, none before all members had entered it";
  using abi::firmware_count;
  const auto total = [&](firmware_count what) { return static_cast<double>(sum.of(what)); };
  const statistics more = {{"pe_barriers", total(firmware_count::barriers)},
                           {"signals_set", total(firmware_count::signals_set)},
                           {"flags_checked", total(firmware_count::flags_checked)},
                           {"core_signals_set", total(firmware_count::core_signals_set)},
                           {"core_flags_checked", total(firmware_count::core_flags_checked)},
                           {"polls", total(firmware_count::polls)},
                           {"line_fills", static_cast<double>(sum.memory.line_fills)},
                           {"write_backs", static_cast<double>(sum.memory.write_backs)},
                           {"barrier_escapes", static_cast<double>(checker_->escapes())},
                           {"barrier_escapes_ranks", static_cast<double>(checker_->escaped_ranks())}};
  o.stats.insert(o.stats.end(), more.begin(), more.end());
}

std::vector<analysis::watched_word> watched_words(netlist::pod& pod, const std::vector<pe_coord>& members,
                                                  const analysis::line_history* history) {
  std::vector<analysis::watched_word> words;
  for (const pe_coord pe : members) {
    const auto& wanted = pod.pe(pe).core.watching();
    if (!wanted) continue;
    analysis::watched_word w{pe,
                             *wanted,
                             cached(pod, pe, wanted->at),
                             word_at(pod, wanted->at),
                             cached(pod, wanted->expected_writer, wanted->at),
                             {},
                             pod.pe(wanted->expected_writer).core.watching()};
    if (history != nullptr) w.history = history->of(wanted->at);
    words.push_back(std::move(w));
  }
  return words;
}

}  // namespace diecast::platforms
