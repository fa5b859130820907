// SPDX-License-Identifier: Apache-2.0
// Workloads on the mock machine.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/config/machine_config.hpp"
#include "sw/mock_machine/mock_machine.hpp"
#include "sw/workload/log.hpp"
#include "sw/workload/program.hpp"
#include "sw/workload/workload.hpp"

namespace diecast::test {

/// "all_reduce" with f32 elements, of `bytes`.
[[nodiscard]] comm::workload_op collective(const std::string& id, std::uint64_t bytes,
                                           const std::string& algorithm = "ring_1d");
[[nodiscard]] comm::workload_op local(const std::string& id, const std::string& kind,
                                      std::map<std::string, comm::op_value> fields);
/// A stream on a list of PEs.
[[nodiscard]] comm::workload_stream stream_on(const std::string& name, std::vector<std::uint64_t> ranks,
                                              std::vector<comm::workload_op> ops, std::uint64_t repeat = 1);
/// All streams, without groups.
[[nodiscard]] comm::workload workload_of(std::vector<comm::workload_stream> streams);

struct workload_outcome {
  std::string wrong;  ///< what went wrong; empty when every op has ended, verified, and all is at rest
  std::vector<std::vector<sw::op_record>> records;  ///< by op
};

/// Plans the workload with the built-in ops and `extra`, and runs it.
[[nodiscard]] workload_outcome run_workload(const comm::workload& w, const config::machine_config& config,
                                            sw::mock_options options = {}, const sw::op_table& extra = {});

inline constexpr sw::schedule schedules[]{sw::schedule::round_robin, sw::schedule::random,
                                          sw::schedule::adversarial};
/// Nothing is wrong, whatever the order of events: seeds 1, 2, ... of every schedule.
void check_orders(std::uint64_t seeds, const std::function<std::string(const sw::mock_options&)>& run);

}  // namespace diecast::test
