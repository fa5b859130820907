// SPDX-License-Identifier: Apache-2.0
// A workload made ready for a machine, and how a PE runs its part of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "models/config/machine_config.hpp"
#include "sw/workload/op_kind.hpp"
#include "sw/workload/workload.hpp"

namespace diecast::sw {

struct message_counts;

/// One op of a chain on a PE that takes part in it.
struct pe_step {
  std::uint32_t op{};
  std::uint32_t rank{};
  std::uint32_t directions{};  ///< index into pe_program::directions
  abi::address hbm{};
};

struct pe_chain {
  std::uint32_t stream{};
  std::vector<pe_step> steps;
};

/// Program of one PE: each chain is a task. Chains without an op for this PE are left out.
struct pe_program {
  std::vector<pe_chain> chains;
  std::vector<std::uint32_t> others;      ///< ops of its streams in which it takes no part
  std::vector<direction_map> directions;  ///< the first has no direction at all
};

/// Called when members start and end ops; times count from the launch's common start.
class op_observer {
 public:
  op_observer() = default;
  op_observer(const op_observer&) = delete;
  op_observer& operator=(const op_observer&) = delete;
  virtual ~op_observer() = default;
  virtual void started(const pe_step& step, std::uint64_t iteration, sim_time at) = 0;
  virtual void ended(const pe_step& step, std::uint64_t iteration, sim_time at) = 0;
  /// Counts of a PE's messages, when all its ops have ended.
  virtual void messages(const message_counts&) {}
};

struct workload_tables {
  const op_table& ops;
  const kernel_table& kernels;
  const std::vector<comm::pattern_entry>& patterns;
  std::vector<cost::algorithm_rule> rules{};  ///< user's rules (models/cost/rules.hpp)
};

/// Not movable: ops refer to the groups.
class workload_program {
 public:
  /// Plans every op, gives chains their memory and queue pairs, proves the install plan. Throws
  /// user_error with every problem found.
  workload_program(const comm::workload& w, const workload_tables& tables,
                   const config::machine_config& config);
  workload_program(const workload_program&) = delete;
  workload_program& operator=(const workload_program&) = delete;

  [[nodiscard]] const comm::resolved_workload& workload() const { return resolved_; }
  [[nodiscard]] planned_op& op(std::uint32_t index) const { return *ops_.at(index); }
  /// PEs that take part in an op, by rank.
  [[nodiscard]] std::vector<pe_coord> users_of(std::uint32_t op) const;
  [[nodiscard]] const comm::install_plan& install() const { return install_; }
  /// Why a stream cannot be run without the others; empty when it can.
  [[nodiscard]] const std::string& needs_others(std::uint32_t stream) const {
    return needs_others_.at(stream);
  }
  /// Whether some op uses words in global memory.
  [[nodiscard]] bool uses_signals() const;
  /// Preparation that ops need before the launch, on the host of each SIP.
  void set_up(abi::host_hal& host) const;
  /// Null for a PE that takes no part.
  [[nodiscard]] const pe_program* program_of(pe_coord pe) const;
  /// "tp.E": stream and direction of a queue pair of a PE.
  [[nodiscard]] std::string direction_name(pe_coord pe, comm::direction queue_pair) const;

  /// Runs a PE's part of the launch; returns when it is done. `only`: of one stream, as if the file
  /// had no other.
  void run(abi::hal& hal, const runtime_options& options, op_observer& observer,
           std::optional<std::uint32_t> only = {}) const;

 private:
  class builder;

  comm::resolved_workload resolved_;
  std::vector<std::unique_ptr<planned_op>> ops_;
  comm::install_plan install_;
  std::map<pe_coord, pe_program> programs_;
  std::map<std::pair<pe_coord, comm::direction>, std::string> names_;
  std::vector<std::string> needs_others_;  ///< by stream
};

}  // namespace diecast::sw
