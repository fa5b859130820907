// SPDX-License-Identifier: Apache-2.0
// Barriers, and the signals and teams they are made of.
//
// Signals: words in global memory by which ranks signal each other, over data caches that are not coherent.
// One flag lies in one 64-byte line: a store writes the whole line back.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "models/abi/errata.hpp"
#include "models/abi/hal.hpp"
#include "models/comm/sync_layout.hpp"

namespace diecast::sw {
class signal_port {
 public:
  /// Called between two reads of a flag that is not set, with the awaited word.
  using between_looks = std::function<void(const abi::signal_watch&)>;

  signal_port(abi::hal& hal, abi::errata_word errata, between_looks idle)
      : hal_(hal), errata_(errata), idle_(std::move(idle)) {}

  /// Stores and cleans the line, so that the value reaches memory. Other writers of the line must not be
  /// at work. Returns before the memory has acknowledged: quiet() waits for that.
  void set(abi::address at, std::uint64_t value);
  /// Adds atomically at the memory; returns the previous value.
  std::uint64_t add(abi::address at, std::uint64_t value);
  /// Polls the word in memory until the comparison (modulo 2^32) holds. `writer` is the PE that is expected
  /// to set it, for reports.
  void wait_until(abi::address at, abi::compare how, std::uint32_t value, pe_coord writer);
  /// Until the word is `count` or count + 1: the peer may already be in the next round, never further.
  /// `among_ranks`: signal_watch::among_ranks.
  void wait_for_barrier(abi::address at, std::uint32_t count, pe_coord writer, bool among_ranks = false);
  /// The present value of the word in memory.
  [[nodiscard]] std::uint64_t load(abi::address at);

  [[nodiscard]] abi::errata_word errata() const { return errata_; }

  /// Everything this PE has written is in memory, and nothing stale is in its cache. A barrier does not do
  /// this by itself.
  void quiet();
  /// Earlier writes reach memory before later ones.
  void fence() { quiet(); }

 private:
  void wait(const abi::signal_watch& wanted);

  abi::hal& hal_;
  abi::errata_word errata_;
  between_looks idle_;
};

// Ranks and teams as firmware sees them: a rank is a group of PEs (its cores) that arrive as one, a team
// is an ordered set of ranks with a slot of flags in each member's memory.

/// A PE with a home region: a core, or the first core of a rank.
struct sync_peer {
  abi::address home{};
  pe_coord pe;
};

/// The cores of this PE's rank, and the barrier among them: dissemination, ceil(log2 cores) rounds.
class core_group {
 public:
  /// `me` indexes `cores`. `counter_offset`: a word of local TCM that counts the core barriers of this PE,
  /// also from one kernel to the next. Traps when there are more cores than the flags serve.
  core_group(abi::hal& hal, signal_port& signals, std::vector<sync_peer> cores, std::uint32_t me,
             std::uint64_t counter_offset);

  /// Called before each wait, with its round and the PE whose signal ends it.
  using before_wait = std::function<void(std::uint32_t round, pe_coord from)>;
  void barrier(const before_wait& notify);
  /// Core `core` of the rank whose first core is `first`: as far from it as here. For reports only.
  [[nodiscard]] pe_coord neighbor(pe_coord first, std::uint32_t core) const;
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(cores_.size()); }
  [[nodiscard]] std::uint32_t me() const { return me_; }

 private:
  abi::hal& hal_;
  signal_port& signals_;
  std::vector<sync_peer> cores_;
  std::uint32_t me_;
  std::uint64_t counter_offset_;
  std::uint32_t counter_{};
};

/// A team, as one of its members knows it.
struct team {
  std::vector<sync_peer> members;  ///< in team order
  std::uint32_t me{};              ///< index of this rank
  std::uint32_t slot{};            ///< slot of its flags, the same at every member

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(members.size()); }
  [[nodiscard]] abi::address counter() const { return comm::team_counter(members[me].home, slot); }
};

