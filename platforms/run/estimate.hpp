// SPDX-License-Identifier: Apache-2.0
// --estimate: what runs are expected to take, on the machine and on this computer, without simulating them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

struct run_estimate {
  std::string collective, algorithm, rank_set;
  std::uint64_t bytes{}, ranks{};
  double bound_ns{};
  std::string bound_kind;
  std::optional<double> expected_ns;  ///< empty: see why_not
  std::string why_not;                ///< it cannot run here, or nothing is expected of it
  bool fits{};                        ///< it can run here
  std::uint64_t messages{}, packet_hops{};
  std::optional<double> wall_s;  ///< that this computer would simulate
};

/// The kernel run on the timed mock machine (sw/mock_machine/timed_run.hpp).
[[nodiscard]] run_estimate estimate_of(const prepared_run& run);

/// Estimates of the points in their order. A point that cannot run keeps its place, with the reason. One of
/// the shortest runs is simulated to learn what a packet's hop costs on this computer; the others' wall_s
/// follow.
[[nodiscard]] std::vector<run_estimate> estimates_of(const machine_model& machine,
                                                     const app::registries& tables,
                                                     const std::vector<run_point>& points);

}  // namespace diecast::platforms
