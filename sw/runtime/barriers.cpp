// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/barriers.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "sw/runtime/firmware_trap.hpp"

namespace diecast::sw {
using abi::erratum;
using abi::firmware_count;

void signal_port::set(abi::address at, std::uint64_t value) {
  hal_.store_global(at, std::as_bytes(std::span{&value, 1}));
  if (errata_.has(erratum::set_without_dcci)) return hal_.count(firmware_count::unflushed_signals, 1);
  hal_.dcci_line(at);
}

std::uint64_t signal_port::add(abi::address at, std::uint64_t value) { return hal_.add_at_memory(at, value); }

std::uint64_t signal_port::load(abi::address at) {
  std::uint64_t word = 0;
  hal_.dcci_line(at);
  hal_.load_global(at, std::as_writable_bytes(std::span{&word, 1}));
  return word;
}

void signal_port::wait(const abi::signal_watch& wanted) {
  hal_.watch(wanted);
  for (;;) {
    std::uint64_t word = 0;
    if (errata_.has(erratum::wait_without_dcci)) {
      hal_.count(firmware_count::stale_looks, 1);
    } else {
      hal_.dcci_line(wanted.at);
    }
    hal_.load_global(wanted.at, std::as_writable_bytes(std::span{&word, 1}));
    hal_.count(firmware_count::polls, 1);
    if (wanted.satisfied_by(word)) break;
    idle_(wanted);
  }
  hal_.watch({});
}

void signal_port::wait_until(abi::address at, abi::compare how, std::uint32_t value, pe_coord writer) {
  wait({at, how, value, false, writer});
}

void signal_port::wait_for_barrier(abi::address at, std::uint32_t count, pe_coord writer, bool among_ranks) {
  if (errata_.has(erratum::exact_count)) hal_.count(firmware_count::exact_waits, 1);
  wait({at, abi::compare::eq, count, !errata_.has(erratum::exact_count), writer, among_ranks});
}

void signal_port::quiet() {
  hal_.dcci_all();
  hal_.pipe_barrier();
}

using abi::firmware_count;

core_group::core_group(abi::hal& hal, signal_port& signals, std::vector<sync_peer> cores, std::uint32_t me,
                       std::uint64_t counter_offset)
    : hal_(hal), signals_(signals), cores_(std::move(cores)), me_(me), counter_offset_(counter_offset) {
  constexpr std::uint64_t most = std::uint64_t{1} << comm::core_barrier_rounds;
  if (cores_.empty() || me_ >= cores_.size() || cores_.size() > most) {
    throw firmware_trap(hal.self(), "core {} of a rank of {} cores (expected 1 to {} cores)", me_,
                        cores_.size(), most);
  }
  if (size() == 1) return;
  std::uint64_t word = 0;
  hal_.load(counter_offset_, std::as_writable_bytes(std::span{&word, 1}));
  counter_ = static_cast<std::uint32_t>(word);
}

pe_coord core_group::neighbor(pe_coord first, std::uint32_t core) const {
  const pe_coord here = cores_[0].pe, there = cores_[core].pe;
  return {first.sip, cube_id{first.cube.value + there.cube.value - here.cube.value},
          pe_id{first.pe.value + there.pe.value - here.pe.value}};
}

void core_group::barrier(const before_wait& notify) {
  const std::uint32_t n = size();
  if (n == 1) return;
  const std::uint32_t count = counter_ + 1;
  for (std::uint32_t round = 0, reach = 1; reach < n; ++round, reach *= 2) {
    const std::uint32_t to = (me_ + reach) % n, from = (me_ + n - reach) % n;
    signals_.set(comm::core_flag(cores_[to].home, round), count);
    hal_.count(firmware_count::core_signals_set, 1);
    notify(round, cores_[from].pe);
    signals_.wait_for_barrier(comm::core_flag(cores_[me_].home, round), count, cores_[from].pe);
    hal_.count(firmware_count::core_flags_checked, 1);
  }
  counter_ = count;
  const std::uint64_t word = count;
  hal_.store(counter_offset_, std::as_bytes(std::span{&word, 1}));
}

using abi::erratum;
using abi::firmware_count;
using comm::barrier_algorithm;

std::uint32_t rank_barriers::load_counter(const team& t) {
  return static_cast<std::uint32_t>(signals_.load(t.counter()));
}

void rank_barriers::barrier(const team& t, barrier_algorithm how) {
  change_writers(t, how);
  one_barrier(t, how);
  hal_.count(firmware_count::barriers, 1);
}

/// Another algorithm has other writers of a flag: a writer that is late in the last barrier would overwrite
/// the count of one that is early in the next, and that count is not set again. In a pull barrier only owners
/// write flags, after they have received all signals of the previous barrier.
void rank_barriers::change_writers(const team& t, barrier_algorithm how) {
  const auto last = last_.try_emplace(t.slot, how).first;
  const auto pull = barrier_algorithm::centralized_pull;
  if (last->second != how && last->second != pull && how != pull) one_barrier(t, pull);
  last->second = how;
}

void rank_barriers::one_barrier(const team& t, barrier_algorithm how) {
  // Before the entry core barrier: after it a faster core of this rank may already have counted.
  std::uint32_t count = load_counter(t) + 1;
  abi::operation_note& entered = present_[t.slot];
  entered = {};
  entered.kind = abi::operation_kind::barrier;
  entered.id = entered.group = t.slot;
  entered.members = cores_of(t);
  entered.count = count;
  entered.algorithm = comm::to_string(how);
  note(t, abi::operation_phase::posted);
  entered.members = {};
  if (!comes_to(erratum::no_entry_barrier, firmware_count::open_entries))
    wait_for_cores(t, "entry of cores, round");
  if (comes_to(erratum::late_counter, firmware_count::late_loads))
    entered.count = count = load_counter(t) + 1;
  note(t, abi::operation_phase::started);
  switch (how) {
    case barrier_algorithm::centralized_pull: centralized_pull(t, count); break;
    case barrier_algorithm::dissemination: dissemination(t, count); break;
    case barrier_algorithm::group_dissemination: group_dissemination(t, count); break;
  }
  signals_.set(t.counter(), count);
  wait_for_cores(t, "exit of cores, round");
  note(t, abi::operation_phase::completed);
}

bool rank_barriers::comes_to(erratum e, firmware_count line) {
  if (!options_.errata.has(e)) return false;
  hal_.count(line, 1);
  return true;
}

void rank_barriers::note(const team& t, abi::operation_phase phase) {
  abi::operation_note& n = present_.at(t.slot);
  n.phase = phase;
  hal_.note(n);
}

void rank_barriers::note_wait(const team& t, std::string_view stage, std::uint32_t number, pe_coord on) {
  abi::operation_note& n = present_.at(t.slot);
  n.peer = on;
  n.stage = stage;
  n.stage_number = number;
  note(t, abi::operation_phase::awaited);
}

void rank_barriers::wait_for_cores(const team& t, std::string_view stage) {
  cores_.barrier([&](std::uint32_t round, pe_coord from) { note_wait(t, stage, round, from); });
}

/// All PEs give the same value: where ranks differ in PEs, a PE knows only the first PE of another rank.
const std::vector<pe_coord>& rank_barriers::cores_of(const team& t) {
  std::vector<pe_coord>& all = members_[t.slot];
  if (!all.empty()) return all;
  const std::uint32_t known = options_.alike ? cores_.size() : 1;
  for (std::uint32_t rank = 0; rank < t.size(); ++rank)
    for (std::uint32_t core = 0; core < known; ++core) all.push_back(core_of(t, rank, core));
  return all;
}

void rank_barriers::barrier_all(const team& t, barrier_algorithm how) {
  signals_.quiet();
  barrier(t, how);
}

abi::address rank_barriers::flag(const team& t, std::uint32_t rank, std::uint32_t index) const {
  if (index >= comm::team_lines) {
    constexpr std::uint32_t lines = comm::team_lines + 1;  // the counter's is the last
    const bool counter = index % lines == comm::team_lines;
    throw firmware_trap(
        hal_.self(),
        "flag line {} of rank {} in team slot {}: it {} of team slot {} (expected a line below {})", index,
        rank, t.slot, counter ? "is the counter" : "lies in the array", t.slot + index / lines,
        comm::team_lines);
  }
  const std::uint64_t stride =
      options_.errata.has(erratum::packed_flags) ? sizeof(std::uint64_t) : comm::sync_line_bytes;
  return comm::team_flag(t.members[rank].home, t.slot, index, stride);
}

/// The PE that is core `core` of a rank; the rank's first where PEs that are left out make ranks differ. For
/// reports only.
pe_coord rank_barriers::core_of(const team& t, std::uint32_t rank, std::uint32_t core) const {
  if (!options_.alike) return t.members[rank].pe;
  return cores_.neighbor(t.members[rank].pe, core);
}

void rank_barriers::signal(const team& t, std::uint32_t to, std::uint32_t index, std::uint32_t count) {
  signals_.set(flag(t, to, index), count);
  (void)comes_to(erratum::packed_flags, firmware_count::packed_signals);
  hal_.count(firmware_count::signals_set, 1);
}

void rank_barriers::check_flag(const team& t, std::uint32_t at, std::uint32_t index, std::uint32_t count,
                               pe_coord writer, const awaited_part& what) {
  note_wait(t, what.name, what.number, writer);
  signals_.wait_for_barrier(flag(t, at, index), count, writer, true);
  hal_.count(firmware_count::flags_checked, 1);
}

/// Every rank sets a flag in its own memory and polls the flags of all others in theirs; its cores share the
/// polling. The own flag goes first, so that no rank waits for a rank that waits.
void rank_barriers::centralized_pull(const team& t, std::uint32_t count) {
  constexpr std::uint32_t own_line = 0;
  const std::uint32_t pollers = std::min({options_.pollers, t.size(), cores_.size()});
  if (cores_.me() >= pollers) return;
  if (t.me % pollers == cores_.me()) signal(t, t.me, own_line, count);
  for (std::uint32_t rank = cores_.me(); rank < t.size(); rank += pollers) {
    if (rank == t.me) continue;
    check_flag(t, rank, own_line, count, core_of(t, rank, rank % pollers), {"flag of rank", rank});
  }
}

/// One core; in round r it signals the rank 2^r further on and waits for the one 2^r before.
void rank_barriers::dissemination(const team& t, std::uint32_t count) {
  if (cores_.me() != 0) return;
  const std::uint32_t n = t.size();
  for (std::uint32_t round = 0, reach = 1; reach < n; ++round, reach *= 2) {
    const std::uint32_t from = (t.me + n - reach) % n;
    const bool by_rank = comes_to(erratum::slot_by_rank, firmware_count::slots_by_rank);
    signal(t, (t.me + reach) % n, by_rank ? t.me : round, count);
    check_flag(t, t.me, by_rank ? from : round, count, core_of(t, from, 0), {"round", round});
  }
}

/// With radix k, each round signals the k-1 ranks at multiples of the shift and waits for as many, shared
/// among the cores. Multiples beyond the team come round again: redundant, and still sent.
void rank_barriers::group_dissemination(const team& t, std::uint32_t count) {
  const std::uint32_t k = options_.radix;
  if (k < 2 && !comes_to(erratum::unchecked_radix, firmware_count::unchecked_radices)) {
    throw firmware_trap(
        hal_.self(), "group_dissemination with radix {}: its rounds would never end (expected 2 or more)", k);
  }
  std::uint32_t round = 0;
  for (std::uint64_t shift = 1; shift < t.size(); shift *= k, ++round) {
    hal_.mark_step({"barrier round", round});
    // A core that is ahead would signal for a rank whose other cores have not got their signals.
    if (round > 0 && !comes_to(erratum::no_round_barrier, firmware_count::open_rounds))
      wait_for_cores(t, "cores before round");
    exchange_group(t, count, round, shift);
  }
}

void rank_barriers::exchange_group(const team& t, std::uint32_t count, std::uint32_t round,
                                   std::uint64_t shift) {
  const std::uint32_t k = options_.radix, n = t.size();
  const auto line = [&](std::uint32_t j) { return round * (k - 1) + j - 1; };
  const auto away = [&](std::uint32_t j) { return static_cast<std::uint32_t>(j * shift % n); };
  for (std::uint32_t j = 1 + cores_.me(); j < k; j += cores_.size())
    signal(t, (t.me + away(j)) % n, line(j), count);
  for (std::uint32_t j = 1 + cores_.me(); j < k; j += cores_.size()) {
    const std::uint32_t from = (t.me + n - away(j)) % n;
    check_flag(t, t.me, line(j), count, core_of(t, from, cores_.me()), {"round", round});
  }
}

std::uint32_t rank_barriers::free_slot(const team& parent) {
  constexpr std::size_t words = comm::team_table_bytes / sizeof(std::uint64_t);
  std::array<std::uint64_t, words> used{};
  for (const sync_peer& p : parent.members) {
    for (std::size_t w = 0; w < words; ++w) {
      const abi::address at = comm::team_table(p.home) + w * sizeof(std::uint64_t);
      if (at % comm::sync_line_bytes == 0) hal_.dcci_line(at);
      std::uint64_t word = 0;
      hal_.load_global(at, std::as_writable_bytes(std::span{&word, 1}));
      used[w] |= word;
    }
  }
  for (std::uint32_t slot = 0; slot < comm::max_teams; ++slot)
    if ((used[slot / 64] >> slot % 64 & 1) == 0) return slot;
  throw firmware_trap(
      hal_.self(), "no team slot is free at all {} ranks of the parent team (expected fewer than {} teams)",
      parent.size(), comm::max_teams);
}

void rank_barriers::mark_slot(abi::address home, std::uint32_t slot, bool used) {
  const abi::address at = comm::team_table(home) + slot / 64 * sizeof(std::uint64_t);
  const std::uint64_t bit = std::uint64_t{1} << slot % 64;
  const std::uint64_t word = signals_.load(at);
  signals_.set(at, used ? word | bit : word & ~bit);
}

/// Flags start at the counter, too: a cleared 0 would pass for the next round of 2^32 - 1.
void rank_barriers::clear(const team& t, std::uint32_t start) {
  const abi::address home = t.members[t.me].home;
  for (std::uint32_t line = 0; line <= comm::team_lines; ++line)
    signals_.set(comm::team_flag(home, t.slot, line), start);
}

void rank_barriers::check_ranks(const team& parent, const std::vector<std::uint32_t>& ranks) const {
  std::vector<bool> seen(parent.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] >= parent.size()) {
      throw firmware_trap(hal_.self(),
                          "member {} of a new team is rank {} of its parent (expected less than {})", i,
                          ranks[i], parent.size());
    }
    if (seen[ranks[i]]) {
      throw firmware_trap(
          hal_.self(),
          "member {} of a new team is rank {} of its parent, as one before it is (expected every rank once)",
          i, ranks[i]);
    }
    seen[ranks[i]] = true;
  }
}

