// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/barrier_run.hpp"

#include <array>
#include <cstring>
#include <fmt/format.h>
#include <stdexcept>

#include "models/cost/barrier_cost.hpp"
#include "models/types/error.hpp"
#include "platforms/run/host_side.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {
namespace {

using comm::barrier_algorithm;

void check_lines(const barrier_plan& plan, std::uint64_t radix) {
  if (radix < 2 && !plan.errata.has(abi::erratum::unchecked_radix)) {
    throw user_error(problem{"ccl.barrier_radix", "group_dissemination with radix 1 never ends",
                             std::to_string(radix), "2 or more"});
  }
  if (radix < 2) return;
  const std::uint64_t lines =
      comm::work_of(plan.algorithm, plan.ranks, static_cast<std::uint32_t>(radix)).signals_set;
  if (lines <= comm::team_lines) return;
  throw user_error(problem{"ccl.barrier_radix",
                           fmt::format("{} ranks need {} flags in each rank's memory, of which a team has {}",
                                       plan.ranks, lines, comm::team_lines),
                           std::to_string(radix), "a radix with (radix - 1) x rounds within that"});
}

std::uint64_t word_at(netlist::pod& pod, abi::address at) {
  const auto where = abi::decode(at);
  if (!where) throw std::logic_error(fmt::format("{:#x}, which firmware watches, is no address", at));
  std::uint64_t word = 0;
  for (const auto& m : pod.sips()[where->sip.value]->cubes()[where->cube.value]->memories()) {
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
  plan.team = point.team.value_or(comm::team_spec{0, 1, comm::world_size(c.shape(), set), {}});
  plan.errata = *abi::parse_errata(c.ccl.errata);
  comm::check_sync_memory(c);
  members = comm::barrier_members(c.shape(), set, plan.team);
  plan.ranks = static_cast<std::uint32_t>(comm::ranks_of(plan.team).size());
  if (point.algorithm == "auto") {
    const cost::barrier_costs costs = cost::barrier_costs_of(machine.topology, c, members);
    plan.algorithm = costs.cheapest();
    plan.reason = costs.reason();
  } else {
    plan.algorithm = *comm::barrier_named(point.algorithm);
    plan.reason = "given";
  }
  if (plan.algorithm == barrier_algorithm::group_dissemination) check_lines(plan, c.ccl.barrier_radix);
  return plan;
}

// --- one run ------------------------------------------------------------------------------------

barrier_watch::barrier_watch(const prepared_run& run, events::hub& events) : run_(run) {
  if (!run.barrier) return;
  checker_ = std::make_unique<analysis::barrier_checker>(run.machine.config.shape(), run.members.members);
  events.attach(*checker_, events::steps);
  if (run.barrier->errata.bits == 0) return;  // who overwrote what is worth its time in such runs only
  history_ = std::make_unique<analysis::line_history>();
  events.attach(*history_, events::memory);
}

void barrier_watch::next_launch() {
  if (checker_) checker_->next_launch();
}

void barrier_watch::report(const host_side& s, netlist::pod& pod, run_outcome& o) const {
  if (!checker_) return;
  o.wrong_elements = checker_->escapes();  // a barrier has no others
  if (checker_->escapes() > 0) {
    o.verified = false;
    if (o.status == run_status::ok) o.status = run_status::wrong;
    o.message = fmt::format("{} times a PE left the barrier too early: {}{}{}", checker_->escapes(),
                            checker_->first_escape(), o.message.empty() ? "" : "\n", o.message);
  } else if (s.finished()) {
    o.verified = true;
  }
  o.verified_how = "no PE left a barrier before every PE of the team had entered it";

  using abi::firmware_count;
  hw::core_memory::counters sum;
  std::array<std::uint64_t, abi::firmware_counts> counts{};
  for (const pe_coord pe : run_.members.members) {
    const hw::pe_core& core = pod.pe(pe).core;
    sum += core.memory().statistics();
    for (unsigned i = 0; i < abi::firmware_counts; ++i) {
      counts[i] += core.counted(static_cast<firmware_count>(i));
    }
  }
  const auto of = [&](firmware_count what) { return counts[static_cast<unsigned>(what)]; };
  const double barriers =
      static_cast<double>(of(firmware_count::barriers)) / static_cast<double>(run_.members.members.size());
  const auto each = [&](std::uint64_t n) { return barriers > 0 ? static_cast<double>(n) / barriers : 0.0; };
  const std::uint64_t radix = run_.machine.config.ccl.barrier_radix;
  const comm::barrier_work work = radix < 2 ? comm::barrier_work{}
                                            : comm::work_of(run_.barrier->algorithm, run_.barrier->ranks,
                                                            static_cast<std::uint32_t>(radix));
  const statistics more = {
      {"barriers", barriers},
      {"signals_set_per_barrier", each(of(firmware_count::signals_set))},
      {"signals_set_formula", static_cast<double>(work.signals_set * run_.barrier->ranks)},
      {"flags_checked_per_barrier", each(of(firmware_count::flags_checked))},
      {"flags_checked_formula", static_cast<double>(work.flags_checked * run_.barrier->ranks)},
      {"core_signals_set_per_barrier", each(of(firmware_count::core_signals_set))},
      {"core_flags_checked_per_barrier", each(of(firmware_count::core_flags_checked))},
      {"polls_per_barrier", each(of(firmware_count::polls))},
      {"line_fills_per_barrier", each(sum.line_fills)},
      {"write_backs_per_barrier", each(sum.write_backs)},
      {"cache_hits_per_barrier", each(sum.hits)},
      {"remote_reads_per_barrier", each(sum.remote_reads)},
      {"remote_writes_per_barrier", each(sum.remote_writes)},
      {"remote_bytes_per_barrier", each(sum.remote_bytes)},
      {"barrier_escapes", static_cast<double>(checker_->escapes())}};
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
                             {}};
    if (history != nullptr) w.history = history->of(wanted->at);
    words.push_back(std::move(w));
  }
  return words;
}

}  // namespace diecast::platforms
