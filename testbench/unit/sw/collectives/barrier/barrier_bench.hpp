// SPDX-License-Identifier: Apache-2.0
// Barriers on the mock machine, watched by the checker that hears only when PEs enter and leave.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/analysis/barrier_checker.hpp"
#include "models/comm/sync_layout.hpp"
#include "sw/collectives/barrier/barrier.hpp"
#include "sw/mock_machine/mock_machine.hpp"

namespace diecast::test {

struct barrier_case {
  std::uint32_t world{4};  ///< ranks of the machine
  std::uint32_t cores{1};  ///< PEs of a rank
  comm::team_spec team{0, 1, 4, {}};
  comm::barrier_algorithm how{comm::barrier_algorithm::dissemination};
  std::uint32_t radix{8};
  std::uint32_t start{0};
  std::uint32_t repeats{1};
  std::uint32_t skew{0};  ///< most times that a PE gives way before it enters; drawn for each barrier
  sw::schedule order{sw::schedule::random};
  std::uint64_t seed{1};
  std::string errata{"none"};
  std::vector<std::uint32_t> absent{};  ///< team ranks that never arrive
  std::uint64_t max_steps{UINT64_MAX};
  std::vector<config::instance_override> overrides{};
};

struct barrier_result {
  sw::mock_outcome outcome;
  std::uint64_t escapes{};  ///< PEs that left a barrier some member had not entered
  std::uint64_t escaped_ranks{};
  std::vector<bool> left;  ///< by team rank: all its cores are through
  std::uint64_t signals_set{}, flags_checked{}, polls{};
  std::uint64_t core_signals_set{}, core_flags_checked{};
  std::string trap;  ///< what firmware trapped with; empty if it did not
};

/// A machine of `world` ranks of `cores` PEs, and the group and arguments of a team of it.
class barrier_machine {
 public:
  explicit barrier_machine(const barrier_case& c);

  /// `code` runs on every member that is not absent.
  barrier_result run(const std::function<void(sw::barrier_runtime&, abi::hal&)>& code);
  /// The case's repeats of its barrier.
  barrier_result run();

  /// Announces a barrier that `code` marks itself: "enter barrier NAME", "left barrier NAME".
  void expect(const std::string& name, const std::vector<pe_coord>& members) {
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t i = 0; i < members.size(); ++i) ranks.push_back(i / case_.cores);
    checker_.expect(name, members, ranks);
  }
  [[nodiscard]] const analysis::barrier_checker& checker() const { return checker_; }
  [[nodiscard]] const comm::group& members() const { return members_; }

 private:
  void late(abi::hal& hal, std::uint32_t barrier) const;
  void stepped(pe_coord pe, const abi::step_marker& step);

  barrier_case case_;
  config::machine_config config_;
  comm::group members_;
  comm::rank_cores cores_;
  sw::argument_context launch_;
  std::vector<abi::kernel_arguments> arguments_;
  analysis::barrier_checker checker_;
  std::uint64_t marks_{};
  std::unique_ptr<sw::mock_machine> machine_;
};

}  // namespace diecast::test
