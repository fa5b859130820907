// SPDX-License-Identifier: Apache-2.0
// deadlock.json, the wait-for graph when nothing moved any more; flight.json; critical_path.json.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/analysis/critical_path.hpp"
#include "models/analysis/wait_for.hpp"
#include "platforms/result/flight_recorder.hpp"
#include "platforms/result/run_point.hpp"

namespace diecast::platforms {

/// schema diecast.deadlock/1: `why` the run ended; state and step of every PE; every queue pair that is
/// not at rest with its pointers and last sequences; messages and credits in flight; the wait edges and
/// their roots; every wait for a signal in global memory with what caches and memory hold of it (`signals`);
/// the report as text.
[[nodiscard]] std::string deadlock_json(const run_names& run, const analysis::wait_for_report& report,
                                        const analysis::stopped_machine& machine, const std::string& why);

// in_flight of deadlock.json and flight.json: messages, credits and packets in flight when a run ended.

/// "0x" and 16 digits: how these files write addresses and tags.
[[nodiscard]] std::string hex_text(std::uint64_t n);

/// Messages and credits of queue pairs with the address they are matched by (`address_pa`) and their
/// sequence, then all other packets with offset, `bytes` and, of tag-matched messages, `tag`; of each where
/// it is.
[[nodiscard]] nlohmann::ordered_json in_flight_json(const run_names& run,
                                                    const analysis::stopped_machine& machine);

// flight.json: every rank's present step, its last operations, and the waits between ranks. Field names are
// those of the flight recorder of PyTorch's NCCL process group, dump version 2.4.

/// schema diecast.flight/1 (testbench/system/flight.schema.json). `why` it is written, in words; `at` when.
[[nodiscard]] std::string flight_json(const run_names& run, const observe::flight_recorder& recorder,
                                      const analysis::stopped_machine& machine, sim_time at,
                                      const std::string& why);

// critical_path.json: schema diecast.critical_path/1.

/// Times count from the common start of the launch; `*_fs` are exact, and the edges' add up to time_fs. A
/// fabric edge names the links its packets cross, by kind and by name.
[[nodiscard]] std::string critical_path_json(const run_names& run, const analysis::path_events& events,
                                             const analysis::path& path);

}  // namespace diecast::platforms
