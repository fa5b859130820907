// SPDX-License-Identifier: Apache-2.0
// Shape of the SIP grid of a 2-D pod, for the physical links and for patterns over SIPs alike.
#pragma once

#include <cstdint>
#include <string>

#include "models/config/machine_config.hpp"
#include "models/types/error.hpp"

namespace diecast::config {

/// SIP s stands at column s % columns, row s / columns.
struct pod_grid {
  std::uint32_t columns{}, rows{};
  bool operator==(const pod_grid&) const = default;
};

/// pod.columns columns, or with 0 the most nearly square factorization with columns >= rows.
/// Throws user_error when pod.columns does not divide pod.sips, or pod.sips is 0.
[[nodiscard]] inline pod_grid pod_grid_of(const pod_block& pod) {
  if (pod.sips == 0) {
    throw user_error({"pod.sips", "a pod without SIPs has no grid", "0", "at least 1"});
  }
  if (pod.columns != 0 && pod.sips % pod.columns != 0) {
    throw user_error({"pod.columns", "the SIPs do not fill whole rows", std::to_string(pod.columns),
                      "a divisor of pod.sips (" + std::to_string(pod.sips) + ")"});
  }
  std::uint64_t columns = pod.columns;
  if (columns == 0) {
    std::uint64_t rows = 1;
    for (std::uint64_t r = 2; r * r <= pod.sips; ++r)
      if (pod.sips % r == 0) rows = r;
    columns = pod.sips / rows;
  }
  return {static_cast<std::uint32_t>(columns), static_cast<std::uint32_t>(pod.sips / columns)};
}

}  // namespace diecast::config
