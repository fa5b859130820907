// SPDX-License-Identifier: Apache-2.0
// Barriers on the mock machine, and a checker that sees only when PEs enter and leave.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/comm/barrier_algorithm.hpp"
#include "models/comm/sync_layout.hpp"
#include "sw/kernels/barrier.hpp"
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
  sw::schedule order{sw::schedule::random};
  std::uint64_t seed{1};
  std::string errata{"none"};
  std::vector<std::uint32_t> absent{};  ///< team ranks that never arrive
  std::uint64_t max_steps{UINT64_MAX};
};

struct barrier_result {
  sw::mock_outcome outcome;
  std::uint64_t escapes{};  ///< PEs that left a barrier some member had not entered
  std::vector<bool> left;   ///< by team rank: all its cores are through
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

 private:
  void stepped(const abi::step_marker& step);

  barrier_case case_;
  config::machine_config config_;
  comm::group members_;
  sw::argument_context launch_;
  std::vector<abi::kernel_arguments> arguments_;
  std::vector<std::uint64_t> entered_;
  std::uint64_t escapes_{};
  std::unique_ptr<sw::mock_machine> machine_;
};

}  // namespace diecast::test
