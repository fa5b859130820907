// SPDX-License-Identifier: Apache-2.0
// The machine without time: the same firmware and the same IPCQ engine (models/protocol), PEs on
// fibers, and a seeded scheduler in place of the fabric. An error that occurs in some order of events
// is found here within milliseconds, and is repeatable with the same seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/abi/hal.hpp"
#include "models/abi/launch.hpp"
#include "models/comm/install_plan.hpp"
#include "models/comm/patterns.hpp"
#include "models/config/machine_config.hpp"
#include "models/protocol/ipcq_core.hpp"
#include "models/protocol/tag_unit.hpp"
#include "models/types/immovable.hpp"
#include "sw/collectives/base/kernel_table.hpp"
#include "sw/mock_machine/agenda.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {

struct mock_options {
  schedule order{schedule::round_robin};
  std::uint64_t seed{1};
  kernel_table kernels = builtin_kernels();  ///< table to whose entries host launches refer by index
  /// Called for every step that a PE marks; may be empty.
  std::function<void(pe_coord, const abi::step_marker&)> on_step{};
  /// Called for every note of a PE on its operations; may be empty.
  std::function<void(pe_coord, const abi::operation_note&)> on_note{};
  /// The rule by which tag-matching units decide which entries may match; never_wait is a fault.
  protocol::tag_unit::eligibility rule{protocol::tag_unit::eligibility::by_count};
  std::uint64_t max_steps{UINT64_MAX};  ///< scheduler decisions after which a run is ended as a livelock
};

struct mock_outcome {
  bool finished{};
  /// Empty when finished; else whether nothing could move or max_steps ended it, the waits of PEs, and the
  /// pointer dump of every unfinished PE.
  std::string deadlock;
  std::uint64_t steps{};  ///< scheduler decisions
};

/// The work of one PE.
struct mock_program {
  pe_coord pe;
  std::function<void(abi::hal&)> run;
};

class mock_machine : immovable {
 public:
  /// Installs the plan through the hosts of its SIPs. The config gives shape, memory sizes, queue
  /// pairs, match policy and firmware options; it is copied.
  mock_machine(const config::machine_config& config, const comm::install_plan& plan,
               const mock_options& options = {});
  ~mock_machine();

  /// Runs a kernel on every member, arguments in rank order, until all are done or nothing can move.
  /// Rethrows what firmware or an engine throws (firmware_trap, protocol_error); after that, or after
  /// a deadlock, memory and engines may be read but nothing more can be run.
  mock_outcome run(const kernel_entry& kernel, const comm::group& members,
                   std::span<const abi::kernel_arguments> arguments);
  /// run() with any code per PE.
  mock_outcome run(const std::vector<mock_program>& programs);

  void write_tcm(pe_coord pe, std::uint64_t offset, std::span<const std::byte> bytes);
  void read_tcm(pe_coord pe, std::uint64_t offset, std::span<std::byte> bytes) const;

  [[nodiscard]] const protocol::ipcq_core& engine(pe_coord pe) const;
  /// The machine as the host of one SIP sees it. Launches run when completions are waited for. Time goes
  /// on by a femtosecond with each scheduler decision, and leaps to the instants that sleepers wait for.
  [[nodiscard]] abi::host_hal& host(sip_id sip);
  /// Sum over all PEs.
  [[nodiscard]] std::uint64_t counted(abi::firmware_count what) const;
  /// Whether the PE has no work, or has ended it.
  [[nodiscard]] bool idle(pe_coord pe) const;
  [[nodiscard]] runtime_options firmware_options(pe_coord pe) const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace diecast::sw
