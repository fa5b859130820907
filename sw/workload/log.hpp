// SPDX-License-Identifier: Apache-2.0
// What happened in a run of a workload: when each op ran, whether its data was right.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/abi/hal.hpp"
#include "models/events/events.hpp"
#include "sw/workload/program.hpp"

namespace diecast::sw {

/// One op in one iteration, over all members. Times count from the launch's common start.
struct op_record {
  sim_time start{sim_time::never()};   ///< start of the first member
  sim_time end;                        ///< end of the last member
  std::uint64_t started{}, ended{};    ///< members
  std::optional<std::uint64_t> wrong;  ///< elements; empty: nothing to check
};

/// Prepares and verifies the data of ops as members start and end them.
class workload_log final : public op_observer {
 public:
  using host_of_sip = std::function<abi::host_hal&(sip_id)>;
  /// `data` false: times only.
  workload_log(const workload_program& program, bool data, host_of_sip hosts);

  void started(const pe_step& step, std::uint64_t iteration, sim_time at) override;
  void ended(const pe_step& step, std::uint64_t iteration, sim_time at) override;
  void messages(const message_counts& counts) override;

  /// Adds the records of another process for its PEs.
  void add(const workload_log& other);
  DIECAST_MEMBERS(records_, fingerprint_, message_totals_)

  /// Records of an op by iteration; empty for an op that no PE has started.
  [[nodiscard]] const std::vector<op_record>& records(std::uint32_t op) const { return records_.at(op); }
  [[nodiscard]] const events::run_fingerprint& fingerprint() const { return fingerprint_; }
  /// Counts of messages by name, over all PEs; empty without message ops.
  [[nodiscard]] const std::vector<std::pair<std::string, std::uint64_t>>& message_totals() const {
    return message_totals_;
  }

 private:
  [[nodiscard]] op_record& record(std::uint32_t op, std::uint64_t iteration);
  [[nodiscard]] op_host host_of(const pe_step& step, std::uint64_t iteration);

  const workload_program& program_;
  bool data_;
  host_of_sip hosts_;
  std::vector<std::vector<op_record>> records_;
  events::run_fingerprint fingerprint_;
  std::vector<std::pair<std::string, std::uint64_t>> message_totals_;
};

}  // namespace diecast::sw