// Barriers of a team of ranks: core barrier, rank barrier, core barrier. No core of any member leaves
// before the last core of the last member has entered. A barrier orders nothing else: what a rank has
// written need not be in memory when the others leave, unless it called quiet() (barrier_all does).

struct barrier_options {
  std::uint32_t radix{8};    ///< radix of group_dissemination, at least 2
  std::uint32_t pollers{8};  ///< cores that poll in centralized_pull
  abi::errata_word errata;
  bool alike{true};  ///< the cores of every rank lie as far from its first as here
};

class rank_barriers {
 public:
  /// References outlive the object.
  rank_barriers(abi::hal& hal, signal_port& signals, core_group& cores, const barrier_options& options)
      : hal_(hal), signals_(signals), cores_(cores), options_(options) {}

  /// Called by every core of every member, in the same order for teams that share a rank. Traps when the
  /// team does not fit its flags.
  void barrier(const team& t, comm::barrier_algorithm how);
  /// quiet(), then barrier(): what any member has written before is in memory when one leaves.
  void barrier_all(const team& t, comm::barrier_algorithm how);

  /// Makes a team of the parent's members `ranks` (indices in the parent, in the order of the new team).
  /// Every rank of the parent calls it with the same list, none of them in another team's creation; its
  /// barriers are those of `how`. The slot is the lowest one free at every rank of the parent. A rank that
  /// is not in the list gets a team without members. Traps when the list names a rank twice, or one that
  /// the parent has not.
  [[nodiscard]] team create(const team& parent, const std::vector<std::uint32_t>& ranks, std::uint32_t start,
                            comm::barrier_algorithm how);
  /// Gives the slot back; called by all members.
  void destroy(const team& t, comm::barrier_algorithm how);

 private:
  void one_barrier(const team& t, comm::barrier_algorithm how);
  void note(const team& t, abi::operation_phase phase);
  void note_wait(const team& t, std::string_view stage, std::uint32_t number, pe_coord on);
  void wait_for_cores(const team& t, std::string_view stage);
  [[nodiscard]] const std::vector<pe_coord>& cores_of(const team& t);
  void change_writers(const team& t, comm::barrier_algorithm how);
  [[nodiscard]] std::uint32_t load_counter(const team& t);
  void centralized_pull(const team& t, std::uint32_t count);
  void dissemination(const team& t, std::uint32_t count);
  void group_dissemination(const team& t, std::uint32_t count);
  void exchange_group(const team& t, std::uint32_t count, std::uint32_t round, std::uint64_t shift);
  void signal(const team& t, std::uint32_t to, std::uint32_t index, std::uint32_t count);
  /// The wait as reports name it: "round" 2, "flag of rank" 5.
  struct awaited_part {
    std::string_view name;
    std::uint32_t number{};
  };
  void check_flag(const team& t, std::uint32_t at, std::uint32_t index, std::uint32_t count, pe_coord writer,
                  const awaited_part& what);
  [[nodiscard]] abi::address flag(const team& t, std::uint32_t rank, std::uint32_t index) const;
  [[nodiscard]] pe_coord core_of(const team& t, std::uint32_t rank, std::uint32_t core) const;
  /// Whether the defect is present; counts that firmware has reached the defect's line.
  [[nodiscard]] bool comes_to(abi::erratum e, abi::firmware_count line);
  void check_ranks(const team& parent, const std::vector<std::uint32_t>& ranks) const;
  [[nodiscard]] std::uint32_t free_slot(const team& parent);
  void mark_slot(abi::address home, std::uint32_t slot, bool used);
  void clear(const team& t, std::uint32_t start);

  abi::hal& hal_;
  signal_port& signals_;
  core_group& cores_;
  barrier_options options_;
  std::map<std::uint32_t, comm::barrier_algorithm>
      last_;  ///< last algorithm by team slot; none before its first barrier
  std::map<std::uint32_t, std::vector<pe_coord>> members_;  ///< cores of the team in each slot
  std::map<std::uint32_t, abi::operation_note> present_;    ///< by team slot: the barrier that this PE is in
};

}  // namespace diecast::sw