team rank_barriers::create(const team& parent, const std::vector<std::uint32_t>& ranks, std::uint32_t start,
                           barrier_algorithm how) {
  check_ranks(parent, ranks);
  barrier(parent, how);  // slots given back before are given back everywhere
  team t;
  t.slot = free_slot(parent);
  barrier(parent, how);  // all ranks have checked the slot before any takes it
  for (const std::uint32_t r : ranks) {
    if (r == parent.me) t.me = static_cast<std::uint32_t>(t.members.size());
    t.members.push_back(parent.members[r]);
  }
  last_.erase(t.slot);
  members_.erase(t.slot);
  const bool member = std::ranges::find(ranks, parent.me) != ranks.end();
  if (!member) t.members.clear();
  if (member && cores_.me() == 0) {
    mark_slot(t.members[t.me].home, t.slot, true);
    if (!comes_to(erratum::reused_team_state, firmware_count::reused_states)) clear(t, start);
    signals_.quiet();
  }
  barrier(parent, how);  // no member begins before the flags of all are clear
  return t;
}

void rank_barriers::destroy(const team& t, barrier_algorithm how) {
  barrier(t, how);
  if (cores_.me() == 0) mark_slot(t.members[t.me].home, t.slot, false);
  signals_.quiet();  // every core: no late write may reach the slot's next team
}

}  // namespace diecast::sw
