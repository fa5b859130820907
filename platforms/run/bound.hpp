// SPDX-License-Identifier: Apache-2.0
// The lower bound of a run, and its ratio to the time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platforms/result/run_point.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// Fills bound_ns, bound_kind and bound_detail from the run's machine, collective, ranks and bytes.
/// Precondition: run.launch().
void add_bound(const prepared_run& run, run_outcome& outcome);
/// Fills efficiency; call it when the time is known.
void rate_against_bound(run_outcome& outcome);

/// What one launch is expected to take (sw::run_timed); empty where it is not modelled, or takes too long.
[[nodiscard]] std::optional<double> expected_ns(const prepared_run& run);

// The bandwidths of a collective as nccl-tests defines them.

/// Fills in algbw_gbytes_s, bytes over time, and busbw_gbytes_s, what a link would carry of it
/// (comm::bus_bandwidth_factor). Precondition: collective, ranks, bytes and time are known; a time of 0 has
/// no bandwidth.
void report_bandwidth(run_outcome& outcome);

// --estimate: what runs are expected to take, on the machine and on this computer, without simulating them.

struct run_estimate {
  std::string collective, algorithm, rank_set;
  std::uint64_t bytes{}, ranks{};
  double bound_ns{};
  std::string bound_kind;
  std::optional<double> expected_ns;  ///< empty: see why_not
  std::string why_not;                ///< reason why the algorithm cannot run here or be estimated
  bool fits{};                        ///< the algorithm can run here
  std::uint64_t messages{}, packet_hops{};
  std::optional<double> wall_s;  ///< wall time of a simulation on this computer

  DIECAST_FIELDS(collective, algorithm, bytes, rank_set, ranks, bound_ns, bound_kind, expected_ns, fits,
                 why_not, messages, packet_hops, wall_s)
};

/// Estimates of the points in their order. A point that cannot run keeps its place, with the reason. One of
/// the shortest runs is simulated to learn what a packet's hop costs on this computer; the others' wall_s
/// follow.
[[nodiscard]] std::vector<run_estimate> estimates_of(const machine_model& machine,
                                                     const app::registries& tables,
                                                     const std::vector<run_point>& points);

}  // namespace diecast::platforms
