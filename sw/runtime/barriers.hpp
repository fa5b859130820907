// SPDX-License-Identifier: Apache-2.0
// Barriers of a team of ranks: core barrier, rank barrier, core barrier. No core of any member leaves
// before the last core of the last member has entered. A barrier orders nothing else: what a rank has
// written need not be in memory when the others leave, unless it called quiet() (barrier_all does).
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "models/abi/errata.hpp"
#include "models/abi/hal.hpp"
#include "models/comm/barrier_algorithm.hpp"
#include "sw/runtime/signals.hpp"
#include "sw/runtime/teams.hpp"

namespace diecast::sw {

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
  /// What is waited for, as reports name it: "round" 2, "flag of rank" 5.
  struct awaited_part {
    std::string_view name;
    std::uint32_t number{};
  };
  void check_flag(const team& t, std::uint32_t at, std::uint32_t index, std::uint32_t count, pe_coord writer,
                  const awaited_part& what);
  [[nodiscard]] abi::address flag(const team& t, std::uint32_t rank, std::uint32_t index) const;
  [[nodiscard]] pe_coord core_of(const team& t, std::uint32_t rank, std::uint32_t core) const;
  /// Whether the defect is there; its line is counted then.
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
  std::map<std::uint32_t, abi::operation_note> present_;    ///< by slot: the barrier this PE is in
};

}  // namespace diecast::sw
